#include "fabric/topology/svg.h"

#include <algorithm>
#include <deque>
#include <map>

#include <fmt/format.h>

namespace hawser::fabric {
namespace {

constexpr int row_height = 150;
constexpr int box_height = 24;
constexpr int margin = 40;

std::string escape(const std::string& text) {
  std::string safe;
  for (const char c : text) {
    switch (c) {
      case '<':
        safe += "&lt;";
        break;
      case '>':
        safe += "&gt;";
        break;
      case '&':
        safe += "&amp;";
        break;
      case '"':
        safe += "&quot;";
        break;
      default:
        safe += c;
    }
  }
  return safe;
}

struct Place {
  int row = -1;  // 0: hosts; switches from 1 upwards; -1: not drawn
  double x = 0;
};

class Picture {
 public:
  Picture(const Topology& topology, const PictureOptions& options) : topology_(topology), options_(options) {}

  std::string draw() {
    place_rows();
    place_columns();
    for (const LinkLoad& load : options_.loads) load_[{load.out.node, load.out.port}] = load.flows;
    const int height = 2 * margin + static_cast<int>(rows_.size()) * row_height;
    std::string body;
    draw_links(body);
    draw_boxes(body);
    return fmt::format(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"{:.0f}\" height=\"{}\" font-family=\"sans-serif\" "
        "font-size=\"10\">\n<rect width=\"100%\" height=\"100%\" fill=\"white\"/>\n"
        "<text x=\"{}\" y=\"24\" font-size=\"14\">{}</text>\n{}</svg>\n",
        width_, height, margin, escape(options_.title), body);
  }

 private:
  bool drawn(std::size_t node) const { return place_[node].row >= 0; }

  // A switch is one row above the lowest of its neighbours: breadth first from the adapters.
  void place_rows() {
    const auto& nodes = topology_.nodes();
    place_.assign(nodes.size(), {});
    std::deque<std::size_t> queue;
    for (std::size_t i = 0; i < nodes.size(); ++i) {
      if (nodes[i].kind != NodeKind::adapter) continue;
      place_[i].row = 0;
      queue.push_back(i);
    }
    while (!queue.empty()) {
      const std::size_t node = queue.front();
      queue.pop_front();
      for (const TopologyPort& port : nodes[node].ports) {
        if (port.peer.node < 0) continue;
        const auto peer = static_cast<std::size_t>(port.peer.node);
        if (place_[peer].row >= 0) continue;
        place_[peer].row = place_[node].row + 1;
        queue.push_back(peer);
      }
    }
    if (options_.only_loaded_switches) hide_unloaded();
  }

  void hide_unloaded() {
    std::vector<bool> touched(place_.size());
    for (const LinkLoad& load : options_.loads) {
      if (load.flows == 0) continue;
      touched[static_cast<std::size_t>(load.out.node)] = true;
      touched[static_cast<std::size_t>(topology_.port(load.out).peer.node)] = true;
    }
    // A spine without load is shown: that it idles is the point. A leaf without load, and its hosts, are not.
    for (std::size_t i = 0; i < place_.size(); ++i) {
      if (place_[i].row == 1 && !touched[i]) place_[i].row = -1;
    }
    for (std::size_t i = 0; i < place_.size(); ++i) {
      if (place_[i].row != 0) continue;
      bool kept = false;
      for (const TopologyPort& port : topology_.nodes()[i].ports) {
        kept = kept || (port.peer.node >= 0 && drawn(static_cast<std::size_t>(port.peer.node)));
      }
      if (!kept) place_[i].row = -1;
    }
  }

  void place_columns() {
    int rows = 0;
    for (const Place& place : place_) rows = std::max(rows, place.row + 1);
    rows_.resize(static_cast<std::size_t>(rows));
    for (std::size_t i = 0; i < place_.size(); ++i) {
      if (drawn(i)) rows_[static_cast<std::size_t>(place_[i].row)].push_back(i);
    }
    std::size_t widest = 1;
    for (const auto& row : rows_) widest = std::max(widest, row.size());
    width_ = std::max(640.0, static_cast<double>(widest) * (widest > 48 ? 26.0 : 62.0) + 2 * margin);
    for (const auto& row : rows_) {
      for (std::size_t k = 0; k < row.size(); ++k) {
        place_[row[k]].x =
            margin + (width_ - 2 * margin) * (static_cast<double>(k) + 0.5) / static_cast<double>(row.size());
      }
    }
  }

