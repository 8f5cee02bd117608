// What OpenSM writes of a subnet: three files, separated by a byte 0.
#include "base/assert.h"
#include "fabric/topology/opensm_dumps.h"
#include "fabric/topology/topology_text.h"
#include "fuzz_input.h"

using namespace hawser;

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  static const fabric::Topology topology = [] {
    constexpr std::string_view text =
        "Hca 1 \"H000\"\n[1] \"LEAF00\"[1]\nHca 1 \"H001\"\n[1] \"LEAF01\"[1]\nSwitch 4 \"LEAF00\"\n"
        "[1] \"H000\"[1]\n[3] \"LEAF01\"[3]\n[4] \"LEAF01\"[4]\nSwitch 4 \"LEAF01\"\n[1] \"H001\"[1]\n";
    return fabric::parse_topology(text, "built in").value();
  }();
  fuzz::FuzzInput input(data, size);
  fabric::OpenSmDumps dumps;
  dumps.lfts = input.text_until('\0');
  dumps.subnet = input.text_until('\0');
  dumps.guid2lid = input.rest();
  fabric::RoutingTables tables(topology);
  if (!fabric::load_opensm_dumps(topology, dumps, tables)) return 0;
  HAWSER_ASSERT(tables.top_lid() < fabric::first_multicast_lid);
  for (fabric::Lid lid = 0; lid <= tables.top_lid(); ++lid) {
    const fabric::PortName owner = tables.owner(lid);
    HAWSER_ASSERT(owner.node < std::ssize(topology.nodes()));
  }
  return 0;
}
