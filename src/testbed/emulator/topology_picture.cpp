#include "testbed/emulator/topology_picture.h"

#include <algorithm>
#include <cmath>
#include <deque>
#include <map>

#include <fmt/format.h>

namespace hawser::emulator {

using namespace fabric;

namespace {

constexpr int row_height = 150;
constexpr int box_height = 24;
constexpr int margin = 40;
constexpr int head = 56;  // title and legend

// More adapters than this do not fit in one row: they stand in two columns under their switch.
constexpr std::size_t widest_row = 32;
constexpr double stack_width = 118, stack_step = 21, stack_box = 50, stack_offset = 31;

// A link's look by its load, in five steps from none to the greatest: grey, then from cold to hot.
constexpr int steps = 4;
constexpr const char* load_colours[] = {"#c8c8c8", "#4477aa", "#ddaa33", "#cc6633", "#bb2222"};
constexpr double load_widths[] = {0.8, 1.6, 2.8, 4.0, 5.2};

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
  double x = 0, y = 0;
};

class Picture {
 public:
  Picture(const Topology& topology, const PictureOptions& options) : topology_(topology), options_(options) {}

  std::string draw() {
    place_rows();
    place_columns();
    for (const LinkLoad& load : options_.loads) {
      load_[{load.out.node, load.out.port}] = load.flows;
      greatest_ = std::max(greatest_, load.flows);
    }
    std::string body;
    draw_links(body);
    body += labels_;
    draw_boxes(body);
    return fmt::format(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {0:.0f} {1:.0f}\" width=\"{0:.0f}\" "
        "height=\"{1:.0f}\" font-family=\"DejaVu Sans, Helvetica, sans-serif\" font-size=\"10\">\n"
        "<rect width=\"100%\" height=\"100%\" fill=\"white\"/>\n"
        "<text x=\"{2}\" y=\"24\" font-size=\"14\">{3}</text>\n{4}{5}</svg>\n",
        width_, height_, margin, escape(options_.title), legend(), body);
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
    const bool switched = std::any_of(nodes.begin(), nodes.end(),
                                      [](const auto& node) { return node.kind == NodeKind::switch_device; });
    // Without switches, a row for each host.
    for (std::size_t i = 0; !switched && i < nodes.size(); ++i) place_[i].row = std::max(0, nodes[i].host);
    if (options_.only_loaded_switches && !options_.loads.empty()) hide_unloaded();
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

  // The switch an adapter hangs on, if its one cable goes to a switch; else -1.
  std::int32_t only_switch(std::size_t adapter) const {
    std::int32_t found = -1;
    for (const TopologyPort& port : topology_.nodes()[adapter].ports) {
      if (port.peer.node < 0) continue;
      if (found >= 0 || topology_.node(port.peer.node).kind == NodeKind::adapter) return -1;
      found = port.peer.node;
    }
    return found;
  }

  void place_columns() {
    int rows = 0;
    for (const Place& place : place_) rows = std::max(rows, place.row + 1);
    rows_.resize(static_cast<std::size_t>(rows));
    for (std::size_t i = 0; i < place_.size(); ++i) {
      if (drawn(i)) rows_[static_cast<std::size_t>(place_[i].row)].push_back(i);
    }
    stacked_ =
        !rows_.empty() && rows_[0].size() > widest_row &&
        std::all_of(rows_[0].begin(), rows_[0].end(), [this](std::size_t i) { return only_switch(i) >= 0; });
    std::size_t widest = 1;
    for (const auto& row : rows_) {
      if (!stacked_ || &row != rows_.data()) widest = std::max(widest, row.size());
    }
    const double step = stacked_ ? stack_width : widest > 48 ? 26 : 62;
    width_ = std::max(640.0, static_cast<double>(widest) * step + 2 * margin);
    for (const auto& row : rows_) {
      for (std::size_t k = 0; k < row.size(); ++k) {
        place_[row[k]].x =
            margin + (width_ - 2 * margin) * (static_cast<double>(k) + 0.5) / static_cast<double>(row.size());
      }
    }
    place_heights();
  }

  // Between switches, the wider the picture the higher, so that crossing links can be told apart.
  void place_heights() {
    const double between = std::clamp(width_ * 0.2, double{row_height}, 300.0);
    double y = head + box_height;
    for (std::size_t row = rows_.size(); row-- > 0;) {
      for (const std::size_t node : rows_[row]) place_[node].y = y;
      if (row > 1) y += between;
      if (row == 1) y += stacked_ ? 40 : row_height;
    }
    if (stacked_) y = place_stacks();
    height_ = y + box_height / 2. + margin;
  }

  double place_stacks() {
    std::map<std::int32_t, int> used;
    double lowest = 0;
    for (const std::size_t i : rows_[0]) {
      const std::int32_t above = only_switch(i);
      const Place& over = place_[static_cast<std::size_t>(above)];
      const int k = used[above]++;
      place_[i].x = over.x + (k % 2 == 0 ? -stack_offset : stack_offset);
      place_[i].y = over.y + 44 + stack_step * (k / 2);
      lowest = std::max(lowest, place_[i].y);
    }
    return lowest;
  }

  // Up to four flows each number has a look of its own.
  std::size_t step_of(int flows) const {
    return static_cast<std::size_t>((flows * steps + greatest_ - 1) / greatest_);
  }

  std::string legend() const {
    if (options_.loads.empty()) return {};
    std::string text;
    int x = margin, least = 0;
    for (std::size_t step = 0; step <= steps; ++step) {
      const int most = static_cast<int>(step) * greatest_ / steps;
      if (most < least) continue;
      text += fmt::format(
          "<path d=\"M{} 42h26\" stroke=\"{}\" stroke-width=\"{:.1f}\"/><text x=\"{}\" "
          "y=\"46\">{}{}</text>\n",
          x, load_colours[step], load_widths[step], x + 31, least < most ? fmt::format("{} to ", least) : "",
          most);
      x += least < most ? 100 : 64;
      least = most + 1;
    }
    return text + fmt::format(
                      "<text x=\"{}\" y=\"46\">flows; of a pair of lines, the left one carries what goes "
                      "up</text>\n",
                      x - 12);
  }

  int load_of(PortName port) const {
    const auto entry = load_.find({port.node, port.port});
    return entry == load_.end() ? -1 : entry->second;
  }

  void draw_links(std::string& body) {
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

  static std::string line(double x1, double y1, double x2, double y2, const char* colour, double width,
                          const std::string& tip) {
    return fmt::format(
        "<line x1=\"{:.1f}\" y1=\"{:.1f}\" x2=\"{:.1f}\" y2=\"{:.1f}\" stroke=\"{}\" "
        "stroke-width=\"{:.1f}\"><title>{}</title></line>\n",
        x1, y1, x2, y2, colour, width, tip);
  }

  void draw_link(std::string& body, PortName here, PortName peer, const Place& from, const Place& to) {
    const std::string tip = escape(topology_.port_text(here)) + " - " + escape(topology_.port_text(peer));
    if (stacked_ && from.row == 0) {
      // From the box to the trunk between the columns, which ends at the switch.
      const double edge = from.x + (from.x < to.x ? stack_box / 2 : -stack_box / 2);
      body += line(edge, from.y, to.x, from.y, "#999999", 0.8, tip);
      body += fmt::format("<path d=\"M{:.1f} {:.1f}V{:.1f}\" stroke=\"#999999\" stroke-width=\"0.8\"/>\n",
                          to.x, from.y, to.y + box_height / 2.);
      return;
    }
    const int up = load_of(here), down = load_of(peer);
    if (up < 0 && down < 0) {
      body += line(from.x, from.y, to.x, to.y, "#999999", 0.8, tip);
      return;
    }
    draw_direction(body, from, to, up, -1, 0.84, tip);
    draw_direction(body, from, to, down, 1, 0.68, tip);
  }

  // One direction of a cable, beside its middle; hot ones get their number at a share of the way up, where
  // the other links of the upper switch have gone apart.
  void draw_direction(std::string& body, const Place& from, const Place& to, int flows, int side,
                      double share, const std::string& tip) {
    const std::size_t step = step_of(flows);
    const double length = std::hypot(to.x - from.x, to.y - from.y);
    constexpr double apart = 2.6;
    const double dx = side * apart * (from.y - to.y) / length, dy = side * apart * (to.x - from.x) / length;
    body +=
        line(from.x + dx, from.y + dy, to.x + dx, to.y + dy, load_colours[step], load_widths[step],
             fmt::format("{}: {} flow{} {}", tip, flows, flows == 1 ? "" : "s", side < 0 ? "up" : "down"));
    // Where many links have many flows, only the greatest loads.
    if (flows < 2 || step < (greatest_ <= 2 * steps ? 2u : 4u)) return;
    const double x = from.x + dx + (to.x - from.x) * share, y = from.y + dy + (to.y - from.y) * share;
    labels_ += fmt::format(
        "<circle cx=\"{:.1f}\" cy=\"{:.1f}\" r=\"7.5\" fill=\"{}\" stroke=\"white\"/>"
        "<text x=\"{:.1f}\" y=\"{:.1f}\" text-anchor=\"middle\" fill=\"white\" "
        "font-weight=\"bold\">{}</text>\n",
        x, y, load_colours[step], x, y + 3.6, flows);
  }

  void draw_boxes(std::string& body) const {
    for (std::size_t i = 0; i < place_.size(); ++i) {
      if (!drawn(i)) continue;
      const bool adapter = topology_.nodes()[i].kind == NodeKind::adapter;
      const bool stacked = adapter && stacked_;
      const bool crowded = !stacked && rows_[static_cast<std::size_t>(place_[i].row)].size() > 48;
      const std::string name = adapter ? adapter_text(i) : topology_.nodes()[i].description;
      const double width = stacked   ? stack_box
                           : crowded ? 22
                                     : std::max<double>(56, 16 + 6.2 * shown(name).size());
      const double high = stacked ? 17 : box_height;
      body += fmt::format(
          "<rect x=\"{:.1f}\" y=\"{:.1f}\" width=\"{:.1f}\" height=\"{:.0f}\" rx=\"{}\" fill=\"{}\" "
          "stroke=\"#445566\"><title>{}</title></rect>\n"
          "<text x=\"{:.1f}\" y=\"{:.1f}\" text-anchor=\"middle\" font-size=\"{}\">{}</text>\n",
          place_[i].x - width / 2, place_[i].y - high / 2, width, high, adapter ? 7 : 2,
          adapter ? "#e9f5e9" : "#dfe8f5", escape(name), place_[i].x, place_[i].y + 3.6, crowded ? 6 : 10,
          escape(shown(name)));
    }
  }

  // A long name loses its tail; the tooltip has it all.
  static std::string shown(const std::string& name) {
    constexpr std::size_t longest = 14;
    return name.size() <= longest ? name : name.substr(0, longest - 2) + "..";
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
  int greatest_ = steps;  // load of any link
  std::string labels_;    // over the links, under the boxes
  bool stacked_ = false;
  double width_ = 0, height_ = 0;
};

}  // namespace

std::string draw_topology(const Topology& topology, const PictureOptions& options) {
  return Picture(topology, options).draw();
}

}  // namespace hawser::emulator
