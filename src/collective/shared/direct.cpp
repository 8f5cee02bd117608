// Operations in which the kernel copies from the memory of the other ranks: one copy in place of two, but a
// call of the kernel for each rank. What is faster depends on the machine (measured_ways.h).
//
// Each rank shows where its data are, or that they cannot be had in one piece; at the end all learn whether
// all could copy what they need. If not, they do it again in another way.
#include <algorithm>
#include <cstring>

#include "collective/place.h"
#include "collective/shared/collectives.h"

namespace hawser {

namespace {

// Of an operand, which is copied and reduced piece by piece.
constexpr std::int64_t largest_piece = 128 << 10;

std::byte* block_of(const CallSide& side, int rank) {
  return address(side.buffer) + rank * side.count * side.type->extent + side.type->true_lower_bound;
}

}  // namespace

// `data`: null if they are not in one piece, or are overwritten meanwhile.
void SharedCollectives::show(const std::byte* data) {
  const auto where = reinterpret_cast<std::uint64_t>(data);
  std::memcpy(team_.line_to_write(), &where, sizeof where);
  team_.post();
}

std::uint64_t SharedCollectives::shown_by(int rank) {
  team_.wait_for(rank);
  std::uint64_t where;
  std::memcpy(&where, team_.line_of(rank), sizeof where);
  return where;
}

// Nobody returns before all have copied.
bool SharedCollectives::all_could(bool could) {
  team_.begin_step();
  *team_.line_to_write() = std::byte{could};
  team_.post();
  team_.wait_for_all();
  for (int r = 0; r < team_.ranks(); ++r) could = could && *team_.line_of(r) != std::byte{0};
  return could;
}

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
    const std::uint64_t from = shown_by(r);
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
    const std::uint64_t from = shown_by(r);
    could =
        could && from != 0 &&
        team_.copy_from(r, block_of(call.receive, r), from + static_cast<std::uint64_t>(rank * bytes), bytes);
  }
  team_.heard_from_all();
  return all_could(could);
}

// Shows this rank's operand, and hears from all. Null where one of them cannot be copied from; else where the
// others' pieces may be put.
std::byte* SharedCollectives::show_operands(const std::byte* own) {
  team_.begin_buffer_step();
  std::byte* const scratch = team_.buffer_to_write();
  show(own);
  bool could = own != nullptr;
  for (int r = 0; r < team_.ranks(); ++r) could = (r == team_.rank() || shown_by(r) != 0) && could;
  team_.heard_from_all();
  return could ? scratch : nullptr;
}

bool SharedCollectives::reduce_scatter_directly(const CollectiveCall& call) {
  find_starts(call);
  // In place, results overwrite what others may still want to read.
  const auto* own = is_in_place(call.send) ? nullptr : static_cast<const std::byte*>(call.send.buffer);
  std::byte* const scratch = show_operands(own);
  const auto at = static_cast<std::size_t>(team_.rank());
  return all_could(scratch != nullptr && fetch_and_reduce(call, starts_[at], starts_[at + 1], own, scratch));
}

bool SharedCollectives::reduce_directly(const CollectiveCall& call) {
  const auto* own =
      static_cast<const std::byte*>(is_in_place(call.send) ? call.receive.buffer : call.send.buffer);
  std::byte* const scratch = show_operands(own);
  const std::int64_t wanted = team_.rank() == call.root ? call.receive.count : 0;
  return all_could(scratch != nullptr && fetch_and_reduce(call, 0, wanted, own, scratch));
}

// The elements from `first` to `end`: a piece of every other's operand next to the other, then their
// reduction, in the order of the ranks. The result may be where this rank's operand is.
bool SharedCollectives::fetch_and_reduce(const CollectiveCall& call, std::int64_t first, std::int64_t end,
                                         const std::byte* own, std::byte* scratch) {
  const int rank = team_.rank();
  const int last = team_.ranks() - 1;
  const std::int64_t unit = call.receive.type->extent;
  const std::int64_t piece =
      std::max<std::int64_t>(std::min(largest_piece, team_.buffer_bytes() / team_.ranks()) / unit, 1);
  const auto place_of = [&](int r) { return scratch + r * piece * unit; };
  for (std::int64_t done = first; done < end; done += piece) {
    const std::int64_t some = std::min(piece, end - done);
    for (int i = 1; i <= last; ++i) {
      const int r = (rank + i) % team_.ranks();
      const std::uint64_t from = shown_by(r) + static_cast<std::uint64_t>(done * unit);
      if (!team_.copy_from(r, place_of(r), from, some * unit)) return false;
    }
    std::byte* const result = address(call.receive.buffer) + (done - first) * unit;
    const bool aliased = own + done * unit == result;
    std::byte* const sum = aliased ? place_of(last) : result;
    const auto operand = [&](int r) { return r == rank ? own + done * unit : place_of(r); };
    if (aliased && rank == last) std::memcpy(sum, result, static_cast<std::size_t>(some * unit));
    if (!aliased) call.op->combine(operand(last - 1), operand(last), sum, some, *call.receive.type);
    for (int r = aliased ? last - 1 : last - 2; r >= 0; --r)
      call.op->reduce(operand(r), sum, some, *call.receive.type);
    if (aliased) std::memcpy(result, sum, static_cast<std::size_t>(some * unit));
  }
  return true;
}

}  // namespace hawser
