#include "datatype/datatype.h"

namespace hawser {

Datatype::~Datatype() = default;
TypeContents::~TypeContents() = default;

void Datatype::commit() {
  if (committed) return;
  layout_ = make_counted<TypeLayout>(compile_layout(*map_));
  contiguous = layout_->root->kind == LayoutNode::Kind::run && size == extent;
  committed = true;
}

}  // namespace hawser
