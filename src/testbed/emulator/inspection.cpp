#include "testbed/emulator/inspection.h"

#include <fmt/core.h>

#include <nlohmann/json.hpp>

#include "base/failure.h"
#include "base/quantity.h"
#include "fabric/topology/report.h"
#include "fabric/topology/topology_text.h"
#include "fabric/words.h"
#include "testbed/emulator/topology_picture.h"

namespace hawser::emulator {
namespace {

nlohmann::json counters(const fabric::LinkCounters& link) {
  return {
      {"packets", link.packets}, {"bytes", link.bytes}, {"dropped", link.dropped}, {"marked", link.marked}};
}

// "OFFSET PATTERN"; offset -1 is all.
Result<fabric::FlowPattern> read_pattern(const fabric::Fabric& fabric, const std::string& offset,
                                         const std::string& pattern) {
  const bool all = offset == "all";
  auto number = all ? Result<std::uint64_t>(0) : parse_count(offset);
  if (!number || number.value() > 127)
    return failure(ErrorKind::invalid_argument, "'{}' is not a LID offset; must be a number from 0, or all",
                   offset);
  return fabric::parse_flows(pattern, all ? -1 : static_cast<int>(number.value()), fabric.topology(),
                             fabric.tables());
}

}  // namespace

Result<std::string> inspect_topology(const fabric::Fabric& fabric, const std::string& title,
                                     std::string_view question) {
  const auto words = fabric::split_words(question);
  if (words.empty()) return fabric::write_topology(fabric.topology());
  if (words.size() == 1 && words[0] == "paths")
    return fabric::report_paths(fabric.topology(), fabric.tables());
  if (words.size() == 1 && words[0] == "svg")
    return draw_topology(fabric.topology(), {.title = title, .loads = {}});
  if (words.size() != 3 || (words[0] != "flows" && words[0] != "svg"))
    return failure(ErrorKind::invalid_argument, "unknown request 'topology {}'", question);
  auto pattern = read_pattern(fabric, words[1], words[2]);
  if (!pattern) return pattern.take_error();
  if (words[0] == "flows") return fabric::report_loads(fabric.topology(), fabric.tables(), pattern.value());
  return draw_topology(fabric.topology(), {.title = pattern.value().title + "; " + title,
                                           .loads = fabric::link_loads(fabric.topology(), fabric.tables(),
                                                                       pattern.value().flows),
                                           .only_loaded_switches = true});
}

std::string describe_links(fabric::Fabric& fabric, std::size_t latest) {
  using fabric::TraceKind;
  const fabric::Topology& topology = fabric.topology();
  fabric::Network& network = fabric.network();
  const fabric::Trace& trace = fabric.trace();
  nlohmann::json out;
  out["seconds"] = static_cast<double>(fabric.events().now()) / static_cast<double>(second);
  out["packets"] = {{"sent", trace.count(TraceKind::packet_sent)},
                    {"delivered", trace.count(TraceKind::packet_delivered)},
                    {"dropped", trace.count(TraceKind::packet_dropped)}};
  out["pending_faults"] = fabric.pending_faults();
  out["log"] = nlohmann::json::array();
  const auto& lines = trace.lines();
  out["log_lines"] = lines.size();
  for (std::size_t i = lines.size() > latest ? lines.size() - latest : 0; i < lines.size(); ++i) {
    out["log"].push_back({{"seconds", static_cast<double>(lines[i].time) / static_cast<double>(second)},
                          {"text", lines[i].text}});
  }
  out["links"] = nlohmann::json::array();
  for (std::size_t i = 0; i < topology.nodes().size(); ++i) {
    for (int p = 1; p <= topology.nodes()[i].port_count(); ++p) {
      const fabric::PortName a{static_cast<std::int32_t>(i), p};
      const fabric::PortName b = topology.port(a).peer;
      // Each cable once: an adapter's, or the first that is named.
      const auto switched = [&](fabric::PortName port) {
        return topology.node(port.node).kind == fabric::NodeKind::switch_device;
      };
      if (b.node < 0 || switched(a) > switched(b)) continue;
      if (switched(a) == switched(b) && (b.node < a.node || (b.node == a.node && b.port < a.port))) continue;
      const fabric::PortIndex near = network.index(a), far = network.index(b);
      out["links"].push_back({{"a", topology.port_text(a)},
                              {"b", topology.port_text(b)},
                              {"up", network.usable(near) && network.usable(far)},
                              {"rate", network.rate(near)},
                              {"out", counters(network.counters(near))},
                              {"in", counters(network.counters(far))}});
    }
  }
  return out.dump();
}

}  // namespace hawser::emulator
