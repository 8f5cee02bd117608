#include "datatype/layout.h"

#include <algorithm>
#include <numeric>

namespace hawser {
namespace {

using Kind = LayoutNode::Kind;

PlacedLayout make_run(std::int64_t offset, std::int64_t size) {
  auto node = make_counted<LayoutNode>();
  node->size = size;
  return {offset, node};
}

PlacedLayout make_strided(std::int64_t count, std::int64_t stride, PlacedLayout part) {
  const LayoutNode& inner = *part.node;
  if (count == 0 || inner.size == 0) return make_run(0, 0);
  if (count == 1) return part;
  if (inner.kind == Kind::run && inner.size == stride) return make_run(part.offset, count * stride);
  auto node = make_counted<LayoutNode>();
  node->kind = Kind::strided;
  node->size = count * inner.size;
  if (inner.kind == Kind::strided && stride == inner.count * inner.stride) {
    node->count = count * inner.count;
    node->stride = inner.stride;
    node->child = inner.child;
  } else {
    node->count = count;
    node->stride = stride;
    node->child = part.node;
  }
  return {part.offset, node};
}

// Collects the pieces of a layout in packed order and finds the plainest node for them.
class Sequence {
 public:
  void add(std::int64_t offset, const Ref<const LayoutNode>& node) {
    if (node->size == 0) return;
    switch (node->kind) {
      case Kind::run:
        return add_run(offset, node->size);
      case Kind::blocks:
        for (const std::int64_t at : node->offsets) add_run(offset + at, node->block);
        return;
      case Kind::runs:
        for (std::size_t i = 0; i < node->offsets.size(); ++i)
          add_run(offset + node->offsets[i], node->starts[i + 1] - node->starts[i]);
        return;
      case Kind::strided:
        // A short loop of runs in a list is cheaper as runs of the list.
        if (node->child->kind == Kind::run && node->count <= 8) {
          for (std::int64_t i = 0; i < node->count; ++i)
            add_run(offset + i * node->stride, node->child->size);
          return;
        }
        break;
      case Kind::list:
        if (node->offsets.size() <= 8) {
          for (std::size_t i = 0; i < node->offsets.size(); ++i)
            add(offset + node->offsets[i], node->children[i]);
          return;
        }
        break;
    }
    pieces_.push_back({offset, 0, node});
    only_runs_ = false;
  }

  // `count` copies of a piece. Copies of what is not a plain run become a loop.
  void add_copies(std::int64_t offset, std::int64_t count, std::int64_t stride, const PlacedLayout& part) {
    if (count == 0) return;
    const PlacedLayout copies = make_strided(count, stride, part);
    add(offset + copies.offset, copies.node);
  }

  PlacedLayout finish() {
    if (pieces_.empty()) return make_run(0, 0);
    if (pieces_.size() == 1) {
      const Piece& piece = pieces_.front();
      return piece.node ? PlacedLayout{piece.offset, piece.node} : make_run(piece.offset, piece.bytes);
    }
    if (only_runs_ && !equal_blocks()) split_into_equal_blocks();
    const std::int64_t origin = pieces_.front().offset;
    auto node = make_counted<LayoutNode>();
    if (only_runs_ && equal_blocks()) {
      if (constant_stride()) {
        const std::int64_t stride = pieces_[1].offset - origin;
        return make_strided(static_cast<std::int64_t>(pieces_.size()), stride,
                            make_run(origin, pieces_[0].bytes));
      }
      node->kind = Kind::blocks;
      node->block = pieces_.front().bytes;
      node->size = node->block * static_cast<std::int64_t>(pieces_.size());
    } else {
      node->kind = only_runs_ ? Kind::runs : Kind::list;
      fill_starts(*node);
    }
    node->offsets.reserve(pieces_.size());
    for (const Piece& piece : pieces_) node->offsets.push_back(piece.offset - origin);
    return {origin, node};
  }

