// Group: an ordered set of processes (MPI-5.0 chapter 7.3). Immutable. Most groups are an arithmetic
// sequence (all processes, the even ones, the first half) and are kept as three numbers, so that a
// communicator over a million processes costs no table; the others keep one table, shared by all
// communicators over the same group.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "base/counted.h"
#include "base/result.h"
#include "channel/transport.h"
#include "message/status.h"

namespace hawser {

// A range of ranks as in MPI_Group_range_incl: first, last (inclusive), stride.
struct RankRange {
  int first = 0;
  int last = 0;
  int stride = 1;
};

// The results of comparing groups and communicators, numbered as in the standard ABI.
namespace comparison {
inline constexpr int identical = 201;
inline constexpr int congruent = 202;
inline constexpr int similar = 203;
inline constexpr int unequal = 204;
}  // namespace comparison

class Group final : public Counted {
 public:
  std::uint32_t handle = 0;  // number in the process's object table; used by binding/ only
  // The session whose process set it was made from, directly or through other groups; null: none. Set before
  // the program gets the group.
  Ref<Counted> session;

  // `size` processes from `first` at distance `stride`.
  Group(ProcessIndex first, ProcessIndex stride, int size);
  // Any sequence of distinct processes; recognizes arithmetic ones.
  explicit Group(std::vector<ProcessIndex> processes);
  ~Group() override;

  int size() const { return size_; }
  // The process of a rank; 0 <= rank < size.
  ProcessIndex process_of(int rank) const {
    return table_ == nullptr ? first_ + rank * stride_ : table_[static_cast<std::size_t>(rank)];
  }
  // The rank of a process, or `undefined`.
  int rank_of(ProcessIndex process) const;
  bool contains(ProcessIndex process) const { return rank_of(process) != undefined; }
  bool dense() const { return table_ != nullptr; }

  // comparison::identical, similar or unequal.
  int compare(const Group& other) const;
  // For each rank here its rank in `other`; proc_null stays proc_null.
  Result<> translate_ranks(std::span<const int> ranks, const Group& other, int* out) const;

  Ref<Group> united_with(const Group& other) const;
  Ref<Group> intersected_with(const Group& other) const;
  Ref<Group> without(const Group& other) const;
  Result<Ref<Group>> including(std::span<const int> ranks) const;
  Result<Ref<Group>> excluding(std::span<const int> ranks) const;
  Result<Ref<Group>> including_ranges(std::span<const RankRange> ranges) const;
  Result<Ref<Group>> excluding_ranges(std::span<const RankRange> ranges) const;

 private:
  struct Inverse;  // (process, rank) sorted by process, made when first needed
  Result<std::vector<int>> expand(std::span<const RankRange> ranges) const;
  Result<> check_distinct(std::span<const int> ranks) const;

  int size_ = 0;
  ProcessIndex first_ = 0;
  ProcessIndex stride_ = 1;
  std::unique_ptr<ProcessIndex[]> table_;  // null for an arithmetic sequence
  mutable std::unique_ptr<Inverse> inverse_;
};

}  // namespace hawser
