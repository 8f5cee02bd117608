// The operations that reduce. Operands are reduced from the last rank to the first, because an operation
// leaves its result in the right one; so the order of ranks is kept, and all ranks compute the same bits.
#include <algorithm>
#include <cstring>
#include <vector>

#include "collective/shared/collectives.h"
#include "collective/shared/elements.h"
#include "os/shared_memory.h"

namespace hawser {

namespace {

// Below this many bytes read by each rank, everyone reduces everything instead of a share.
constexpr std::int64_t largest_flat = 8 << 10;

// Of an operand that is copied out of another rank's memory and reduced piece by piece.
constexpr std::int64_t largest_piece = 128 << 10;

bool simple(const Datatype& type) {
  return type.true_lower_bound == 0 && type.lower_bound == 0 &&
         (type.contiguous || (type.predefined && type.extent >= type.size));
}

// The reduction of all ranks' operands to the result (null: not here), and to `shared` where others read it:
// little by little, as long as it is in the nearest cache. The result may be one of the operands.
template <class Operand>
void reduce_and_hand_out(const Elements& elements, InGroups ranks, Operand operand, std::byte* result,
                         std::byte* shared, bool others_read, std::int64_t count, CrossCoreCopy& copies) {
  constexpr std::int64_t room = 8 << 10;
  if (elements.unit > room) {
    std::vector<std::byte> of_group(ranks.more_than_one() ? count * elements.unit : 0);
    reduce_groups(elements, ranks, operand, of_group.data(), shared, count);
    if (result != nullptr) copy_bytes(shared, result, count * elements.unit);
    return;
  }
  alignas(64) std::byte part[room];
  alignas(64) std::byte of_group[room];
  for (std::int64_t done = 0; done < count; done += room / elements.unit) {
    const std::int64_t start = done * elements.unit;
    const std::int64_t some = std::min(room / elements.unit, count - done);
    const auto operand_part = [&](int r) { return operand(r) + start; };
    reduce_groups(elements, ranks, operand_part, of_group, part, some);
    if (result != nullptr) copy_bytes(part, result + start, some * elements.unit);
    if (others_read) copy_for_others(part, shared + start, some * elements.unit, copies);
  }
}

}  // namespace

// Whether everyone reduces everything.
bool SharedCollectives::is_flat(std::int64_t total) const {
  return total * team_.ranks() <= largest_flat && total <= team_.buffer_bytes();
}

bool SharedCollectives::serves_reduction(const CollectiveCall& call) const {
  const CallSide& side = call.receive;
  if (!simple(*side.type)) return false;
  const std::int64_t unit = side.type->extent;
  std::int64_t count = side.count;
  if (call.kind == Collective::reduce_scatter_block) count *= team_.ranks();
  if (call.kind == Collective::reduce_scatter) {
    count = 0;
    for (int r = 0; r < team_.ranks(); ++r) count += side.counts[r];
  }
  const std::int64_t total = count * unit;
  if (total <= SharedTeam::line_bytes) return true;
  switch (call.kind) {
    case Collective::reduce:
      return unit <= team_.buffer_bytes() && reduces_in_few_pieces(call.kind, total);
    case Collective::scan:
    case Collective::exscan:
      return total <= std::min(largest_flat, team_.buffer_bytes());
    default:
      break;
  }
  if (!reduces_in_few_pieces(call.kind, total)) return false;
  if (call.kind == Collective::allreduce && is_flat(total)) return true;
  // Each rank has room for a part of every other's.
  return unit <= team_.buffer_bytes() / team_.ranks();
}

void SharedCollectives::reduce(const CollectiveCall& call) {
  const Elements elements{*call.op, *call.receive.type, call.receive.type->extent};
  const std::int64_t total = call.receive.count * elements.unit;
  if (total == 0) return;
  const bool root = team_.rank() == call.root;
  const std::byte* own = contribution(call);
  const bool small = total <= SharedTeam::line_bytes;
  if (team_.in_groups()) return small ? reduce_in_levels(call) : reduce_data_in_levels(call);
  if (goes_by_ring(total)) return reduce_by_ring(call);
  const std::int64_t most = (small ? SharedTeam::line_bytes : team_.buffer_bytes()) / elements.unit;
  for (std::int64_t done = 0; done < call.receive.count; done += most) {
    const std::int64_t count = std::min(most, call.receive.count - done);
    const std::int64_t start = done * elements.unit;
    if (small) {
      team_.begin_step();
    } else {
      team_.begin_buffer_step();
    }
    // The root writes too where its operand and the result are one buffer.
    const bool aliased = root && own == result(call);
    std::byte* place = nullptr;
    if (!root || aliased) {
      place = small ? team_.line_to_write() : team_.buffer_to_write();
      copy_out(own + start, place, count * elements.unit);
      team_.note_copied_in(count * elements.unit);
    }
    if (!root) {
      if (!small) team_.line_to_write();
      team_.post_to(call.root);
    } else {
      for (int r = 0; r < team_.ranks(); ++r) {
        if (r != call.root) team_.wait_for(r);
      }
      const auto operand = [&](int r) -> const std::byte* {
        if (r == call.root) return aliased ? place : own + start;
        return small ? team_.line_of(r) : team_.buffer_of(r);
      };
      reduce_ranks(elements, 0, team_.ranks() - 1, operand, result(call) + start, count);
      team_.note_copied_out((team_.ranks() - 1) * count * elements.unit);
    }
    small ? team_.end_line_step() : team_.end_step();
  }
}

void SharedCollectives::allreduce(const CollectiveCall& call) {
  const Elements elements{*call.op, *call.receive.type, call.receive.type->extent};
  const std::int64_t total = call.receive.count * elements.unit;
  if (total == 0) return;
  const bool small = total <= SharedTeam::line_bytes;
  if (small && meets_in_levels()) return allreduce_in_levels(call);
  if (!small && allreduces_in_groups(total)) {
    if (allreduces_by_heads(total)) return allreduce_data_in_levels(call);
    const std::int64_t most = team_.buffer_bytes() / elements.unit;
    for (std::int64_t done = 0; done < call.receive.count; done += most)
      allreduce_shares_in_levels(call, done, std::min(most, call.receive.count - done));
    return;
  }
  small || is_flat(total) ? allreduce_flat(call) : reduce_by_shares(call);
}

void SharedCollectives::allreduce_flat(const CollectiveCall& call) {
  const Elements elements{*call.op, *call.receive.type, call.receive.type->extent};
  const std::int64_t total = call.receive.count * elements.unit;
  const int rank = team_.rank(), others = team_.ranks() - 1;
  const std::byte* const own = contribution(call);
  // Not where a rank has looked for it before, nor of more, which has not all come when the first is read.
  const bool holds = half_ == Half::both && total > SharedTeam::few_lines &&
                     total <= SharedTeam::most_ahead && !team_.crowded();
  const auto write = [&](std::byte* out) {
    copy_out(own, out, total);
    team_.note_copied_in(total);
  };
  write_then_read(total, write, [&](SharedTeam::Places places) {
    for (int r = 0; r <= others; ++r)
      if (r != rank) team_.wait_for(r);
    if (holds) read_nothing_ahead();
    team_.heard_from_all();
    // The result must be none of the operands.
    const std::byte* const operand = own == result(call) ? places[rank] : own;
    reduce_ranks(
        elements, 0, others, [&](int r) { return r == rank ? operand : places[r]; }, result(call),
        call.receive.count);
    team_.note_copied_out(others * total);
  });
}

void SharedCollectives::reduce_by_shares(const CollectiveCall& call) {
  const std::int64_t most = team_.buffer_bytes() / call.receive.type->extent;
  for (std::int64_t done = 0; done < call.receive.count; done += most)
    reduce_shares(call, done, std::min(most, call.receive.count - done));
}

// Each rank reduces its share of `count` elements, and leaves it in its buffer for those that want the
// result: the root, or all.
void SharedCollectives::reduce_shares(const CollectiveCall& call, std::int64_t done, std::int64_t count) {
  const Elements elements{*call.op, *call.receive.type, call.receive.type->extent};
  const int rank = team_.rank();
  const int ranks = team_.ranks();
  const bool to_one = call.kind == Collective::reduce;
  const bool wants = !to_one || rank == call.root;
  const std::byte* own = contribution(call);
  // Shares of whole cache lines, as far as elements allow.
  const std::int64_t per_line = std::max<std::int64_t>(1, 64 / elements.unit);
  const std::int64_t share = ((count + ranks - 1) / ranks + per_line - 1) / per_line * per_line;
  const auto first = [share, count](int r) { return std::min(count, r * share); };
  const std::int64_t own_first = first(rank);
  const std::int64_t own_count = first(rank + 1) - own_first;
  const std::int64_t start = done * elements.unit;
  const std::int64_t own_start = own_first * elements.unit;
  const std::int64_t own_end = (own_first + own_count) * elements.unit;

  team_.begin_buffer_step();
  std::byte* buffer = team_.buffer_to_write();
  copy_out(own + start, buffer, own_start);
  copy_out(own + start + own_end, buffer + own_end, count * elements.unit - own_end);
  team_.note_copied_in(count * elements.unit - (own_end - own_start));
  exchange();
  if (own_count > 0) {
    const auto operand = [&](int r) -> const std::byte* {
      return r == rank ? own + start + own_start : team_.buffer_of(r) + own_start;
    };
    std::byte* const here = wants ? result(call) + start + own_start : nullptr;
    // To one rank a reduction goes in groups, too, and both must have the same bits.
    const InGroups in_groups{ranks, to_one ? team_.group() : ranks,
                             to_one && adds_roots_operand_last(call) ? call.root : -1};
    reduce_and_hand_out(elements, in_groups, operand, here, buffer + own_start, !to_one || !wants, own_count,
                        copies_);
    team_.note_copied_out((ranks - 1) * (own_end - own_start));
    team_.note_copied_in(!to_one || !wants ? own_end - own_start : 0);
  }
  team_.begin_step();
  team_.keep_buffers();
  team_.line_to_write();
  team_.post();
  for (int i = 1; wants && i < ranks; ++i) {
    const int r = (rank + i) % ranks;
    const std::int64_t from = first(r) * elements.unit;
    team_.wait_for(r);
    const std::int64_t bytes = first(r + 1) * elements.unit - from;
    copy_bytes(team_.buffer_of(r) + from, result(call) + start + from, bytes);
    team_.note_copied_out(bytes);
  }
  if (wants) team_.heard_from_all();
  team_.end_step();
}

// Where each rank's part starts. Answers how many elements the largest has.
std::int64_t SharedCollectives::find_starts(const CollectiveCall& call) {
  starts_.assign(1, 0);
  std::int64_t largest = 0;
  for (std::size_t r = 0; r < static_cast<std::size_t>(team_.ranks()); ++r) {
    const std::int64_t count = call.receive.counts ? call.receive.counts[r] : call.receive.count;
    starts_.push_back(starts_.back() + count);
    largest = std::max(largest, count);
  }
  return largest;
}

// The parts that are reduced for the ranks may differ in size; who gets nothing waits for nobody.
void SharedCollectives::reduce_scatter(const CollectiveCall& call) {
  const Elements elements{*call.op, *call.receive.type, call.receive.type->extent};
  const std::int64_t largest = find_starts(call);
  const std::int64_t total = starts_.back() * elements.unit;
  if (total == 0) return;
  if (team_.fits_line(total) && !all_in_groups()) return reduce_lines(call);
  const std::int64_t room = team_.buffer_bytes() / team_.ranks() / elements.unit;
  reduce_parts(call, std::min(largest, room), largest);
}

// All operands fit lines.
void SharedCollectives::reduce_lines(const CollectiveCall& call) {
  const Elements elements{*call.op, *call.receive.type, call.receive.type->extent};
  const auto rank = static_cast<std::size_t>(team_.rank());
  const std::int64_t own_start = starts_[rank] * elements.unit;
  const std::int64_t own_count = starts_[rank + 1] - starts_[rank];
  const std::int64_t total = starts_.back() * elements.unit;
  const auto write = [&](std::byte* out) {
    copy_bytes(contribution(call), out, total);
    team_.note_copied_in(total);
  };
  write_then_read(total, write, [&](SharedTeam::Places places) {
    if (own_count > 0) {
      team_.wait_for_all();
      reduce_ranks(
          elements, 0, team_.ranks() - 1, [&](int r) { return places[r] + own_start; }, result(call),
          own_count);
      team_.note_copied_out((team_.ranks() - 1) * own_count * elements.unit);
    }
    team_.end_line_step();
  });
}

// Like alltoall: a rank's buffer holds a part of its operand for every other rank, `room` elements at a time.
void SharedCollectives::reduce_parts(const CollectiveCall& call, std::int64_t room, std::int64_t largest) {
  const Elements elements{*call.op, *call.receive.type, call.receive.type->extent};
  const int rank = team_.rank();
  const int ranks = team_.ranks();
  const std::byte* own = contribution(call);
  std::vector<std::byte> kept;
  if (call.send.buffer == in_place && largest > room) {
    // Results would overwrite operands that are still to be handed out.
    kept.assign(own, own + starts_.back() * elements.unit);
    own = kept.data();
  }
  const std::int64_t room_bytes = room * elements.unit;
  for (std::int64_t done = 0; done < largest; done += room) {
    if (all_in_groups()) {
      reduce_parts_in_levels(call, own, done, room);
      continue;
    }
    const auto part = [&](int r) { return part_of(r, done, room); };
    const auto write = [&](std::byte* out) {
      for (int r = 0; r < ranks; ++r) {
        const std::int64_t from = starts_[static_cast<std::size_t>(r)] + done;
        if (part(r) > 0) copy_out(own + from * elements.unit, out + r * room_bytes, part(r) * elements.unit);
        team_.note_copied_in(part(r) * elements.unit);
      }
    };
    const auto read = [&](SharedTeam::Places places) {
      if (part(rank) == 0) return;
      team_.wait_for_all();
      reduce_ranks(
          elements, 0, ranks - 1, [&](int r) { return places[r] + rank * room_bytes; },
          result(call) + done * elements.unit, part(rank));
      team_.note_copied_out((ranks - 1) * part(rank) * elements.unit);
    };
    if (!write_then_read(starts_.back() * elements.unit, write, read)) return;
  }
}

void SharedCollectives::scan(const CollectiveCall& call) {
  const Elements elements{*call.op, *call.receive.type, call.receive.type->extent};
  const std::int64_t total = call.receive.count * elements.unit;
  const int rank = team_.rank();
  if (total == 0) return;
  const bool small = total <= SharedTeam::line_bytes;
  if (small) {
    team_.begin_step();
  } else {
    team_.begin_buffer_step();
  }
  std::byte* place = small ? team_.line_to_write() : team_.buffer_to_write();
  copy_bytes(contribution(call), place, total);
  team_.note_copied_in(total);
  if (!small) team_.line_to_write();
  team_.post();
  const int last = call.kind == Collective::exscan ? rank - 1 : rank;
  for (int r = 0; r < rank; ++r) team_.wait_for(r);
  const auto operand = [&](int r) -> const std::byte* {
    return small ? team_.line_of(r) : team_.buffer_of(r);
  };
  if (last >= 0) reduce_ranks(elements, 0, last, operand, result(call), call.receive.count);
  team_.note_copied_out(rank * total);
  small ? team_.end_line_step() : team_.end_step();
}

// --- Straight from the other ranks' memory, see direct.cpp

// Shows this rank's operand, and hears from all. Null where one of them cannot be copied from; else where the
// others' pieces may be put.
std::byte* SharedCollectives::show_operands(const std::byte* own) {
  team_.begin_buffer_step();
  std::byte* const scratch = team_.buffer_to_write();
  show(own);
  bool could = own != nullptr;
  for (int r = 0; r < team_.ranks(); ++r) could = (r == team_.rank() || told_by(r) != 0) && could;
  team_.heard_from_all();
  return could ? scratch : nullptr;
}

bool SharedCollectives::reduce_scatter_directly(const CollectiveCall& call) {
  find_starts(call);
  // In place, results overwrite what others may still want to read.
  const auto* own = call.send.buffer == in_place ? nullptr : static_cast<const std::byte*>(call.send.buffer);
  std::byte* const scratch = show_operands(own);
  const auto at = static_cast<std::size_t>(team_.rank());
  return all_could(scratch != nullptr && fetch_and_reduce(call, starts_[at], starts_[at + 1], own, scratch));
}

bool SharedCollectives::reduce_directly(const CollectiveCall& call) {
  // Each rank's piece has at least one element.
  const bool room = call.receive.type->extent <= team_.buffer_bytes() / team_.ranks();
  const std::byte* own = room ? contribution(call) : nullptr;
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
  const Elements elements{*call.op, *call.receive.type, call.receive.type->extent};
  const std::int64_t unit = elements.unit;
  // As in reduce_parts(), so that both have the same bits.
  const InGroups in_groups{team_.ranks(), all_in_groups() ? team_.group() : team_.ranks()};
  const std::int64_t piece =
      std::max<std::int64_t>(std::min(largest_piece, team_.buffer_bytes() / team_.ranks()) / unit, 1);
  std::vector<std::byte> of_group(in_groups.more_than_one() ? piece * unit : 0);
  const auto place_of = [&](int r) { return scratch + r * piece * unit; };
  for (std::int64_t done = first; done < end; done += piece) {
    const std::int64_t some = std::min(piece, end - done);
    for (int i = 1; i <= last; ++i) {
      const int r = (rank + i) % team_.ranks();
      const std::uint64_t from = told_by(r) + static_cast<std::uint64_t>(done * unit);
      if (!team_.copy_from(r, place_of(r), from, some * unit)) return false;
    }
    const std::byte* const here = own + done * unit;
    std::byte* const to = result(call) + (done - first) * unit;
    // The sum must be none of the operands; nothing is fetched into this rank's own place.
    std::byte* const sum = here == to ? place_of(rank) : to;
    reduce_groups(
        elements, in_groups, [&](int r) { return r == rank ? here : place_of(r); }, of_group.data(), sum,
        some);
    copy_bytes(sum, to, some * unit);
  }
  return true;
}

}  // namespace hawser