 private:
  struct Piece {
    std::int64_t offset;
    std::int64_t bytes;            // of a run
    Ref<const LayoutNode> node{};  // null for a run
  };

  void add_run(std::int64_t offset, std::int64_t bytes) {
    if (!pieces_.empty()) {
      Piece& last = pieces_.back();
      if (!last.node && last.offset + last.bytes == offset) {
        last.bytes += bytes;
        return;
      }
    }
    pieces_.push_back({offset, bytes});
  }

  // Short runs of changing length cost a misprediction each; if all are few pieces of one length, the pieces
  // are faster.
  void split_into_equal_blocks() {
    std::int64_t block = 0;
    std::int64_t total = 0;
    for (const Piece& piece : pieces_) {
      block = std::gcd(block, piece.bytes);
      total += piece.bytes;
    }
    const auto runs = static_cast<std::int64_t>(pieces_.size());
    if (runs < 8 || block < 4 || block > 64 || total / block > 4 * runs) return;
    std::vector<Piece> blocks;
    blocks.reserve(static_cast<std::size_t>(total / block));
    for (const Piece& piece : pieces_)
      for (std::int64_t at = 0; at < piece.bytes; at += block) blocks.push_back({piece.offset + at, block});
    pieces_ = std::move(blocks);
  }

  bool equal_blocks() const {
    return std::all_of(pieces_.begin(), pieces_.end(),
                       [&](const Piece& piece) { return piece.bytes == pieces_.front().bytes; });
  }
  bool constant_stride() const {
    const std::int64_t stride = pieces_[1].offset - pieces_[0].offset;
    for (std::size_t i = 2; i < pieces_.size(); ++i)
      if (pieces_[i].offset - pieces_[i - 1].offset != stride) return false;
    return true;
  }
  void fill_starts(LayoutNode& node) const {
    node.starts.reserve(pieces_.size() + 1);
    node.starts.push_back(0);
    for (const Piece& piece : pieces_) {
      const std::int64_t bytes = piece.node ? piece.node->size : piece.bytes;
      node.starts.push_back(node.starts.back() + bytes);
      if (node.kind == Kind::list) node.children.push_back(piece.node ? piece.node : make_run(0, bytes).node);
    }
    node.size = node.starts.back();
  }

  std::vector<Piece> pieces_;
  bool only_runs_ = true;
};

}  // namespace

double runs_of(const LayoutNode& node) {
  switch (node.kind) {
    case Kind::run:
      return 1;
    case Kind::strided:
      return static_cast<double>(node.count) * runs_of(*node.child);
    case Kind::blocks:
    case Kind::runs:
      return static_cast<double>(node.offsets.size());
    case Kind::list: {
      double runs = 0;
      for (const auto& child : node.children) runs += runs_of(*child);
      return runs;
    }
  }
  HAWSER_UNREACHABLE();
}

PlacedLayout compile_layout(const TypeMap& map) {
  if (map.size == 0) return make_run(0, 0);
  switch (map.kind) {
    case TypeMap::Kind::element:
      return make_run(0, map.size);
    case TypeMap::Kind::repeat:
      return make_strided(map.count, map.stride, compile_layout(*map.child));
    case TypeMap::Kind::indexed: {
      const PlacedLayout part = compile_layout(*map.child);
      Sequence sequence;
      for (std::size_t i = 0; i < map.displacements.size(); ++i)
        sequence.add_copies(map.displacements[i], map.length_of_block(i), map.stride, part);
      return sequence.finish();
    }
    case TypeMap::Kind::structure: {
      Sequence sequence;
      for (std::size_t i = 0; i < map.children.size(); ++i) {
        const PlacedLayout part = compile_layout(*map.children[i]);
        sequence.add(map.displacements[i] + part.offset, part.node);
      }
      return sequence.finish();
    }
  }
  HAWSER_UNREACHABLE();
}

}  // namespace hawser
