// A committed datatype's layout as bytes, for a process that is to reach the same bytes in its own memory:
// the target of a one-sided operation. As compact as the layout is: loops stay loops.
#pragma once

#include <cstddef>
#include <span>
#include <vector>

#include "base/result.h"
#include "datatype/datatype.h"

namespace hawser {

// Replaces what is in `bytes`.
void encode_layout(const Datatype& type, std::vector<std::byte>& bytes);

// A type that TypePacker takes; it has size, bounds and layout, but neither map nor contents. The bytes may
// be anybody's: fails if they are no layout, or one whose data are not within 64 bits.
Result<Ref<const Datatype>> decode_layout(std::span<const std::byte> bytes);

}  // namespace hawser
