#include "launch/process_mapping.h"

#include <charconv>
#include <limits>
#include <map>

#include "base/failure.h"

namespace hawser {

namespace {

struct Block {
  int first_node = 0;
  int nodes = 0;
  int ranks_per_node = 0;
};

// Reads the text from left to right; every step answers whether it found what it was asked for.
class Scanner {
 public:
  explicit Scanner(std::string_view text) : text_(text) {}

  bool word(std::string_view expected) {
    while (text_.starts_with(' ')) text_.remove_prefix(1);
    if (!text_.starts_with(expected)) return false;
    text_.remove_prefix(expected.size());
    return true;
  }
  bool number(int& value) {
    while (text_.starts_with(' ')) text_.remove_prefix(1);
    const auto [rest, error] = std::from_chars(text_.data(), text_.data() + text_.size(), value);
    if (error != std::errc{} || value < 0) return false;
    text_.remove_prefix(static_cast<std::size_t>(rest - text_.data()));
    return true;
  }
  bool at_end() const { return text_.find_first_not_of(' ') == std::string_view::npos; }

 private:
  std::string_view text_;
};

bool parse_blocks(std::string_view text, std::vector<Block>& blocks) {
  Scanner scanner(text);
  if (!scanner.word("(") || !scanner.word("vector")) return false;
  while (scanner.word(",")) {
    Block block;
    if (!scanner.word("(") || !scanner.number(block.first_node) || !scanner.word(",") ||
        !scanner.number(block.nodes) || !scanner.word(",") || !scanner.number(block.ranks_per_node) ||
        !scanner.word(")") || block.first_node > std::numeric_limits<int>::max() - block.nodes)
      return false;
    // Nodes without ranks may be many.
    if (block.ranks_per_node > 0) blocks.push_back(block);
  }
  return scanner.word(")") && scanner.at_end();
}

}  // namespace

Result<std::vector<std::int32_t>> parse_process_mapping(std::string_view text, int size) {
  std::vector<Block> blocks;
  if (!parse_blocks(text, blocks))
    return failure(ErrorKind::other, "the launcher's process mapping '{}' is malformed", text);
  std::vector<std::int32_t> nodes;
  const auto wanted = static_cast<std::size_t>(size);
  nodes.reserve(wanted);
  while (nodes.size() < wanted) {
    const std::size_t before = nodes.size();
    for (const Block& block : blocks)
      for (int node = 0; node < block.nodes && nodes.size() < wanted; ++node)
        for (int rank = 0; rank < block.ranks_per_node && nodes.size() < wanted; ++rank)
          nodes.push_back(block.first_node + node);
    if (nodes.size() == before)
      return failure(ErrorKind::other, "the launcher's process mapping '{}' contains no rank", text);
  }
  renumber_nodes(nodes);
  return nodes;
}

std::string format_process_mapping(std::span<const std::int32_t> node_of_rank) {
  std::vector<Block> blocks;
  for (std::size_t rank = 0; rank < node_of_rank.size();) {
    const int node = node_of_rank[rank];
    int ranks = 0;
    while (rank < node_of_rank.size() && node_of_rank[rank] == node) ++ranks, ++rank;
    // A block of as many ranks on the next node prolongs the one before.
    if (!blocks.empty() && blocks.back().ranks_per_node == ranks &&
        blocks.back().first_node + blocks.back().nodes == node)
      ++blocks.back().nodes;
    else
      blocks.push_back({node, 1, ranks});
  }
  std::string text = "(vector";
  for (const Block& block : blocks)
    text += fmt::format(",({},{},{})", block.first_node, block.nodes, block.ranks_per_node);
  return text + ")";
}

void renumber_nodes(std::span<std::int32_t> node_of_rank) {
  std::map<std::int32_t, std::int32_t> numbers;
  for (std::int32_t& node : node_of_rank)
    node = numbers.try_emplace(node, static_cast<std::int32_t>(numbers.size())).first->second;
}

}  // namespace hawser
