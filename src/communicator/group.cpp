#include "communicator/group.h"

#include <algorithm>

#include "mpi/failure.h"

namespace hawser {

struct Group::Inverse {
  std::vector<std::pair<ProcessIndex, int>> rank_of_process;
};

namespace {

// The distance between neighbours if the sequence is arithmetic with a distance other than 0; else 0.
ProcessIndex common_stride(const std::vector<ProcessIndex>& processes) {
  if (processes.size() < 2) return 1;
  const ProcessIndex stride = processes[1] - processes[0];
  for (std::size_t i = 2; i < processes.size(); ++i) {
    if (processes[i] - processes[i - 1] != stride) return 0;
  }
  return stride;
}

}  // namespace

Group::Group(ProcessIndex first, ProcessIndex stride, int size)
    : size_(size), first_(first), stride_(stride) {
  HAWSER_ASSERT(size >= 0 && (stride != 0 || size <= 1));
}

Group::Group(std::vector<ProcessIndex> processes) : size_(static_cast<int>(processes.size())) {
  const ProcessIndex stride = common_stride(processes);
  if (stride == 0) {
    table_ = std::make_unique<ProcessIndex[]>(processes.size());
    std::copy(processes.begin(), processes.end(), table_.get());
  } else {
    first_ = processes.empty() ? 0 : processes[0];
    stride_ = stride;
  }
}

Group::~Group() = default;

int Group::rank_of(ProcessIndex process) const {
  if (size_ == 0) return undefined;
  if (table_ == nullptr) {
    const ProcessIndex distance = process - first_;
    if (distance % stride_ != 0) return undefined;
    const ProcessIndex rank = distance / stride_;
    return rank >= 0 && rank < size_ ? rank : undefined;
  }
  if (inverse_ == nullptr) {
    inverse_ = std::make_unique<Inverse>();
    auto& pairs = inverse_->rank_of_process;
    pairs.reserve(static_cast<std::size_t>(size_));
    for (int rank = 0; rank < size_; ++rank) pairs.emplace_back(table_[static_cast<std::size_t>(rank)], rank);
    std::sort(pairs.begin(), pairs.end());
  }
  const auto& pairs = inverse_->rank_of_process;
  const auto found = std::lower_bound(pairs.begin(), pairs.end(), std::pair<ProcessIndex, int>(process, 0));
  return found != pairs.end() && found->first == process ? found->second : undefined;
}

int Group::compare(const Group& other) const {
  if (this == &other) return comparison::identical;
  if (size_ != other.size_) return comparison::unequal;
  bool same_order = true;
  for (int rank = 0; rank < size_; ++rank) {
    if (process_of(rank) == other.process_of(rank)) continue;
    same_order = false;
    if (!other.contains(process_of(rank))) return comparison::unequal;
  }
  return same_order ? comparison::identical : comparison::similar;
}

Result<> Group::translate_ranks(std::span<const int> ranks, const Group& other, int* out) const {
  for (std::size_t i = 0; i < ranks.size(); ++i) {
    const int rank = ranks[i];
    if (rank == proc_null) {
      out[i] = proc_null;
      continue;
    }
    if (rank < 0 || rank >= size_) {
      return failure(ErrorClass::rank, "rank {} (entry {}) is not in the group, which has {} ranks", rank, i,
                     size_);
    }
    out[i] = other.rank_of(process_of(rank));
  }
  return {};
}

Ref<Group> Group::united_with(const Group& other) const {
  std::vector<ProcessIndex> processes;
  processes.reserve(static_cast<std::size_t>(size_ + other.size_));
  for (int rank = 0; rank < size_; ++rank) processes.push_back(process_of(rank));
  for (int rank = 0; rank < other.size_; ++rank) {
    if (!contains(other.process_of(rank))) processes.push_back(other.process_of(rank));
  }
  return make_counted<Group>(std::move(processes));
}

Ref<Group> Group::intersected_with(const Group& other) const {
  std::vector<ProcessIndex> processes;
  for (int rank = 0; rank < size_; ++rank) {
    if (other.contains(process_of(rank))) processes.push_back(process_of(rank));
  }
  return make_counted<Group>(std::move(processes));
}

Ref<Group> Group::without(const Group& other) const {
  std::vector<ProcessIndex> processes;
  for (int rank = 0; rank < size_; ++rank) {
    if (!other.contains(process_of(rank))) processes.push_back(process_of(rank));
  }
  return make_counted<Group>(std::move(processes));
}

Result<> Group::check_distinct(std::span<const int> ranks) const {
  std::vector<bool> seen(static_cast<std::size_t>(size_));
  for (std::size_t i = 0; i < ranks.size(); ++i) {
    const int rank = ranks[i];
    if (rank < 0 || rank >= size_) {
      return failure(ErrorClass::rank, "rank {} (entry {}) is not in the group, which has {} ranks", rank, i,
                     size_);
    }
    if (seen[static_cast<std::size_t>(rank)]) {
      return failure(ErrorClass::rank, "rank {} (entry {}) is named twice", rank, i);
    }
    seen[static_cast<std::size_t>(rank)] = true;
  }
  return {};
}

Result<Ref<Group>> Group::including(std::span<const int> ranks) const {
  HAWSER_TRY(check_distinct(ranks));
  std::vector<ProcessIndex> processes;
  processes.reserve(ranks.size());
  for (int rank : ranks) processes.push_back(process_of(rank));
  return make_counted<Group>(std::move(processes));
}

Result<Ref<Group>> Group::excluding(std::span<const int> ranks) const {
  HAWSER_TRY(check_distinct(ranks));
  std::vector<bool> left_out(static_cast<std::size_t>(size_));
  for (int rank : ranks) left_out[static_cast<std::size_t>(rank)] = true;
  std::vector<ProcessIndex> processes;
  for (int rank = 0; rank < size_; ++rank) {
    if (!left_out[static_cast<std::size_t>(rank)]) processes.push_back(process_of(rank));
  }
  return make_counted<Group>(std::move(processes));
}

Result<std::vector<int>> Group::expand(std::span<const RankRange> ranges) const {
  std::vector<int> ranks;
  for (std::size_t i = 0; i < ranges.size(); ++i) {
    const RankRange& range = ranges[i];
    if (range.stride == 0) return failure(ErrorClass::arg, "range {} has stride 0", i);
    // 64-bit, so that the step behind the last rank cannot overflow.
    const std::int64_t last = range.last;
    for (std::int64_t rank = range.first; range.stride > 0 ? rank <= last : rank >= last;
         rank += range.stride) {
      if (rank < 0 || rank >= size_) {
        return failure(ErrorClass::rank, "range {} contains rank {}, but the group has {} ranks", i, rank,
                       size_);
      }
      ranks.push_back(static_cast<int>(rank));
    }
  }
  return ranks;
}

Result<Ref<Group>> Group::including_ranges(std::span<const RankRange> ranges) const {
  auto ranks = expand(ranges);
  if (!ranks) return ranks.take_error();
  return including(ranks.value());
}

Result<Ref<Group>> Group::excluding_ranges(std::span<const RankRange> ranges) const {
  auto ranks = expand(ranges);
  if (!ranks) return ranks.take_error();
  return excluding(ranks.value());
}

}  // namespace hawser
