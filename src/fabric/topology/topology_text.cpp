#include "fabric/topology/topology_text.h"

#include <cctype>

#include "base/failure.h"
#include "base/quantity.h"

namespace hawser::fabric {
namespace {

// What follows a '#', and the line without it. A '#' inside quotes is part of a name.
struct SplitLine {
  std::string_view content;
  std::string_view comment;
};

SplitLine split_comment(std::string_view line) {
  bool quoted = false;
  for (std::size_t i = 0; i < line.size(); ++i) {
    if (line[i] == '"') quoted = !quoted;
    if (line[i] == '#' && !quoted) return {line.substr(0, i), line.substr(i + 1)};
  }
  return {line, {}};
}

// Reads one line from left to right.
class Scanner {
 public:
  explicit Scanner(std::string_view text) : rest_(text) { skip_space(); }

  bool at_end() const { return rest_.empty(); }
  std::string_view rest() const { return rest_; }
  bool take(char c) {
    if (rest_.empty() || rest_.front() != c) return false;
    rest_.remove_prefix(1);
    skip_space();
    return true;
  }
  std::optional<std::uint64_t> number(int base = 10) {
    std::size_t length = 0;
    while (length < rest_.size() && is_digit(rest_[length], base)) ++length;
    if (length == 0) return std::nullopt;
    auto value = parse_count(base == 16 ? "0x" + std::string(rest_.substr(0, length))
                                        : std::string(rest_.substr(0, length)));
    rest_.remove_prefix(length);
    skip_space();
    if (!value) return std::nullopt;
    return value.value();
  }
  std::optional<std::string> quoted() {
    if (rest_.empty() || rest_.front() != '"') return std::nullopt;
    const std::size_t end = rest_.find('"', 1);
    if (end == std::string_view::npos || end == 1) return std::nullopt;
    std::string text(rest_.substr(1, end - 1));
    rest_.remove_prefix(end + 1);
    skip_space();
    return text;
  }
  std::string word() {
    std::size_t length = 0;
    while (length < rest_.size() && std::isspace(static_cast<unsigned char>(rest_[length])) == 0) ++length;
    std::string text(rest_.substr(0, length));
    rest_.remove_prefix(length);
    skip_space();
    return text;
  }
  // "(guid)", as ibnetdiscover prints behind ports.
  std::optional<std::uint64_t> guid_in_parentheses() {
    if (!take('(')) return std::nullopt;
    const auto value = number(16);
    take(')');
    return value;
  }

 private:
  static bool is_digit(char c, int base) {
    const auto u = static_cast<unsigned char>(c);
    return base == 16 ? std::isxdigit(u) != 0 : std::isdigit(u) != 0;
  }
  void skip_space() {
    while (!rest_.empty() && std::isspace(static_cast<unsigned char>(rest_.front())) != 0)
      rest_.remove_prefix(1);
  }
  std::string_view rest_;
};

struct PendingLink {
  PortName near;
  std::string peer;
  std::int32_t peer_port;
  int line;
};

class Parser {
 public:
  explicit Parser(std::string_view file) : file_(file) {}

  Result<Topology> parse(std::string_view text) {
    while (!text.empty()) {
      const std::size_t end = text.find('\n');
      const std::string_view line = text.substr(0, end);
      text.remove_prefix(end == std::string_view::npos ? text.size() : end + 1);
      ++line_;
      if (auto read = parse_line(line); !read) return placed(line_, read.error());
    }
    if (topology_.nodes().empty())
      return failure(ErrorKind::invalid_argument, "{}: the file describes no node", file_);
    for (const PendingLink& link : links_) {
      const auto peer = topology_.find_node(link.peer);
      if (!peer) {
        return placed(link.line, failure(ErrorKind::invalid_argument,
                                         "'{}' is connected to '{}', which is not described anywhere",
                                         topology_.node(link.near.node).name, link.peer));
      }
      if (auto joined = topology_.connect(link.near, {*peer, link.peer_port}); !joined) {
        return placed(link.line, joined.error());
      }
    }
    complete_guids(topology_);
    topology_.derive_hosts();
    return std::move(topology_);
  }

 private:
  Error placed(int line, const Error& error) const {
    return failure(error.kind, "{}:{}: {}", file_, line, error.text);
  }

  Result<> parse_line(std::string_view line) {
    const SplitLine parts = split_comment(line);
    Scanner scanner(parts.content);
    if (scanner.at_end()) return {};
    if (scanner.rest().front() == '[') return parse_port(scanner, parts.comment);
    const std::size_t equals = scanner.rest().find('=');
    const std::string word = scanner.word();
    if (equals != std::string_view::npos && equals < word.size()) return parse_property(word, equals);
    if (word == "Switch" || word == "switch")
      return parse_node(NodeKind::switch_device, scanner, parts.comment);
    if (word == "Hca" || word == "Ca" || word == "hca" || word == "ca") {
      return parse_node(NodeKind::adapter, scanner, parts.comment);
    }
    if (word == "Rt") return failure(ErrorKind::invalid_argument, "routers are not supported");
    return failure(ErrorKind::invalid_argument,
                   "'{}' starts neither a node (Switch, Hca, Ca) nor a port ([N])", word);
  }

