#include "datatype/type_packer.h"

#include <algorithm>

#include "base/assert.h"
#include "base/copy_memory.h"
#include "datatype/copy_kernels.h"

namespace hawser {
namespace {

using Kind = LayoutNode::Kind;

// Rows of a strided loop are moved in tiles of this many bytes, one column after the other, so that each
// column is a tight loop and the tile stays in the first-level cache.
constexpr std::int64_t tile_bytes = 8192;
// Loops of fewer rows than this are not worth a pass of their own.
constexpr std::int64_t short_loop = 8;

// With MPI_BOTTOM the displacement is the address, and arithmetic on a null pointer is undefined.
std::byte* address(const void* buffer, std::int64_t displacement) {
  return reinterpret_cast<std::byte*>(reinterpret_cast<std::uintptr_t>(buffer) +
                                      static_cast<std::uintptr_t>(displacement));
}

// In which of its entries the byte at this place of the packed form is.
std::size_t entry_at(const LayoutNode& node, std::int64_t at) {
  const auto after = std::upper_bound(node.starts.begin(), node.starts.end(), at);
  return static_cast<std::size_t>(after - node.starts.begin()) - 1;
}

// One direction of the engine. The packed side is always a piece of memory; `memory` is where a node lies.
template <bool Packing>
struct Engine {
  static void run(std::byte* memory, std::byte* packed, std::int64_t bytes) {
    if constexpr (Packing)
      copy_bytes(packed, memory, bytes);
    else
      copy_bytes(memory, packed, bytes);
  }
  static void rows(std::byte* memory, std::int64_t stride, std::byte* packed, std::int64_t packed_stride,
                   std::int64_t bytes, std::int64_t count) {
    if constexpr (Packing)
      copy_rows(packed, packed_stride, memory, stride, bytes, count);
    else
      copy_rows(memory, stride, packed, packed_stride, bytes, count);
  }
  static void planes(std::byte* memory, Strides strides, std::byte* packed, Strides packed_strides,
                     std::int64_t bytes, std::int64_t row_count, std::int64_t plane_count) {
    if constexpr (Packing)
      copy_planes(packed, packed_strides, memory, strides, bytes, row_count, plane_count);
    else
      copy_planes(memory, strides, packed, packed_strides, bytes, row_count, plane_count);
  }
  static void row_pairs(std::byte* memory, const RowPair& pair, std::byte* packed, const RowPair& packed_pair,
                        const std::int64_t (&bytes)[2], std::int64_t count) {
    if constexpr (Packing)
      copy_row_pairs(packed, packed_pair, memory, pair, bytes, count);
    else
      copy_row_pairs(memory, pair, packed, packed_pair, bytes, count);
  }
  static void blocks(std::byte* memory, const std::int64_t* offsets, std::byte* packed, std::int64_t bytes,
                     std::int64_t count) {
    if constexpr (Packing)
      gather_rows(packed, memory, offsets, bytes, count);
    else
      scatter_rows(memory, packed, offsets, bytes, count);
  }

  // Runs `first` and later; `packed` is where the packed form of all begins.
  static void runs(const LayoutNode& node, std::size_t first, std::size_t count, std::byte* memory,
                   std::byte* packed) {
    if constexpr (Packing)
      gather_runs(packed, memory, node.offsets.data() + first, node.starts.data() + first, count);
    else
      scatter_runs(memory, packed, node.offsets.data() + first, node.starts.data() + first, count);
  }

  // All of a node.
  static void whole(const LayoutNode& node, std::byte* memory, std::byte* packed) {
    switch (node.kind) {
      case Kind::run:
        return run(memory, packed, node.size);
      case Kind::strided:
        return loop(node.count, node.stride, *node.child, memory, packed);
      case Kind::blocks:
        return blocks(memory, node.offsets.data(), packed, node.block,
                      static_cast<std::int64_t>(node.offsets.size()));
      case Kind::runs:
        return runs(node, 0, node.offsets.size(), memory, packed);
      case Kind::list:
        for (std::size_t i = 0; i < node.offsets.size(); ++i)
          whole(*node.children[i], memory + node.offsets[i], packed + node.starts[i]);
        return;
    }
  }

