#include "datatype/encoded_layout.h"

#include <algorithm>
#include <cstring>

#include "base/failure.h"
#include "datatype/checked_arithmetic.h"

namespace hawser {
namespace {

using Kind = LayoutNode::Kind;

// Everything is a 64-bit number:
//
//   extent, offset of the layout, node
//   run: kind, size                      strided: kind, count, stride, node
//   blocks: kind, block, n, n offsets    runs: kind, n, n offsets, n sizes    list: kind, n, n x (offset,
//   node)
class Encoder {
 public:
  explicit Encoder(std::vector<std::byte>& bytes) : bytes_(bytes) {}

  void add(std::int64_t number) {
    const auto at = bytes_.size();
    bytes_.resize(at + sizeof number);
    std::memcpy(bytes_.data() + at, &number, sizeof number);
  }
  void add(const LayoutNode& node) {
    add(static_cast<std::int64_t>(node.kind));
    const auto entries = static_cast<std::int64_t>(node.offsets.size());
    switch (node.kind) {
      case Kind::run:
        return add(node.size);
      case Kind::strided:
        add(node.count);
        add(node.stride);
        return add(*node.child);
      case Kind::blocks:
        add(node.block);
        add(entries);
        return add(node.offsets);
      case Kind::runs:
        add(entries);
        add(node.offsets);
        for (std::size_t i = 0; i < node.offsets.size(); ++i) add(node.starts[i + 1] - node.starts[i]);
        return;
      case Kind::list:
        add(entries);
        for (std::size_t i = 0; i < node.offsets.size(); ++i) {
          add(node.offsets[i]);
          add(*node.children[i]);
        }
        return;
    }
  }

 private:
  void add(const std::vector<std::int64_t>& numbers) {
    const auto at = bytes_.size();
    const auto size = numbers.size() * sizeof(std::int64_t);
    bytes_.resize(at + size);
    std::memcpy(bytes_.data() + at, numbers.data(), size);
  }

  std::vector<std::byte>& bytes_;
};

// A node and the bytes that it touches, from where it lies.
struct Decoded {
  Ref<LayoutNode> node;
  std::int64_t low = 0;
  std::int64_t high = 0;
};

class Decoder {
 public:
  explicit Decoder(std::span<const std::byte> bytes) : bytes_(bytes) {}

  bool failed() const { return failed_ || sums_.overflow(); }
  bool at_end() const { return bytes_.empty(); }

  std::int64_t number() {
    std::int64_t result = 0;
    if (bytes_.size() < sizeof result) {
      failed_ = true;
      return 0;
    }
    std::memcpy(&result, bytes_.data(), sizeof result);
    bytes_ = bytes_.subspan(sizeof result);
    return result;
  }
  // A number of things of which each takes at least so many numbers.
  std::int64_t entries(std::size_t numbers_each) {
    const std::int64_t result = number();
    const auto most = bytes_.size() / (numbers_each * sizeof(std::int64_t));
    if (result < 1 || static_cast<std::uint64_t>(result) > most) return wrong();
    return result;
  }
  std::int64_t positive() {
    const std::int64_t result = number();
    return result < 1 || result > largest_buffer ? wrong() : result;
  }

  // Only a root may be empty.
  Decoded node(int depth, bool root) {
    Decoded result;
    result.node = make_counted<LayoutNode>();
    LayoutNode& node = *result.node;
    const std::int64_t kind = number();
    if (depth > deepest || kind < 0 || kind > static_cast<std::int64_t>(Kind::list)) wrong();
    if (failed()) return result;
    node.kind = static_cast<Kind>(kind);
    switch (node.kind) {
      case Kind::run:
        node.size = root && next_is_zero() ? number() : positive();
        result.high = node.size;
        break;
      case Kind::strided:
        strided(result, depth);
        break;
      case Kind::blocks:
        blocks(result);
        break;
      case Kind::runs:
        runs(result);
        break;
      case Kind::list:
        list(result, depth);
        break;
    }
    if (node.size > largest_buffer) wrong();
    return result;
  }
  // The bytes that `count` of it touch, `stride` apart.
  void repeat(Decoded& item, std::int64_t count, std::int64_t stride) {
    const std::int64_t last = sums_.multiply(count - 1, stride);
    const std::int64_t low = sums_.add(item.low, std::min<std::int64_t>(last, 0));
    item.high = sums_.add(item.high, std::max<std::int64_t>(last, 0));
    item.low = low;
  }
  std::int64_t add(std::int64_t a, std::int64_t b) { return sums_.add(a, b); }

