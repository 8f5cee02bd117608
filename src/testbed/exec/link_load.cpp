#include "testbed/exec/link_load.h"

#include <fmt/format.h>

#include <algorithm>

namespace hawser {
namespace {

constexpr std::size_t most_rows = 64;
constexpr int row_height = 12, label_width = 260, chart_width = 900, head = 48;

std::string port_name(const fabric::Topology& topology, fabric::PortName port) {
  const fabric::TopologyNode& node = topology.node(port.node);
  return fmt::format("{}/{}", node.description, port.port);
}

std::string escaped(const std::string& text) {
  std::string safe;
  for (const char c : text)
    safe += c == '<' ? "&lt;" : c == '>' ? "&gt;" : c == '&' ? "&amp;" : std::string(1, c);
  return safe;
}

}  // namespace

void LinkLoad::find_links(const fabric::Fabric& fabric) {
  const fabric::Topology& topology = fabric.topology();
  for (std::int32_t node = 0; node < static_cast<std::int32_t>(topology.nodes().size()); ++node) {
    const auto count = static_cast<std::int32_t>(topology.node(node).ports.size());
    for (std::int32_t port = 1; port < count; ++port) {
      const fabric::PortName from{node, port}, to = topology.port(from).peer;
      if (to.node < 0) continue;
      ports_.push_back(from);
      links_.push_back({.name = port_name(topology, from) + " -> " + port_name(topology, to),
                        .rate = fabric.parameters().link_rate});
    }
  }
}

void LinkLoad::observe(const SimulationView& view) {
  if (view.fabric == nullptr) return;
  if (ports_.empty()) find_links(*view.fabric);
  if (view.now < next_time && !view.over) return;
  const fabric::Network& network = view.fabric->network();
  for (std::size_t i = 0; i < ports_.size(); ++i) {
    const fabric::LinkCounters& counters = network.counters(network.index(ports_[i]));
    links_[i].packets = counters.packets;
    links_[i].bytes = counters.bytes;
    links_[i].dropped = counters.dropped;
    links_[i].samples.push_back(counters.bytes);
  }
  times_.push_back(view.now);
  if (times_.size() >= most_samples) halve();
  next_time = view.now + interval_;
}

// Long jobs have as many samples as short ones, further apart.
void LinkLoad::halve() {
  const auto thin = [](auto& values) {
    for (std::size_t i = 0; 2 * i + 1 < values.size(); ++i) values[i] = values[2 * i + 1];
    values.resize(values.size() / 2);
  };
  thin(times_);
  for (Link& link : links_) thin(link.samples);
  interval_ *= 2;
}

std::vector<LinkLoad::Link> LinkLoad::links() const {
  std::vector<Link> used;
  for (const Link& link : links_)
    if (link.bytes > 0) used.push_back(link);
  std::ranges::stable_sort(used, std::greater{}, &Link::bytes);
  return used;
}

std::string LinkLoad::draw() const {
  std::vector<Link> rows = links();
  if (rows.size() > most_rows) rows.resize(most_rows);
  const auto rate_in = [&](const Link& link, std::size_t sample) {
    const Nanoseconds begin = sample == 0 ? 0 : times_[sample - 1];
    const std::uint64_t before = sample == 0 ? 0 : link.samples[sample - 1];
    const Nanoseconds time = times_[sample] - begin;
    return time <= 0 ? 0
                     : static_cast<double>(link.samples[sample] - before) / static_cast<double>(time) * 1e9;
  };
  double fastest = 1;
  for (const Link& link : rows)
    for (std::size_t i = 0; i < times_.size(); ++i) fastest = std::max(fastest, rate_in(link, i));
  const auto end = static_cast<double>(std::max<Nanoseconds>(1, times_.empty() ? 1 : times_.back()));
  const auto height = head + row_height * static_cast<int>(rows.size()) + 12;
  std::string svg = fmt::format(
      "<svg xmlns='http://www.w3.org/2000/svg' width='{}' height='{}' font-family='sans-serif' "
      "font-size='10'>\n"
      "<rect width='100%' height='100%' fill='white'/>\n"
      "<text x='8' y='18' font-size='13'>Load of the {} busiest links over {:.6f} s; black is {:.3g} "
      "GB/s</text>\n",
      label_width + chart_width + 16, height, rows.size(), end * 1e-9,
      (rows.empty() || rows.front().rate <= 0 ? fastest : rows.front().rate) * 1e-9);
  for (std::size_t row = 0; row < rows.size(); ++row) {
    const Link& link = rows[row];
    const int y = head + row_height * static_cast<int>(row);
    svg += fmt::format("<text x='{}' y='{}' text-anchor='end'>{}</text>\n", label_width - 6, y + 9,
                       escaped(link.name));
    for (std::size_t i = 0; i < times_.size(); ++i) {
      const double share = std::min(1.0, rate_in(link, i) / (link.rate > 0 ? link.rate : fastest));
      if (share < 0.005) continue;
      const double x = label_width + chart_width * static_cast<double>(i == 0 ? 0 : times_[i - 1]) / end;
      const double width = chart_width * static_cast<double>(times_[i] - (i == 0 ? 0 : times_[i - 1])) / end;
      svg += fmt::format("<rect x='{:.1f}' y='{}' width='{:.1f}' height='{}' fill-opacity='{:.2f}'/>\n", x, y,
                         std::max(width, 0.2), row_height - 2, share);
    }
  }
  return svg + "</svg>\n";
}

}  // namespace hawser
