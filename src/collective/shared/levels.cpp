// Small operations in levels (SharedTeam): a rank reads the lines of its group or of its leader, and leaders
// read each other's.
#include <algorithm>
#include <cstring>

#include "collective/shared/collectives.h"
#include "collective/shared/elements.h"

namespace hawser {

void SharedCollectives::arrive_in_levels() {
  const int rank = team_.rank();
  team_.begin_step();
  if (team_.leads()) {
    for (int r = rank + 1; r < team_.group_end(); ++r) team_.wait_for(r);
  } else {
    team_.line_to_write();
    team_.post_to(team_.leader_of(rank));
  }
  team_.end_line_step();
  team_.begin_step();
  if (rank == 0) {
    for (int r = team_.group(); r < team_.ranks(); r += team_.group()) team_.wait_for(r);
    team_.heard_of_all();
  } else if (team_.leads()) {
    team_.line_to_write();
    team_.post_to(0);
  }
}

// After arrive_in_levels().
void SharedCollectives::release_in_levels() {
  const int rank = team_.rank();
  team_.begin_step();
  if (rank == 0) {
    team_.line_to_write();
    team_.post_to(0, team_.ranks(), team_.group());
  } else if (team_.leads()) {
    team_.wait_for(0);
    team_.heard_of_all(2);
  }
  team_.begin_step();
  if (team_.leads()) {
    team_.line_to_write();
    team_.post_to(rank, team_.group_end());
  } else {
    team_.wait_for(team_.leader_of(rank));
    team_.heard_of_all(3);
  }
}

// The first step of a reduction: heads get their group's operands, from their own to the last, and reduce
// them. Who has to do something else before is waited for last.
void SharedCollectives::reduce_group(const CollectiveCall& call, int head, int late, std::byte* partial) {
  const int rank = team_.rank();
  const Elements elements{*call.op, *call.receive.type, call.receive.type->extent};
  const std::int64_t total = call.receive.count * elements.unit;
  const std::byte* const own = contribution(call);
  team_.begin_step();
  if (rank > head) {
    copy_bytes(own, team_.line_to_write(), total);
    team_.note_copied_in(total);
    team_.post_to(head);
  }
  if (rank != head) return;
  const int last = team_.group_end() - 1;
  await_group(late);
  const auto operand = [&](int r) { return r == rank ? own : team_.line_of(r); };
  reduce_ranks(elements, rank, last, operand, partial, call.receive.count);
  team_.note_copied_out((last - rank) * total);
}

// By a head, for the ranks behind it.
void SharedCollectives::await_group(int late) {
  const int end = team_.group_end();
  for (int r = team_.rank() + 1; r < end; ++r)
    if (r != late) team_.wait_for(r);
  if (team_.rank() < late && late < end) team_.wait_for(late);
}

// Who has the sum of a group. Of few ranks and little data, a root that leads a group is its head: it reads
// no more lines than other heads, and hears from its group earlier.
int SharedCollectives::head_of(const CollectiveCall& call, int leader) const {
  constexpr int few = 11;
  constexpr std::int64_t little = 1 << 10;
  if (call.kind != Collective::reduce) return leader;
  const bool own_head = team_.ranks() <= few && call.receive.count * call.receive.type->extent < little;
  return own_head ? leader : team_.head_of(leader, call.root);
}

void SharedCollectives::reduce_in_levels(const CollectiveCall& call) {
  const int rank = team_.rank(), root = call.root;
  const Elements elements{*call.op, *call.receive.type, call.receive.type->extent};
  const std::int64_t total = call.receive.count * elements.unit;
  const int head = head_of(call, team_.leader_of(rank));
  alignas(64) std::byte partial[SharedTeam::line_bytes];
  reduce_group(call, head, root, partial);
  team_.end_line_step();
  team_.begin_step();
  if (rank == root) {
    await_heads(call);
    const std::byte* const own = rank == head ? partial : contribution(call);
    const auto operand = [&](int r) -> const std::byte* { return r == rank ? own : team_.line_of(r); };
    reduce_heads(call, operand, call.receive.count, partial, result(call));
  } else if (rank == head) {
    copy_bytes(partial, team_.line_to_write(), total);
    team_.post_to(root);
  }
  team_.end_line_step();
}

void SharedCollectives::allreduce_in_levels(const CollectiveCall& call) {
  const int rank = team_.rank(), group = team_.group(), last = (team_.ranks() - 1) / group;
  const Elements elements{*call.op, *call.receive.type, call.receive.type->extent};
  const std::int64_t total = call.receive.count * elements.unit;
  alignas(64) std::byte partial[SharedTeam::line_bytes];
  reduce_group(call, team_.leader_of(rank), -1, partial);
  team_.begin_step();
  if (team_.leads()) {
    copy_bytes(partial, team_.line_to_write(), total);
    team_.post_to(0, team_.ranks(), group);
    for (int i = 1; i <= last; ++i) team_.wait_for((rank + i * group) % ((last + 1) * group));
    team_.heard_of_all();
    const auto operand = [&](int i) { return team_.line_of(i * group); };
    reduce_ranks(elements, 0, last, operand, result(call), call.receive.count);
    team_.note_copied_out(last * total);
  }
  team_.begin_step();
  if (team_.leads()) {
    copy_bytes(result(call), team_.line_to_write(), total);
    team_.post_to(rank, team_.group_end());
  } else {
    const int leader = team_.leader_of(rank);
    team_.wait_for(leader);
    team_.heard_of_all(2);
    copy_bytes(team_.line_of(leader), result(call), total);
    team_.note_copied_out(total);
  }
}

std::uint64_t SharedCollectives::fold_in_levels(std::uint64_t own, Fold function) {
  const int rank = team_.rank(), leader = team_.leader_of(rank);
  const auto post = [&](int first, int end, int stride) {
    std::memcpy(team_.line_to_write(), &own, sizeof own);
    team_.post_to(first, end, stride);
  };
  team_.begin_step();
  if (!team_.leads()) post(leader, leader + 1, 1);
  for (int r = rank + 1; team_.leads() && r < team_.group_end(); ++r) own = function(own, told_by(r));
  team_.begin_step();
  if (team_.leads()) {
    post(0, team_.ranks(), team_.group());
    for (int r = 0; r < team_.ranks(); r += team_.group())
      if (r != rank) own = function(own, told_by(r));
    team_.heard_of_all();
  }
  team_.begin_step();
  if (team_.leads()) {
    post(rank, team_.group_end(), 1);
  } else {
    own = told_by(leader);
    team_.heard_of_all(2);
  }
  return own;
}

// By the root of a broadcast, whose line says `amount`, and all that there is to say if that fits.
void SharedCollectives::tell_everyone(std::int64_t amount) {
  team_.tell_amount(amount);
  team_.post();
  team_.end_line_step();
  if (!all_in_groups()) return;
  team_.begin_step();
  team_.end_line_step();
}

// Leaders, and the root's group, read the root's line; then leaders show the others a copy of it.
SharedCollectives::Told SharedCollectives::hear(int root) {
  Told told;
  const int leader = team_.leader_of(team_.rank());
  const bool near = team_.leads() || team_.leader_of(root) == leader;
  const auto read = [&](int from) {
    team_.wait_for(from);
    told.amount = team_.amount_of(from);
    std::memcpy(told.bytes, team_.line_of(from), sizeof told.bytes);
    team_.note_copied_out(std::clamp<std::int64_t>(told.amount, 0, SharedTeam::line_bytes));
  };
  team_.begin_step();
  if (near) read(root);
  team_.end_line_step();
  team_.begin_step();
  if (!near) {
    read(leader);
  } else if (team_.leads() && team_.leader_of(root) != leader) {
    std::memcpy(team_.line_to_write(), told.bytes, sizeof told.bytes);
    team_.tell_amount(told.amount);
    team_.post_to(leader, team_.group_end());
  }
  team_.end_line_step();
  return told;
}

}  // namespace hawser
