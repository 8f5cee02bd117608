// LayoutNode: the memory layout of a datatype, compiled for packing. Kinds of data are forgotten and
// neighbours merged, so what is left is runs of bytes, loops over them and lists of them; loops stay loops,
// so a vector of 2^40 blocks is one node. Immutable and shared between types made of one another.
#pragma once

#include <cstdint>
#include <vector>

#include "base/counted.h"
#include "datatype/type_map.h"

namespace hawser {

struct LayoutNode final : Counted {
  enum class Kind : std::uint8_t {
    run,      // `size` bytes in one piece
    strided,  // `count` (>= 2) times `child`, `stride` bytes apart
    blocks,   // runs of `block` bytes each at offsets[i]
    runs,     // runs at offsets[i]; starts[i] .. starts[i + 1] is its place in packed form
    list,     // children[i] at offsets[i]; starts as above
  };
  Kind kind = Kind::run;
  std::int64_t size = 0;  // bytes in packed form
  std::int64_t count = 0;
  std::int64_t stride = 0;
  std::int64_t block = 0;
  Ref<const LayoutNode> child;
  std::vector<std::int64_t> offsets;
  std::vector<std::int64_t> starts;  // one more than offsets
  std::vector<Ref<const LayoutNode>> children;
};

// A node and where it lies, in bytes from the address the user gives.
struct PlacedLayout {
  std::int64_t offset = 0;
  Ref<const LayoutNode> node;
};

// How many runs there are; about, if there are very many.
double runs_of(const LayoutNode& node);

class TypeLayout final : public Counted {
 public:
  explicit TypeLayout(PlacedLayout root)
      : offset(root.offset),
        root(std::move(root.node)),
        average_run(static_cast<double>(this->root->size) / runs_of(*this->root)) {}
  const std::int64_t offset;
  const Ref<const LayoutNode> root;
  const double average_run;  // bytes
};

PlacedLayout compile_layout(const TypeMap& map);

}  // namespace hawser
