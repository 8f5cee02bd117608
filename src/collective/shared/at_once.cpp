// Which operations of a non-blocking form go to their end when they begin, because nobody has to be waited
// for: the rank only sends, or what it needs has been written. They are of one step and up to 16 ranks. Their
// requests are complete, and they need no stack on which they could wait.
//
// Where all hear from all, a rank that looked first whether the others have written would take their lines
// from them, and would write its own later. So these are asked only where ranks share cores: there most
// others have been here before, or do not run.
#include "collective/shared/elements.h"
#include "collective/shared/views.h"

namespace hawser {

// As much as one step moves.
bool SharedCollectives::may_write(std::int64_t bytes) {
  if (bytes <= SharedTeam::line_bytes) return team_.may_write_line();
  return bytes <= team_.buffer_bytes() && team_.may_write_buffer();
}

bool SharedCollectives::all_have_come() const {
  return team_.crowded() && team_.have_posted_next(team_.ranks());
}

// The root's amount says which steps there are.
bool SharedCollectives::has_come_from(int root, std::int64_t blocks) const {
  if (!team_.has_posted_next(root)) return false;
  const std::int64_t amount = team_.next_amount_of(root);
  return amount >= 0 && amount * blocks <= team_.piece_bytes();
}

bool SharedCollectives::moves_at_once(const CollectiveCall& call) {
  const bool at_root = team_.rank() == call.root;
  const int ranks = team_.ranks();
  const auto bytes_of = [](const CallSide& side) { return side.count * side.type->size; };
  switch (call.kind) {
    case Collective::broadcast: {
      const std::int64_t bytes = bytes_of(call.receive);
      if (bytes == 0) return true;
      if (!at_root) return has_come_from(call.root, 1);
      return bytes <= SharedTeam::line_bytes ? team_.may_write_line()
                                             : bytes <= team_.piece_bytes() && team_.may_write_piece();
    }
    case Collective::scatter: {
      const std::int64_t block = bytes_of(at_root ? call.send : call.receive);
      if (block == 0) return true;
      if (!at_root) return has_come_from(call.root, ranks - 1);
      return block * (ranks - 1) <= team_.piece_bytes() && team_.may_write_piece();
    }
    case Collective::gather: {
      const std::int64_t block = bytes_of(at_root ? call.receive : call.send);
      if (block == 0) return true;
      return at_root ? block <= team_.buffer_bytes() && team_.have_posted_next(ranks) : may_write(block);
    }
    case Collective::allgather: {
      const std::int64_t block = bytes_of(call.receive);
      return block == 0 || (all_have_come() && may_write(block));
    }
    case Collective::alltoall: {
      const std::int64_t block = bytes_of(call.receive);
      if (block == 0) return true;
      const bool one_step = block * (ranks - 1) <= SharedTeam::line_bytes || block <= alltoall_room();
      return one_step && all_have_come() && may_write(block * (ranks - 1));
    }
    default:
      return false;
  }
}

bool SharedCollectives::reduces_at_once(const CollectiveCall& call) {
  const std::int64_t total = call.receive.count * call.receive.type->extent;
  const int ranks = team_.ranks();
  if (total == 0) return true;
  switch (call.kind) {
    case Collective::reduce:
      if (team_.rank() != call.root) return may_write(total);
      // In place, the root writes, too.
      return total <= team_.buffer_bytes() && contribution(call) != result(call) &&
             team_.have_posted_next(ranks);
    case Collective::allreduce:
      return (total <= SharedTeam::line_bytes || is_flat(total)) && all_have_come() && may_write(total);
    case Collective::scan:
    case Collective::exscan:
      return team_.have_posted_next(team_.rank()) && may_write(total);
    default:
      return false;
  }
}

bool SharedCollectives::ends_at_once(const CollectiveCall& call) {
  if (team_.in_levels()) return false;
  return call.op != nullptr ? reduces_at_once(call) : moves_at_once(call);
}

}  // namespace hawser
