#include "fabric/topology/opensm_dumps.h"

#include <algorithm>
#include <bit>
#include <functional>
#include <unordered_map>

#include "base/failure.h"
#include "base/quantity.h"
#include "fabric/words.h"

namespace hawser::fabric {
namespace {

Result<> for_each_line(std::string_view text, std::string_view file,
                       const std::function<Result<>(std::string_view)>& read) {
  int number = 0;
  while (!text.empty()) {
    const std::size_t end = text.find('\n');
    ++number;
    if (auto result = read(text.substr(0, end)); !result) {
      return failure(result.error().kind, "{}:{}: {}", file, number, result.error().text);
    }
    text.remove_prefix(end == std::string_view::npos ? text.size() : end + 1);
  }
  return {};
}

// The text between two marks, or empty.
std::string_view between(std::string_view text, std::string_view open, std::string_view close) {
  const std::size_t start = text.find(open);
  if (start == std::string_view::npos) return {};
  const std::size_t from = start + open.size();
  const std::size_t end = text.find(close, from);
  return end == std::string_view::npos ? text.substr(from) : text.substr(from, end - from);
}

Result<std::uint64_t> hexadecimal(std::string_view digits) { return parse_count("0x" + std::string(digits)); }

class Loader {
 public:
  Loader(const Topology& topology, RoutingTables& tables) : topology_(topology), tables_(tables) {}

  Result<> guid_line(std::string_view line) {
    const auto words = split_words(line);
    if (words.empty()) return {};
    if (words.size() != 3) return failure(ErrorKind::invalid_argument, "expected a GUID and two LIDs");
    auto guid = parse_count(words[0]);
    auto low = parse_count(words[1]);
    auto high = parse_count(words[2]);
    if (!guid || !low || !high || high.value() < low.value() ||
        !std::has_single_bit(high.value() - low.value() + 1)) {
      return failure(ErrorKind::invalid_argument, "'{}' is not a GUID and a range of LIDs", line);
    }
    lmc_[guid.value()] = static_cast<std::uint8_t>(std::countr_zero(high.value() - low.value() + 1));
    return {};
  }

  // { CA Ports:01 SystemGUID:.. NodeGUID:.. PortGUID:.. VenID:.. {H000} LID:0004 PN:01 } { ... } PHY=...
  Result<> subnet_line(std::string_view line) {
    if (split_words(line).empty()) return {};
    const std::string_view end = line.substr(0, line.find(" } {"));
    auto node_guid = hexadecimal(between(end, "NodeGUID:", " "));
    auto port_guid = hexadecimal(between(end, "PortGUID:", " "));
    auto lid = hexadecimal(between(end, "LID:", " "));
    auto port = hexadecimal(between(end, "PN:", " "));
    if (!node_guid || !port_guid || !lid || !port)
      return failure(ErrorKind::invalid_argument, "not a line of a subnet list");
    const std::string_view description = between(end.substr(1), "{", "}");
    const auto node = find(node_guid.value(), description);
    if (!node) {
      return failure(ErrorKind::invalid_argument, "node '{}' (GUID 0x{:x}) is not in the topology",
                     description, node_guid.value());
    }
    const bool is_switch = topology_.node(*node).kind == NodeKind::switch_device;
    const std::uint64_t number = is_switch ? 0 : port.value();
    if (number >= topology_.node(*node).ports.size()) {
      return failure(ErrorKind::invalid_argument, "'{}' has no port {} in the topology", description, number);
    }
    const auto lmc = lmc_.find(port_guid.value());
    return tables_.set_address({*node, static_cast<std::int32_t>(number)}, static_cast<Lid>(lid.value()),
                               lmc == lmc_.end() ? 0 : lmc->second);
  }

  Result<> table_line(std::string_view line) {
    const auto words = split_words(line);
    if (words.empty()) return {};
    if (words[0] == "Unicast") return table_start(line);
    if (words.size() < 2 || !words[0].starts_with("0x")) return {};  // "124 valid lids dumped" and the like
    auto lid = parse_count(words[0]);
    auto port = parse_count(words[1]);
    if (!lid || lid.value() >= first_multicast_lid)
      return failure(ErrorKind::invalid_argument, "'{}' is not a LID", words[0]);
    if (words[1] == "UNREACHABLE") return {};
    if (!port || current_ < 0)
      return failure(ErrorKind::invalid_argument, "'{}' is not an entry of a forwarding table", line);
    if (port.value() > static_cast<std::uint64_t>(topology_.node(current_).port_count())) {
      return failure(ErrorKind::invalid_argument, "'{}' has no port {}", topology_.node(current_).name,
                     port.value());
    }
    tables_.set_out_port(current_, static_cast<Lid>(lid.value()), static_cast<std::uint8_t>(port.value()));
    ++entries_;
    return {};
  }

  std::uint64_t entries() const { return entries_; }

 private:
  // Unicast lids [0-671] of switch Lid 8 guid 0x0000000000200000 ('LEAF00'):
  Result<> table_start(std::string_view line) {
    auto guid = parse_count(between(line, "guid ", " "));
    const std::string_view description = between(line, "('", "')");
    if (!guid)
      return failure(ErrorKind::invalid_argument, "a forwarding table does not name the GUID of its switch");
    const auto node = find(guid.value(), description);
    if (!node || topology_.node(*node).kind != NodeKind::switch_device) {
      return failure(ErrorKind::invalid_argument, "switch '{}' (GUID 0x{:x}) is not in the topology",
                     description, guid.value());
    }
    current_ = *node;
    return {};
  }

  std::optional<std::int32_t> find(std::uint64_t guid, std::string_view description) const {
    if (const auto node = topology_.find_guid(guid)) return node;
    return topology_.find_node(description);
  }

  const Topology& topology_;
  RoutingTables& tables_;
  std::unordered_map<std::uint64_t, std::uint8_t> lmc_;
  std::int32_t current_ = -1;
  std::uint64_t entries_ = 0;
};

}  // namespace

Result<> load_opensm_dumps(const Topology& topology, const OpenSmDumps& dumps, RoutingTables& tables) {
  Loader loader(topology, tables);
  HAWSER_TRY(
      for_each_line(dumps.guid2lid, "guid2lid", [&](std::string_view l) { return loader.guid_line(l); }));
  HAWSER_TRY(for_each_line(dumps.subnet, "opensm-subnet.lst",
                           [&](std::string_view l) { return loader.subnet_line(l); }));
  HAWSER_TRY(for_each_line(dumps.lfts, "opensm-lfts.dump",
                           [&](std::string_view l) { return loader.table_line(l); }));
  const bool has_switch = std::any_of(topology.nodes().begin(), topology.nodes().end(),
                                      [](const auto& node) { return node.kind == NodeKind::switch_device; });
  if (has_switch && loader.entries() == 0)
    return failure(ErrorKind::invalid_argument, "opensm-lfts.dump contains no forwarding table");
  return {};
}

}  // namespace hawser::fabric
