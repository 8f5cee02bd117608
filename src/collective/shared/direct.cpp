// Operations in which the kernel copies from the memory of the other ranks: one copy in place of two, but a
// call of the kernel for each rank. What is faster depends on the machine (measured_ways.h).
//
// Each rank shows where its data are, or that they cannot be had in one piece; at the end all learn whether
// all could copy what they need. If not, they do it again in another way.
#include <cstring>

#include "collective/place.h"
#include "collective/shared/collectives.h"

namespace hawser {

namespace {

std::byte* block_of(const CallSide& side, int rank) {
  return address(side.buffer) + rank * side.count * side.type->extent + side.type->true_lower_bound;
}

}  // namespace

// `data`: null if they are not in one piece, or are overwritten meanwhile.
void SharedCollectives::show(const std::byte* data) { tell(reinterpret_cast<std::uint64_t>(data)); }

// Nobody returns before all have copied.
bool SharedCollectives::all_could(bool could) { return most_of(could ? 0 : 1) == 0; }

bool SharedCollectives::run_directly(const CollectiveCall& call) {
  switch (call.kind) {
    case Collective::allgather:
    case Collective::allgatherv:
      return allgather_directly(call);
    case Collective::alltoall:
      return alltoall_directly(call);
    case Collective::reduce:
      return reduce_directly(call);
    case Collective::reduce_scatter_block:
    case Collective::reduce_scatter:
      return reduce_scatter_directly(call);
    default:
      return false;
  }
}

// Out of what others send, not out of where they also put it for themselves: that was just written, and is
// in their caches alone. (2 ranks, 64 KiB: 7.5 us, and 14.6.)
bool SharedCollectives::allgather_directly(const CollectiveCall& call) {
  const int rank = team_.rank();
  const Place own = is_in_place(call.send) ? block(call.receive, rank) : whole(call.send);
  bool could = call.receive.type->contiguous;
  team_.begin_step();
  show(own.plain() ? own.first_byte() : nullptr);
  if (!is_in_place(call.send)) copy(own, block(call.receive, rank));
  for (int i = 1; i < team_.ranks(); ++i) {
    const int r = (rank + i) % team_.ranks();
    const Place theirs = block(call.receive, r);
    const std::uint64_t from = told_by(r);
    could = could && (theirs.bytes() == 0 ||
                      (from != 0 && team_.copy_from(r, theirs.first_byte(), from, theirs.bytes())));
  }
  team_.heard_from_all();
  return all_could(could);
}

bool SharedCollectives::alltoall_directly(const CollectiveCall& call) {
  const std::int64_t bytes = call.receive.count * call.receive.type->size;
  if (bytes == 0) return true;
  const int rank = team_.rank();
  const bool readable = !is_in_place(call.send) && call.send.type->contiguous;
  bool could = call.receive.type->contiguous;
  team_.begin_step();
  show(readable ? block_of(call.send, 0) : nullptr);
  if (readable && could)
    std::memmove(block_of(call.receive, rank), block_of(call.send, rank), static_cast<std::size_t>(bytes));
  for (int i = 1; i < team_.ranks(); ++i) {
    const int r = (rank + i) % team_.ranks();
    const std::uint64_t from = told_by(r);
    could =
        could && from != 0 &&
        team_.copy_from(r, block_of(call.receive, r), from + static_cast<std::uint64_t>(rank * bytes), bytes);
  }
  team_.heard_from_all();
  return all_could(could);
}

}  // namespace hawser