  // `count` copies of a node, `stride` apart.
  static void loop(std::int64_t count, std::int64_t stride, const LayoutNode& node, std::byte* memory,
                   std::byte* packed) {
    if (node.kind == Kind::run) return rows(memory, stride, packed, node.size, node.size, count);
    if (count == 1) return whole(node, memory, packed);
    if (node.kind == Kind::strided && node.child->kind == Kind::run) {
      const std::int64_t bytes = node.child->size;
      const Strides strides{node.stride, stride};
      const Strides packed_strides{bytes, node.size};
      // Long rows of blocks one after the other; short ones in columns, below.
      if (node.count > short_loop || count <= node.count)
        return planes(memory, strides, packed, packed_strides, bytes, node.count, count);
    }
    if (is_pair(node)) return columns_of_runs(count, stride, node, memory, packed);
    if (columns(node) <= max_columns) {
      const std::int64_t span = std::max<std::int64_t>(node.size, stride < 0 ? -stride : stride);
      if (count * span <= tile_bytes) return column_by_column(count, stride, node, memory, packed);
      const std::int64_t tile = tile_bytes / span;
      if (tile >= short_loop) {
        for (std::int64_t i = 0; i < count; i += tile)
          column_by_column(std::min(tile, count - i), stride, node, memory + i * stride,
                           packed + i * node.size);
        return;
      }
    }
    for (std::int64_t i = 0; i < count; ++i) whole(node, memory + i * stride, packed + i * node.size);
  }

  // Bytes [from, from + bytes) of the packed form of a node.
  static void part(const LayoutNode& node, std::byte* memory, std::int64_t from, std::int64_t bytes,
                   std::byte* packed) {
    if (bytes == node.size) return whole(node, memory, packed);
    switch (node.kind) {
      case Kind::run:
        return run(memory + from, packed, bytes);
      case Kind::strided:
        return part_of_loop(node.count, node.stride, *node.child, memory, from, bytes, packed);
      case Kind::blocks:
        return part_of_blocks(node, memory, from, bytes, packed);
      case Kind::runs:
        return part_of_runs(node, memory, from, bytes, packed);
      case Kind::list:
        return part_of_list(node, memory, from, bytes, packed);
    }
  }

  static void part_of_loop(std::int64_t count, std::int64_t stride, const LayoutNode& node, std::byte* memory,
                           std::int64_t from, std::int64_t bytes, std::byte* packed) {
    HAWSER_ASSERT(from >= 0 && bytes >= 0 && from + bytes <= count * node.size);
    if (bytes == 0) return;
    std::int64_t index = 0;
    if (from != 0) {
      index = from / node.size;
      const std::int64_t inside = from - index * node.size;
      if (inside != 0) {
        const std::int64_t head = std::min(bytes, node.size - inside);
        part(node, memory + index * stride, inside, head, packed);
        bytes -= head;
        packed += head;
        ++index;
      }
    }
    if (bytes >= node.size) {
      const std::int64_t whole_count = bytes / node.size;
      loop(whole_count, stride, node, memory + index * stride, packed);
      index += whole_count;
      bytes -= whole_count * node.size;
      packed += whole_count * node.size;
    }
    if (bytes > 0) part(node, memory + index * stride, 0, bytes, packed);
  }

 private:
  static constexpr std::int64_t max_columns = 16;

  // In how many columns of rows a loop over the node may be taken; large if it should not be.
  static std::int64_t columns(const LayoutNode& node) {
    switch (node.kind) {
      case Kind::run:
        return 1;
      case Kind::strided:
        return node.child->kind == Kind::run ? node.count : max_columns + 1;
      case Kind::blocks:
      case Kind::runs:
        return static_cast<std::int64_t>(node.offsets.size());
      case Kind::list:
        return max_columns + 1;
    }
    return max_columns + 1;
  }

