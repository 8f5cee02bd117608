// Gathers and reductions of few bytes to one rank, through rings (SharedTeam): who only sends may be many
// operations ahead of the root. With two buffers it would wait for the root after two.
#include <algorithm>
#include <cstring>
#include <utility>

#include "collective/shared/elements.h"
#include "collective/shared/views.h"

namespace hawser {

// Whether what goes from one rank to another does so in the writer's ring, whose place its line says.
bool SharedCollectives::goes_by_ring(std::int64_t bytes) const {
  constexpr std::int64_t most = 16 << 10;  // then there are other ways
  return !steps_alike_ && bytes > SharedTeam::line_bytes &&
         bytes <= std::min(most, team_.most_in_small_ring());
}

// A place for so many bytes in this rank's ring. The root takes one, too, so that the places of all are
// alike.
SharedTeam::RingPlace SharedCollectives::ring_place(std::int64_t bytes, int root) {
  return team_.small_ring_to_write(bytes, team_.rank() == root ? 0 : SharedTeam::set_of(root));
}

// When the place has been written; before that, the root, which waits for the line, would take it back.
void SharedCollectives::post_place(const SharedTeam::RingPlace& place, std::int64_t bytes, int root) {
  std::memcpy(team_.line_to_write(SharedTeam::set_of(root)), &place.offset, sizeof place.offset);
  team_.note_copied_in(bytes);
  team_.tell_amount(bytes);
  team_.post_to(root);
  team_.fetch_next_in_small_ring(bytes);
}

// By the root, which expects the same place as its own. So the processor reads little data there before it
// has the line that says so; more would be taken from the writer while the root still waits. The empty
// statements keep compilers from taking what the line says in any case. Ranks that gave different amounts
// may have other places from then on, or have written no place now.
const std::byte* SharedCollectives::in_ring_of(int rank, const SharedTeam::RingPlace& own,
                                               std::int64_t bytes) const {
  std::int64_t offset;
  std::memcpy(&offset, team_.line_of(rank), sizeof offset);
  if (bytes > SharedTeam::few_lines || offset != own.offset) {
    asm volatile("");
    return team_.small_ring_of(rank, team_.is_in_small_ring(offset, bytes) ? offset : own.offset);
  }
  std::int64_t expected = own.offset;
  asm volatile("" : "+r"(expected));
  return team_.small_ring_of(rank, expected);
}

// Blocks that fit a ring's place, so that who only writes may be many operations ahead of the root.
void SharedCollectives::gather_by_ring(ByteView own, std::int64_t largest,
                                       FunctionRef<ByteView(int)> place_of, int root) {
  team_.begin_small_ring_step();
  const SharedTeam::RingPlace place = ring_place(largest, root);
  if (team_.rank() != root) {
    own.read(0, place.memory, own.size(), copies_);
    post_place(place, own.size(), root);
  }
  for (int i = 1; team_.rank() == root && i < team_.ranks(); ++i) {
    const int r = (root + i) % team_.ranks();
    take_block(r, place_of(r), 0, largest, [&] { return in_ring_of(r, place, largest); });
  }
  team_.end_step();
}

// Operands that fit a ring's place.
void SharedCollectives::reduce_by_ring(const CollectiveCall& call) {
  const Elements elements{*call.op, *call.receive.type, call.receive.type->extent};
  const std::int64_t total = call.receive.count * elements.unit;
  const int rank = team_.rank();
  const std::byte* own = contribution(call);
  team_.begin_small_ring_step();
  const SharedTeam::RingPlace place = ring_place(total, call.root);
  if (rank != call.root) {
    copy_out(own, place.memory, total);
    post_place(place, total, call.root);
  } else {
    if (own == result(call)) {  // the result must be none of the operands
      copy_bytes(own, place.memory, total);
      team_.note_copied_in(total);
      own = place.memory;
    }
    for (int r = 0; r < team_.ranks(); ++r)
      if (r != rank) team_.wait_for(r);
    const auto operand = [&](int r) { return r == rank ? own : in_ring_of(r, place, total); };
    reduce_ranks(elements, 0, team_.ranks() - 1, operand, result(call), call.receive.count);
    team_.note_copied_out((team_.ranks() - 1) * total);
  }
  team_.end_step();
}

}  // namespace hawser
