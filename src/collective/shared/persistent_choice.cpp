// A root of a persistent operation may be many starts ahead of the others by messages, which wait with their
// receivers; a team has two buffers. So for few bytes that go from or to one rank messages are often better.
// Where ranks share cores, and of two ranks, the amounts are as measured in real time, with the two cores on
// one cache and on two; else in the simulator, whose ways are areas and messages (doc/collective.md has the
// figures). Each amount is one that was measured.
#include "collective/shared/persistent_choice.h"

#include <algorithm>
#include <span>

namespace hawser {

namespace {

// Of a rank's block, or of the whole vector of a reduction.
struct PayingAmounts {
  Collective kind;
  std::int64_t least, most;
};

constexpr std::int64_t kib = 1024, any_amount = INT64_MAX, one_line = 48;

constexpr PayingAmounts of_two[] = {
    {Collective::broadcast, 32 * kib, 256 * kib},
    {Collective::gather, 32 * kib, 128 * kib},
    {Collective::alltoall, 32 * kib, any_amount},
    {Collective::reduce, 32 * kib, 64 * kib},
    {Collective::allreduce, 64 * kib, any_amount},
    {Collective::reduce_scatter_block, 2048 * kib, any_amount},
    {Collective::reduce_scatter, 2048 * kib, any_amount},
};

constexpr PayingAmounts sharing_cores[] = {
    {Collective::broadcast, 16 * kib, any_amount},
    {Collective::gather, 16 * kib, any_amount},
    {Collective::allgather, 0, any_amount},
    {Collective::allgatherv, 0, any_amount},
    {Collective::alltoall, 0, 8 * kib},
    {Collective::alltoall, 64 * kib, any_amount},
    {Collective::reduce, 8 * kib, any_amount},
    {Collective::allreduce, 0, any_amount},
    {Collective::reduce_scatter_block, 0, any_amount},
    {Collective::reduce_scatter, 0, any_amount},
    {Collective::scan, 0, one_line},
    {Collective::exscan, 0, one_line},
};

// Of more than four ranks, besides.
constexpr PayingAmounts more_sharing_cores[] = {
    {Collective::barrier, 0, any_amount},
    {Collective::alltoall, 8 * kib, 64 * kib},
};

constexpr PayingAmounts of_up_to_4[] = {
    {Collective::barrier, 0, any_amount},
    {Collective::broadcast, 0, any_amount},
    {Collective::gather, 0, 4 * kib},
    {Collective::scatter, 0, 8 * kib},
    {Collective::allgather, 0, 16 * kib},
    {Collective::allgatherv, 0, 16 * kib},
    {Collective::alltoall, 0, 8 * kib},
    {Collective::reduce, 0, 32 * kib},
    {Collective::allreduce, 0, any_amount},
    {Collective::reduce_scatter_block, 0, any_amount},
    {Collective::reduce_scatter, 0, any_amount},
    {Collective::scan, 0, 8 * kib},
    {Collective::exscan, 0, 8 * kib},
};

constexpr PayingAmounts of_up_to_7[] = {
    {Collective::barrier, 0, any_amount},
    {Collective::broadcast, 0, 256 * kib},
    {Collective::gather, 0, 4 * kib},
    {Collective::gather, 32 * kib, 32 * kib},
    {Collective::scatter, 0, 8 * kib},
    {Collective::allgather, 0, 64 * kib},
    {Collective::allgatherv, 0, 16 * kib},
    {Collective::alltoall, 0, 8 * kib},
    {Collective::reduce, 0, 64 * kib},
    {Collective::allreduce, 0, any_amount},
    {Collective::reduce_scatter_block, 0, any_amount},
    {Collective::reduce_scatter, 0, any_amount},
    {Collective::scan, 0, kib},
    {Collective::exscan, 0, kib},
};

// Of so many ranks some of those from or to one rank go in groups.
constexpr PayingAmounts of_8[] = {
    {Collective::barrier, 0, any_amount},
    {Collective::broadcast, 0, 256 * kib},
    {Collective::gather, 0, 8 * kib},
    {Collective::gather, 32 * kib, any_amount},
    {Collective::scatter, 0, 8 * kib},
    {Collective::allgather, 0, 64 * kib},
    {Collective::allgatherv, 0, 16 * kib},
    {Collective::alltoall, 0, 8 * kib},
    {Collective::reduce, 0, one_line},
    {Collective::reduce, kib, 64 * kib},
    {Collective::allreduce, 0, any_amount},
    {Collective::reduce_scatter_block, 0, any_amount},
    {Collective::reduce_scatter, 0, any_amount},
    {Collective::scan, 0, 8 * kib},
    {Collective::exscan, 0, 8 * kib},
};

constexpr PayingAmounts of_up_to_16[] = {
    {Collective::barrier, 0, any_amount},
    {Collective::broadcast, 0, 64 * kib},
    {Collective::gather, 0, 8 * kib},
    {Collective::gather, 32 * kib, any_amount},
    {Collective::scatter, 0, 8 * kib},
    {Collective::allgather, 0, 64 * kib},
    {Collective::allgatherv, 0, 8 * kib},
    {Collective::alltoall, 0, 8 * kib},
    {Collective::reduce, 0, 64 * kib},
    {Collective::allreduce, 0, any_amount},
    {Collective::reduce_scatter_block, 0, any_amount},
    {Collective::reduce_scatter, 0, any_amount},
    {Collective::scan, 0, 8 * kib},
    {Collective::exscan, 0, 8 * kib},
};

constexpr PayingAmounts of_up_to_64[] = {
    {Collective::barrier, 0, any_amount},
    {Collective::broadcast, 0, 64 * kib},
    {Collective::gather, 0, 256},
    {Collective::gather, 8 * kib, 8 * kib},
    {Collective::gather, 64 * kib, 64 * kib},
    {Collective::scatter, 0, 8 * kib},
    {Collective::allgather, 0, 256},
    {Collective::allgather, 8 * kib, 16 * kib},
    {Collective::alltoall, 0, 4 * kib},
    {Collective::reduce, 0, 64 * kib},
    {Collective::allreduce, 0, 64 * kib},
    {Collective::reduce_scatter_block, 0, 512 * kib},
    {Collective::reduce_scatter, 0, 512 * kib},
};

constexpr PayingAmounts of_more[] = {
    {Collective::barrier, 0, any_amount},      {Collective::broadcast, 0, 64 * kib},
    {Collective::scatter, 0, 8 * kib},         {Collective::allgather, 0, 64},
    {Collective::allgather, 4 * kib, 8 * kib}, {Collective::reduce, kib, 64 * kib},
    {Collective::allreduce, 0, 8 * kib},       {Collective::reduce_scatter_block, 0, 8 * kib},
    {Collective::reduce_scatter, 0, 8 * kib},
};

std::span<const PayingAmounts> amounts_of(int ranks, bool crowded) {
  if (crowded) return sharing_cores;
  if (ranks <= 2) return of_two;
  if (ranks <= 4) return of_up_to_4;
  if (ranks < 8) return of_up_to_7;
  if (ranks == 8) return of_8;
  if (ranks <= 16) return of_up_to_16;
  return ranks <= 64 ? std::span<const PayingAmounts>(of_up_to_64) : of_more;
}

bool any_has(std::span<const PayingAmounts> amounts, Collective kind, std::int64_t bytes) {
  return std::any_of(amounts.begin(), amounts.end(), [kind, bytes](const PayingAmounts& some) {
    return some.kind == kind && some.least <= bytes && bytes <= some.most;
  });
}

}  // namespace

bool pays_in_part(Collective kind, std::int64_t bytes, int ranks, bool crowded) {
  return any_has(amounts_of(ranks, crowded), kind, bytes) ||
         (crowded && ranks > 4 && any_has(more_sharing_cores, kind, bytes));
}

// The leader of a gather reads the lines of all, one gather after the other; up a tree of messages several
// are on their way at once. In the simulator a gather of 512 B to 4 x 8 takes 1.88 us (messages 1.59) if the
// next one follows, and 2.8 (3.5) alone. Where ranks share cores, a root that runs ahead of the
// others gains most by messages.
bool may_use_part_of_node(Collective kind, int most_on_node, bool crowded) {
  constexpr int most_gathered = 7;
  switch (kind) {
    case Collective::barrier:
    case Collective::allreduce:
    case Collective::allgather:
    case Collective::allgatherv:
      return true;
    case Collective::gather:
      return !crowded && most_on_node <= most_gathered;
    default:
      return !crowded;
  }
}

}  // namespace hawser
