#include "datatype/datatype.h"

#include <algorithm>

namespace hawser {
namespace {

// How many elements' data, and the way from the first element to the last, fit into the largest buffer.
std::uint64_t find_count_bound(const Datatype& type) {
  if (type.true_extent > largest_buffer || type.size > largest_buffer) return 1;
  std::uint64_t most = INT64_MAX;
  if (type.size > 0) most = static_cast<std::uint64_t>(largest_buffer / type.size);
  const std::uint64_t step =
      type.extent < 0 ? -static_cast<std::uint64_t>(type.extent) : static_cast<std::uint64_t>(type.extent);
  const auto room = static_cast<std::uint64_t>(largest_buffer - type.true_extent);
  if (step > 0) most = std::min(most, room / step + 1);
  return most + 1;
}

}  // namespace

Datatype::~Datatype() = default;
TypeContents::~TypeContents() = default;

void Datatype::commit() {
  if (committed) return;
  layout_ = make_counted<TypeLayout>(compile_layout(*map_));
  contiguous = layout_->root->kind == LayoutNode::Kind::run && size == extent;
  count_bound = find_count_bound(*this);
  committed = true;
}

}  // namespace hawser
