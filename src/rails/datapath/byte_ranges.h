// Ranges of the bytes of a message or a window.
#pragma once

#include <cstdint>
#include <vector>

namespace hawser {

struct ByteRange {
  std::int64_t offset = 0;
  std::int64_t size = 0;
};

// Disjoint ranges in ascending order, adjacent ones joined.
class RangeSet {
 public:
  // False when it overlaps what is there: nothing was done.
  bool add(const ByteRange& range);
  void clear() {
    ranges_.clear();
    total_ = 0;
  }
  std::int64_t total() const { return total_; }

 private:
  std::vector<ByteRange> ranges_;
  std::int64_t total_ = 0;
};

}  // namespace hawser
