#include "rails/datapath/byte_ranges.h"

#include <algorithm>

namespace hawser {

bool RangeSet::add(const ByteRange& range) {
  const auto after = std::find_if(ranges_.begin(), ranges_.end(),
                                  [&](const ByteRange& r) { return r.offset + r.size > range.offset; });
  if (after != ranges_.end() && after->offset < range.offset + range.size) return false;
  total_ += range.size;
  const bool joins_next = after != ranges_.end() && after->offset == range.offset + range.size;
  const bool joins_last = after != ranges_.begin() && (after - 1)->offset + (after - 1)->size == range.offset;
  if (joins_last && joins_next) {
    (after - 1)->size += range.size + after->size;
    ranges_.erase(after);
  } else if (joins_last) {
    (after - 1)->size += range.size;
  } else if (joins_next) {
    after->offset = range.offset;
    after->size += range.size;
  } else {
    ranges_.insert(after, range);
  }
  return true;
}

}  // namespace hawser
