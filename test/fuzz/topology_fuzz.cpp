// Topology files, with routes over what they describe, parameters, and the schedules of faults of such a
// fabric. The parts are separated by a byte 0.
#include "base/assert.h"
#include "fabric/fault/fault.h"
#include "fabric/parameters.h"
#include "fabric/topology/makers.h"
#include "fabric/topology/routing.h"
#include "fabric/topology/topology_text.h"
#include "fuzz_input.h"

using namespace hawser;

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  fuzz::FuzzInput input(data, size);
  const std::string_view text = input.text_until('\0'), parameter_text = input.text_until('\0');
  auto parsed = fabric::parse_topology(text, "input");
  if (parsed) {
    const std::string written = fabric::write_topology(parsed.value());
    const auto again = fabric::parse_topology(written, "written");
    HAWSER_ASSERT(again && fabric::write_topology(again.value()) == written);
    if (parsed.value().nodes().size() < 50)
      static_cast<void>(fabric::build_routes(parsed.value(), static_cast<int>(text.size() % 8)));
  } else {
    parsed = fabric::make_back_to_back({});
  }
  fabric::Parameters parameters;
  static_cast<void>(fabric::parse_parameters(parameter_text, "input", parsed.value(), parameters));
  static_cast<void>(fabric::parse_schedule(input.rest(), "input", parsed.value()));
  return 0;
}