 private:
  static constexpr int deepest = 64;

  std::int64_t wrong() {
    failed_ = true;
    return 0;
  }
  bool next_is_zero() const {
    std::int64_t next = 1;
    if (bytes_.size() >= sizeof next) std::memcpy(&next, bytes_.data(), sizeof next);
    return next == 0;
  }
  void cover(Decoded& item, std::int64_t offset, std::int64_t low, std::int64_t high, bool first) {
    low = sums_.add(offset, low);
    high = sums_.add(offset, high);
    item.low = first ? low : std::min(item.low, low);
    item.high = first ? high : std::max(item.high, high);
  }
  void strided(Decoded& result, int depth) {
    LayoutNode& node = *result.node;
    node.count = positive();
    node.stride = number();
    Decoded child = node_within(depth);
    if (failed()) return;
    node.size = sums_.multiply(node.count, child.node->size);
    repeat(child, node.count, node.stride);
    // Copying steps over the last row; with one row nothing has bounded that step.
    if (node.count == 1) node.stride = 0;
    result.low = child.low;
    result.high = child.high;
    node.child = child.node;
  }
  void blocks(Decoded& result) {
    LayoutNode& node = *result.node;
    node.block = positive();
    const std::int64_t count = entries(1);
    for (std::int64_t i = 0; i < count && !failed(); ++i) {
      node.offsets.push_back(number());
      cover(result, node.offsets.back(), 0, node.block, i == 0);
    }
    node.size = sums_.multiply(count, node.block);
  }
  void runs(Decoded& result) {
    LayoutNode& node = *result.node;
    const std::int64_t count = entries(2);
    for (std::int64_t i = 0; i < count && !failed(); ++i) node.offsets.push_back(number());
    node.starts.push_back(0);
    for (std::int64_t i = 0; i < count && !failed(); ++i) {
      const std::int64_t size = positive();
      cover(result, node.offsets[static_cast<std::size_t>(i)], 0, size, i == 0);
      node.starts.push_back(sums_.add(node.starts.back(), size));
    }
    node.size = node.starts.back();
  }
  void list(Decoded& result, int depth) {
    LayoutNode& node = *result.node;
    const std::int64_t count = entries(3);
    node.starts.push_back(0);
    for (std::int64_t i = 0; i < count && !failed(); ++i) {
      node.offsets.push_back(number());
      Decoded child = node_within(depth);
      if (failed()) return;
      cover(result, node.offsets.back(), child.low, child.high, i == 0);
      node.starts.push_back(sums_.add(node.starts.back(), child.node->size));
      node.children.push_back(child.node);
    }
    node.size = node.starts.back();
  }
  Decoded node_within(int depth) { return node(depth + 1, false); }

  std::span<const std::byte> bytes_;
  CheckedArithmetic sums_;
  bool failed_ = false;
};

}  // namespace

void encode_layout(const Datatype& type, std::vector<std::byte>& bytes) {
  bytes.clear();
  Encoder encoder(bytes);
  encoder.add(type.extent);
  encoder.add(type.layout()->offset);
  encoder.add(*type.layout()->root);
}

Result<Ref<const Datatype>> decode_layout(std::span<const std::byte> bytes) {
  Decoder decoder(bytes);
  auto type = make_counted<Datatype>();
  type->extent = decoder.number();
  const std::int64_t offset = decoder.number();
  const Decoded root = decoder.node(0, true);
  const std::int64_t low = decoder.add(offset, root.low);
  const std::int64_t high = decoder.add(offset, root.high);
  std::int64_t span = 0;
  const bool too_wide = __builtin_sub_overflow(high, low, &span);
  if (too_wide || decoder.failed() || !decoder.at_end())
    return failure(ErrorKind::internal, "{} bytes that are no layout of a datatype", bytes.size());
  type->size = root.node->size;
  type->true_lower_bound = type->lower_bound = low;
  type->true_extent = span;
  type->layout_ = make_counted<TypeLayout>(PlacedLayout{offset, root.node});
  type->count_bound = static_cast<std::uint64_t>(largest_buffer / std::max<std::int64_t>(type->size, 1));
  type->committed = true;
  return Ref<const Datatype>(type);
}

}  // namespace hawser