  static void column_by_column(std::int64_t count, std::int64_t stride, const LayoutNode& node,
                               std::byte* memory, std::byte* packed) {
    switch (node.kind) {
      case Kind::strided:
        for (std::int64_t i = 0; i < node.count; ++i)
          rows(memory + i * node.stride, stride, packed + i * node.child->size, node.size, node.child->size,
               count);
        return;
      case Kind::blocks:
        for (std::size_t i = 0; i < node.offsets.size(); ++i)
          rows(memory + node.offsets[i], stride, packed + static_cast<std::int64_t>(i) * node.block,
               node.size, node.block, count);
        return;
      case Kind::runs:
        return columns_of_runs(count, stride, node, memory, packed);
      case Kind::run:
      case Kind::list:
        HAWSER_UNREACHABLE();
    }
  }

  static bool is_pair(const LayoutNode& node) {
    return node.kind == Kind::runs && node.offsets.size() == 2 && fits_pair(node.starts[1]) &&
           fits_pair(node.size - node.starts[1]);
  }
  static bool fits_pair(std::int64_t bytes) { return shortest_of_pair <= bytes && bytes <= longest_of_pair; }

  // Two columns at once where both are narrow.
  static void columns_of_runs(std::int64_t count, std::int64_t stride, const LayoutNode& node,
                              std::byte* memory, std::byte* packed) {
    const auto bytes_of = [&node](std::size_t i) { return node.starts[i + 1] - node.starts[i]; };
    for (std::size_t i = 0; i < node.offsets.size(); ++i) {
      if (i + 1 < node.offsets.size() && fits_pair(bytes_of(i)) && fits_pair(bytes_of(i + 1))) {
        row_pairs(memory, {stride, {node.offsets[i], node.offsets[i + 1]}}, packed,
                  {node.size, {node.starts[i], node.starts[i + 1]}}, {bytes_of(i), bytes_of(i + 1)}, count);
        ++i;
      } else {
        rows(memory + node.offsets[i], stride, packed + node.starts[i], node.size, bytes_of(i), count);
      }
    }
  }

  static void part_of_blocks(const LayoutNode& node, std::byte* memory, std::int64_t from, std::int64_t bytes,
                             std::byte* packed) {
    std::int64_t index = from / node.block;
    const std::int64_t inside = from - index * node.block;
    if (inside != 0) {
      const std::int64_t head = std::min(bytes, node.block - inside);
      run(memory + node.offsets[static_cast<std::size_t>(index)] + inside, packed, head);
      bytes -= head;
      packed += head;
      ++index;
    }
    const std::int64_t count = bytes / node.block;
    blocks(memory, node.offsets.data() + index, packed, node.block, count);
    const std::int64_t tail = bytes - count * node.block;
    if (tail != 0)
      run(memory + node.offsets[static_cast<std::size_t>(index + count)], packed + count * node.block, tail);
  }

  static void part_of_runs(const LayoutNode& node, std::byte* memory, std::int64_t from, std::int64_t bytes,
                           std::byte* packed) {
    std::byte* const begin = address(packed, -from);
    const std::int64_t end = from + bytes;
    std::size_t index = entry_at(node, from);
    const std::int64_t inside = from - node.starts[index];
    if (inside != 0) {
      run(memory + node.offsets[index] + inside, packed, std::min(end, node.starts[index + 1]) - from);
      if (end <= node.starts[++index]) return;
    }
    const std::size_t last = entry_at(node, end);
    runs(node, index, last - index, memory, begin);
    const std::int64_t tail = end - node.starts[last];
    if (tail != 0) run(memory + node.offsets[last], address(begin, node.starts[last]), tail);
  }