  // "caguid=0x..." ahead of a node. Other properties (vendor, device) do not matter here.
  Result<> parse_property(const std::string& word, std::size_t equals) {
    const std::string name = word.substr(0, equals);
    if (name != "caguid" && name != "switchguid") return {};
    Scanner value(std::string_view(word).substr(equals + 1));
    value.take('0');
    value.take('x');
    const auto guid = value.number(16);
    if (!guid) return failure(ErrorKind::invalid_argument, "'{}' is not a GUID", word);
    next_guid_ = *guid;
    return {};
  }

  Result<> parse_node(NodeKind kind, Scanner& scanner, std::string_view comment) {
    const auto ports = scanner.number();
    if (!ports) return failure(ErrorKind::invalid_argument, "the number of ports is missing");
    auto name = scanner.quoted();
    if (!name) return failure(ErrorKind::invalid_argument, "the node's name in quotes is missing");
    auto added = topology_.add_node(kind, std::move(*name), *ports > 254 ? 255 : static_cast<int>(*ports));
    if (!added) return added.take_error();
    current_ = added.value();
    TopologyNode& node = topology_.node(current_);
    node.guid = next_guid_;
    next_guid_ = 0;
    Scanner words(comment);
    if (auto description = words.quoted()) node.description = *description;
    return {};
  }

  // [1](guid) "peer"[2](guid) w=4 # lid 1 lmc 0 "description" lid 2 4xQDR
  Result<> parse_port(Scanner& scanner, std::string_view comment) {
    if (current_ < 0) return failure(ErrorKind::invalid_argument, "a port is described before any node");
    scanner.take('[');
    const auto number = scanner.number();
    if (!number || !scanner.take(']'))
      return failure(ErrorKind::invalid_argument, "the port's number in brackets is wrong");
    TopologyNode& node = topology_.node(current_);
    if (*number < 1 || *number >= node.ports.size()) {
      return failure(ErrorKind::invalid_argument, "'{}' has no port {}, only 1 to {}", node.name, *number,
                     node.port_count());
    }
    TopologyPort& port = node.ports[*number];
    if (const auto guid = scanner.guid_in_parentheses()) port.guid = *guid;
    const auto peer = scanner.quoted();
    if (!peer)
      return failure(ErrorKind::invalid_argument, "the name of the node at the other end is missing");
    if (!scanner.take('['))
      return failure(ErrorKind::invalid_argument, "the port at the other end is missing");
    const auto peer_port = scanner.number();
    if (!peer_port || *peer_port > 254 || !scanner.take(']')) {
      return failure(ErrorKind::invalid_argument, "the port at the other end is wrong");
    }
    scanner.guid_in_parentheses();
    read_speed(scanner.rest(), port);
    read_speed(comment, port);
    links_.push_back({{current_, static_cast<std::int32_t>(*number)},
                      *peer,
                      static_cast<std::int32_t>(*peer_port),
                      line_});
    return {};
  }

  // "4xDDR" or "w=4" among the words.
  static void read_speed(std::string_view text, TopologyPort& port) {
    for (Scanner words(text); !words.at_end();) {
      const std::string word = words.word();
      if (word.starts_with("w=")) {
        if (auto width = parse_count(std::string_view(word).substr(2)))
          port.width = static_cast<int>(width.value());
        continue;
      }
      const std::size_t cross = word.find('x');
      if (cross == std::string::npos || cross == 0 || !word.ends_with("R")) continue;
      auto width = parse_count(std::string_view(word).substr(0, cross));
      if (!width) continue;
      port.width = static_cast<int>(width.value());
      port.speed = word.substr(cross + 1);
    }
  }

  std::string_view file_;
  Topology topology_;
  std::vector<PendingLink> links_;
  std::int32_t current_ = -1;
  std::uint64_t next_guid_ = 0;
  int line_ = 0;
};

}  // namespace

Result<Topology> parse_topology(std::string_view text, std::string_view file) {
  return Parser(file).parse(text);
}

std::string write_topology(const Topology& topology) {
  std::string text;
  for (const TopologyNode& node : topology.nodes()) {
    const bool adapter = node.kind == NodeKind::adapter;
    text +=
        fmt::format("{}=0x{:x}\n{}\t{} \"{}\"\t\t# \"{}\"\n", adapter ? "caguid" : "switchguid", node.guid,
                    adapter ? "Hca" : "Switch", node.port_count(), node.name, node.description);
    for (int p = 1; p <= node.port_count(); ++p) {
      const TopologyPort& port = node.ports[static_cast<std::size_t>(p)];
      if (port.peer.node < 0) continue;
      const TopologyNode& peer = topology.node(port.peer.node);
      text += fmt::format("[{}]\t\"{}\"[{}]\t\t# \"{}\" lid 0 {}x{}\n", p, peer.name, port.peer.port,
                          peer.description, port.width, port.speed.empty() ? "SDR" : port.speed);
    }
    text += '\n';
  }
  return text;
}

void complete_guids(Topology& topology) {
  // 0x0002c9 is the vendor whose adapters programs know best. The node's number is above bit 8, its ports
  // below.
  constexpr std::uint64_t base = 0x0002c90300000000;
  for (std::size_t i = 0; i < topology.nodes().size(); ++i) {
    TopologyNode& node = topology.node(static_cast<std::int32_t>(i));
    if (node.guid == 0) node.guid = base | ((i + 1) << 8);
    for (std::size_t p = 1; p < node.ports.size(); ++p) {
      if (node.ports[p].guid == 0)
        node.ports[p].guid = node.kind == NodeKind::adapter ? node.guid + p : node.guid;
    }
  }
}

}  // namespace hawser::fabric
