// TunedTable: which algorithms were fastest where somebody measured, as `hawser tune` writes it and the knob
// `collective_table` names it. Lines of text:
//
//   # a comment
//   ranks 8 nodes 1            what follows is for communicators of so many ranks on so many nodes
//   alltoall 65536 pairwise    from so many bytes (Shape::bytes) on, up to the next line of alltoall
//   alltoall 524288 default    from here on as without a table
//
// `messages` in place of an algorithm: the one that the costs choose, but not in shared memory; an algorithm
// means messages as well. All processes of a job must read the same.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "collective/algorithm.h"

namespace hawser {

struct TunedWay {
  bool tuned = false;                    // else as without a table
  const Algorithm* algorithm = nullptr;  // null: the cheapest one, by messages
};

class TunedTable {
 public:
  // `name` is told in errors, which say the line.
  static Result<TunedTable> parse(std::string_view text, std::string_view name);
  static Result<TunedTable> read(const std::string& file_name);

  bool empty() const { return shapes_.empty(); }
  TunedWay find(Collective kind, const Shape& shape) const;
  // Of its text: alike where the tables are.
  std::uint32_t checksum() const { return checksum_; }

 private:
  struct Entry {
    Collective kind;
    std::int64_t from;  // bytes
    TunedWay way;
  };
  struct OfShape {
    int ranks, nodes;
    std::vector<Entry> entries;  // of each kind in ascending order of bytes
  };
  Result<> add_shape(std::string_view line);
  Result<> add_entry(std::string_view line);

  std::vector<OfShape> shapes_;
  std::uint32_t checksum_ = 0;
};

}  // namespace hawser
