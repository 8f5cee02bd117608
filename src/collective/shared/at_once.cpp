// Which operations of a non-blocking form go to their end when they begin, because nobody has to be waited
// for: the rank only sends, or what it needs has been written. They are of one step, or of more where the
// rank only writes in the first. Their requests are complete, and they need no stack on which they could
// wait.
//
// Where all hear from all, a rank that looked first whether the others have written would take their lines
// from them, and would write its own later. So it writes first, and then looks (write_and_look). What is left
// when all others have written, too, needs no stack either.
#include "collective/shared/elements.h"
#include "collective/shared/views.h"
#include "os/shared_memory.h"

namespace hawser {

// As much as one step moves.
bool SharedCollectives::may_write(std::int64_t bytes) {
  if (bytes <= SharedTeam::line_bytes) return team_.may_write_line();
  return bytes <= team_.buffer_bytes() && team_.may_write_buffer();
}

// All know how much.
bool SharedCollectives::may_write_for_all(std::int64_t bytes) {
  return team_.fits_line(bytes) ? team_.may_write_line() : may_write(bytes);
}

bool SharedCollectives::may_write_to_one(std::int64_t bytes) {
  return goes_by_ring(bytes) ? team_.may_write_small_ring(bytes) : may_write(bytes);
}

// The root's amount says which steps there are.
bool SharedCollectives::is_in_one_piece(int root, std::int64_t blocks) const {
  const std::int64_t amount = team_.next_amount_of(root);
  return amount >= 0 && amount * blocks <= team_.piece_bytes();
}

bool SharedCollectives::gathers_at_once(const CollectiveCall& call, std::int64_t block) {
  const int rank = team_.rank(), root = call.root;
  if (gathers_in_levels(block)) {
    const bool only_writes = rank != root && rank != team_.head_of(team_.leader_of(rank), root);
    return only_writes && block <= gathered_at_once_in_levels(block) && may_write(block);
  }
  return rank != root && block <= gathered_at_once(block) && may_write_to_one(block);
}

bool SharedCollectives::moves_at_once(const CollectiveCall& call) {
  const bool at_root = team_.rank() == call.root;
  const int ranks = team_.ranks();
  const auto bytes_of = [](const CallSide& side) { return side.count * side.type->size; };
  switch (call.kind) {
    case Collective::broadcast: {
      const std::int64_t bytes = bytes_of(call.receive);
      if (bytes == 0) return true;
      if (all_in_groups() || !at_root) return false;
      return bytes <= SharedTeam::line_bytes ? team_.may_write_line()
                                             : bytes <= team_.piece_bytes() && team_.may_write_piece();
    }
    case Collective::scatter: {
      const std::int64_t block = bytes_of(at_root ? call.send : call.receive);
      if (block == 0) return true;
      return at_root && block * (ranks - 1) <= team_.piece_bytes() && team_.may_write_piece();
    }
    case Collective::gather: {
      const std::int64_t block = bytes_of(at_root ? call.receive : call.send);
      return block == 0 || gathers_at_once(call, block);
    }
    case Collective::allgather:
    case Collective::alltoall:
      return bytes_of(call.receive) == 0;
    default:
      return false;
  }
}

bool SharedCollectives::reduces_at_once(const CollectiveCall& call) {
  const std::int64_t total = call.receive.count * call.receive.type->extent;
  const int rank = team_.rank();
  if (total == 0) return true;
  switch (call.kind) {
    case Collective::reduce:
      if (team_.in_groups()) {
        const bool only_writes = rank != call.root && rank != head_of(call, team_.leader_of(rank));
        return only_writes && !reduces_by_columns(call) && total <= reduced_at_once_in_levels() &&
               may_write(total);
      }
      return rank != call.root && may_write_to_one(total);
    case Collective::scan:
    case Collective::exscan:
      return team_.have_posted_next(team_.rank()) && may_write(total);
    default:
      return false;
  }
}

void SharedCollectives::fetch_expected(const CollectiveCall& call) {
  if (looked_in_vain_) return;
  const bool at_root = team_.rank() == call.root;
  const int others = team_.ranks() - 1;
  const auto bytes_of = [](const CallSide& side) { return side.count * side.type->size; };
  switch (call.kind) {
    case Collective::broadcast: {
      const std::int64_t bytes = bytes_of(call.receive);
      if (bytes > SharedTeam::line_bytes && bytes <= SharedTeam::most_ahead && !at_root && !all_in_groups())
        team_.fetch_from_next_piece(0, bytes);
      return;
    }
    case Collective::scatter: {
      if (at_root || all_in_groups()) return;
      const std::int64_t block = bytes_of(call.receive);
      if (block * others <= SharedTeam::few_lines)
        team_.fetch_from_next_piece((team_.rank() < call.root ? team_.rank() : team_.rank() - 1) * block,
                                    block);
      return;
    }
    case Collective::gather:
    case Collective::reduce: {
      if (!at_root || team_.in_groups()) return;
      const std::int64_t bytes = bytes_of(call.receive);
      if (bytes * others > SharedTeam::few_lines || !goes_by_ring(bytes)) return;
      for (int r = 0; r <= others; ++r)
        if (r != call.root) team_.fetch_next_of(r, bytes);
      return;
    }
    default:
      return;
  }
}

bool SharedCollectives::ends_at_once(const CollectiveCall& call) {
  const bool ends = call.op != nullptr ? reduces_at_once(call) : moves_at_once(call);
  return ends && come(true);
}

// A root does not wait for all where it would better take much data of one rank while others still come.
SharedCollectives::Awaited SharedCollectives::awaited_first(const CollectiveCall& call) const {
  constexpr std::int64_t few = 16 << 10;
  const bool at_root = team_.rank() == call.root;
  switch (call.kind) {
    case Collective::broadcast:
    case Collective::scatter: {
      const bool waits = !at_root && (call.kind == Collective::scatter || !all_in_groups());
      return waits && call.receive.count * call.receive.type->size != 0 ? Awaited::root : Awaited::nobody;
    }
    case Collective::gather: {
      const std::int64_t block = at_root ? call.receive.count * call.receive.type->size : 0;
      const bool at_once = block * (team_.ranks() - 1) <= few && block <= gathered_at_once(block);
      return block != 0 && at_once && !gathers_in_levels(block) ? Awaited::all : Awaited::nobody;
    }
    case Collective::reduce: {
      const std::int64_t total = at_root ? call.receive.count * call.receive.type->extent : 0;
      const bool only_reads = total <= team_.buffer_bytes() && contribution(call) != result(call);
      return total != 0 && only_reads && !team_.in_groups() ? Awaited::all : Awaited::nobody;
    }
    default:
      return Awaited::nobody;
  }
}

bool SharedCollectives::has_come(Awaited awaited, const CollectiveCall& call) {
  return come(awaited == Awaited::root ? team_.has_posted_next(call.root)
                                       : team_.have_posted_next(team_.ranks()));
}

bool SharedCollectives::ends_as_come(Awaited awaited, const CollectiveCall& call) const {
  return awaited == Awaited::all ||
         is_in_one_piece(call.root, call.kind == Collective::scatter ? team_.ranks() - 1 : 1);
}

// What this rank writes of an operation in which all hear from all in one step; -1: it is of another kind.
std::int64_t SharedCollectives::bytes_for_all(const CollectiveCall& call) const {
  const std::int64_t elements =
      call.kind == Collective::barrier || call.receive.counts ? 0 : call.receive.count;
  const int ranks = team_.ranks();
  switch (call.kind) {
    case Collective::barrier:
      return team_.crowded() || meets_in_levels() ? -1 : 0;
    case Collective::allgather: {
      const std::int64_t block = elements * call.receive.type->size;
      return block != 0 && !allgathers_in_levels(block) && block <= gathered_at_once(block) ? block : -1;
    }
    case Collective::alltoall: {
      const std::int64_t block = elements * call.receive.type->size;
      return block != 0 && block <= exchanged_at_once(block) ? block * (ranks - 1) : -1;
    }
    case Collective::allreduce: {
      const std::int64_t total = elements * call.receive.type->extent;
      const bool flat = !meets_in_levels() && (total <= SharedTeam::line_bytes || is_flat(total));
      return total != 0 && flat ? total : -1;
    }
    case Collective::reduce_scatter_block: {
      const std::int64_t part = elements * call.receive.type->extent;
      const bool one_step = team_.fits_line(part * ranks) || part <= team_.buffer_bytes() / ranks;
      return part != 0 && !all_in_groups() && one_step ? part * ranks : -1;
    }
    default:
      return -1;
  }
}

// Where time is virtual, a line that was looked at in vain is read once more.
bool SharedCollectives::come(bool has_come) {
  if (!has_come) {
    looked_in_vain_ = true;
  } else if (std::exchange(looked_in_vain_, false) && time_ != nullptr) [[unlikely]] {
    time_->read_line(false);
  }
  return has_come;
}

bool SharedCollectives::writes_at_once(const CollectiveCall& call, int looks) {
  const std::int64_t bytes = bytes_for_all(call);
  if (bytes < 0 || !may_write_for_all(bytes)) return false;
  write_and_look(call, looks);
  return true;
}

inline void SharedCollectives::write_and_look(const CollectiveCall& call, int looks) {
  half_ = Half::writing;
  looks_ = looks;
  run_in_area(call);
  if (team_.crowded() && has_ended()) note_what_follows_barriers(call.kind);
}

bool SharedCollectives::writes_ahead(const CollectiveCall& call, std::uint32_t written) {
  const std::int64_t bytes = bytes_for_all(call);
  if (bytes < 0 || !team_.fits_line(bytes) || !team_.may_go_ahead(written)) return false;
  team_.go_ahead(written);
  write_and_look(call, 0);
  team_.come_back();
  return true;
}

// What others write may be on its way together with the line that says so; else it would come after. Not
// before the first look, nor much: who has written and finds both there loses by that where ranks have a
// common L3, and more takes lines from those who still write.
bool SharedCollectives::go_on_to_read(std::int64_t bytes) {
  const bool fetches = bytes > SharedTeam::line_bytes && bytes <= SharedTeam::few_lines && !team_.crowded();
  const bool all_have = look_with_pauses(looks_, [this, bytes, fetches] {
    if (have_all_written()) return true;
    if (fetches) team_.fetch_written(bytes);
    return false;
  });
  half_ = all_have ? Half::both : Half::reading;
  return all_have;
}

}  // namespace hawser