  double y_of(const Place& place) const {
    return margin + row_height * (static_cast<double>(rows_.size()) - place.row - 0.5);
  }

  int load_of(PortName port) const {
    const auto entry = load_.find({port.node, port.port});
    return entry == load_.end() ? -1 : entry->second;
  }

  void draw_links(std::string& body) const {
    for (std::size_t i = 0; i < place_.size(); ++i) {
      if (!drawn(i)) continue;
      const TopologyNode& node = topology_.nodes()[i];
      for (int p = 1; p <= node.port_count(); ++p) {
        const PortName here{static_cast<std::int32_t>(i), p};
        const PortName peer = topology_.port(here).peer;
        // Each cable once, from its lower end.
        if (peer.node < 0 || !drawn(static_cast<std::size_t>(peer.node))) continue;
        const Place& from = place_[i];
        const Place& to = place_[static_cast<std::size_t>(peer.node)];
        if (from.row > to.row || (from.row == to.row && peer.node < here.node)) continue;
        draw_link(body, here, peer, from, to);
      }
    }
  }

  // The greater of the two directions decides the look; both are told in the tooltip.
  void draw_link(std::string& body, PortName here, PortName peer, const Place& from, const Place& to) const {
    const int up = load_of(here), down = load_of(peer);
    const int load = std::max(up, down);
    static constexpr const char* colours[] = {"#cccccc", "#4477aa", "#ddaa33", "#cc6633", "#bb2222"};
    const char* colour = load < 0 ? "#999999" : colours[std::min(load, 4)];
    body += fmt::format(
        "<line x1=\"{:.1f}\" y1=\"{:.1f}\" x2=\"{:.1f}\" y2=\"{:.1f}\" stroke=\"{}\" "
        "stroke-width=\"{:.1f}\"><title>{} - {}",
        from.x, y_of(from), to.x, y_of(to), colour, load <= 0 ? 0.7 : 1.5 * load,
        escape(topology_.port_text(here)), escape(topology_.port_text(peer)));
    if (load >= 0) body += fmt::format(": up {}, down {}", up, down);
    body += "</title></line>\n";
    if (load > 1) {
      body += fmt::format("<text x=\"{:.1f}\" y=\"{:.1f}\" fill=\"{}\">{}</text>\n",
                          from.x + (to.x - from.x) * 0.3 + 3, y_of(from) + (y_of(to) - y_of(from)) * 0.3,
                          colour, load);
    }
  }

  void draw_boxes(std::string& body) const {
    for (std::size_t i = 0; i < place_.size(); ++i) {
      if (!drawn(i)) continue;
      const bool adapter = topology_.nodes()[i].kind == NodeKind::adapter;
      const double width = rows_[static_cast<std::size_t>(place_[i].row)].size() > 48 ? 22 : 56;
      const double y = y_of(place_[i]);
      const std::string name = adapter ? adapter_text(i) : topology_.nodes()[i].description;
      body += fmt::format(
          "<rect x=\"{:.1f}\" y=\"{:.1f}\" width=\"{:.1f}\" height=\"{}\" rx=\"{}\" fill=\"{}\" "
          "stroke=\"#333333\"/>\n"
          "<text x=\"{:.1f}\" y=\"{:.1f}\" text-anchor=\"middle\" font-size=\"{}\">{}</text>\n",
          place_[i].x - width / 2, y - box_height / 2., width, box_height, adapter ? 8 : 2,
          adapter ? "#eef6ee" : "#e8eef8", place_[i].x, y + 4, width < 30 ? 6 : 10, escape(name));
    }
  }

  std::string adapter_text(std::size_t i) const {
    const TopologyNode& node = topology_.nodes()[i];
    if (node.host < 0) return node.name;
    const TopologyHost& host = topology_.hosts()[static_cast<std::size_t>(node.host)];
    return host.adapters.size() == 1 ? host.name : fmt::format("{}/hw{}", host.name, node.rail);
  }

  const Topology& topology_;
  const PictureOptions& options_;
  std::vector<Place> place_;
  std::vector<std::vector<std::size_t>> rows_;
  std::map<std::pair<std::int32_t, std::int32_t>, int> load_;
  double width_ = 0;
};

}  // namespace

std::string draw_topology(const Topology& topology, const PictureOptions& options) {
  return Picture(topology, options).draw();
}

}  // namespace hawser::fabric