  static void part_of_list(const LayoutNode& node, std::byte* memory, std::int64_t from, std::int64_t bytes,
                           std::byte* packed) {
    for (std::size_t index = entry_at(node, from); bytes > 0; ++index) {
      const std::int64_t piece = std::min(bytes, node.starts[index + 1] - from);
      part(*node.children[index], memory + node.offsets[index], from - node.starts[index], piece, packed);
      from += piece;
      bytes -= piece;
      packed += piece;
    }
  }
};

}  // namespace

TypePacker::TypePacker(const void* buffer, std::int64_t count, const Datatype& type)
    : count_(count), stride_(count > 1 ? type.extent : 0), size_(count * type.size) {
  const TypeLayout* layout = type.layout();
  HAWSER_ASSERT(layout != nullptr);
  node_ = layout->root.get();
  memory_ = address(buffer, layout->offset);
  if (count > 1 && node_->kind == Kind::strided && stride_ == node_->count * node_->stride) {
    // One long loop instead of a loop of loops.
    count_ *= node_->count;
    stride_ = node_->stride;
    node_ = node_->child.get();
  }
}

void TypePacker::pack(std::int64_t offset, std::byte* out, std::int64_t bytes) {
  if (bytes == size_) return Engine<true>::loop(count_, stride_, *node_, memory_, out);
  Engine<true>::part_of_loop(count_, stride_, *node_, memory_, offset, bytes, out);
}

void TypePacker::unpack(std::int64_t offset, const std::byte* in, std::int64_t bytes) {
  auto* packed = const_cast<std::byte*>(in);
  if (bytes == size_) return Engine<false>::loop(count_, stride_, *node_, memory_, packed);
  Engine<false>::part_of_loop(count_, stride_, *node_, memory_, offset, bytes, packed);
}

MemoryBlock TypePacker::block(std::int64_t offset) const {
  const std::int64_t element = offset / node_->size;
  const LayoutNode* node = node_;
  std::byte* memory = address(memory_, element * stride_);
  offset -= element * node->size;
  for (;;) {
    std::int64_t begin = 0;
    switch (node->kind) {
      case Kind::run:
        return {address(memory, offset), node->size - offset};
      case Kind::strided:
        begin = offset / node->child->size;
        memory = address(memory, begin * node->stride);
        offset -= begin * node->child->size;
        node = node->child.get();
        continue;
      case Kind::blocks:
        begin = offset / node->block;
        offset -= begin * node->block;
        return {address(memory, node->offsets[static_cast<std::size_t>(begin)] + offset),
                node->block - offset};
      case Kind::runs:
      case Kind::list:
        break;
    }
    const std::size_t index = entry_at(*node, offset);
    memory = address(memory, node->offsets[index]);
    offset -= node->starts[index];
    if (node->kind == Kind::runs)
      return {address(memory, offset), node->starts[index + 1] - node->starts[index] - offset};
    node = node->children[index].get();
  }
}

std::byte* TypePacker::single_piece() const {
  const bool one_piece = node_->kind == Kind::run && (count_ == 1 || stride_ == node_->size);
  return one_piece ? memory_ : nullptr;
}

ByteSequence describe(const void* buffer, std::int64_t count, const Datatype& type, TypePacker& packer) {
  ByteSequence sequence;
  sequence.size = count * type.size;
  if (type.contiguous || sequence.size == 0) {
    sequence.data = address(buffer, type.true_lower_bound);
    return sequence;
  }
  packer = TypePacker(buffer, count, type);
  sequence.data = packer.single_piece();
  if (sequence.data == nullptr) sequence.packer = &packer;
  return sequence;
}

std::int64_t copy_typed(const void* from, std::int64_t from_count, const Datatype& from_type, void* to,
                        std::int64_t to_count, const Datatype& to_type) {
  TypePacker from_packer;
  TypePacker to_packer;
  const ByteSequence source = describe(from, from_count, from_type, from_packer);
  const ByteSequence target = describe(to, to_count, to_type, to_packer);
  const std::int64_t bytes = std::min(source.size, target.size);
  if (bytes == 0) return 0;
  if (source.contiguous() && target.contiguous()) {
    copy_memory(target.data, source.data, static_cast<std::size_t>(bytes));
  } else if (source.contiguous()) {
    to_packer.unpack(0, source.data, bytes);
  } else if (target.contiguous()) {
    from_packer.pack(0, target.data, bytes);
  } else {
    // Small enough for the stack of a simulated rank, large enough to hide the cost of finding the place.
    std::byte piece[8192];
    for (std::int64_t at = 0; at < bytes; at += static_cast<std::int64_t>(sizeof(piece))) {
      const auto length = std::min<std::int64_t>(sizeof(piece), bytes - at);
      from_packer.pack(at, piece, length);
      to_packer.unpack(at, piece, length);
    }
  }
  return bytes;
}

}  // namespace hawser
