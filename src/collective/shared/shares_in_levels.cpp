// Reductions of many ranks of which each does a share, in levels (SharedTeam). Ranks at the same
// place in their groups form a column. First, each rank reduces its column's share of the operands of its
// group; then it reads what its column has of that share. So it hears from one group and one column instead
// of from all. In a group with fewer ranks some are in several columns.
#include <algorithm>
#include <vector>

#include "collective/shared/collectives.h"
#include "collective/shared/elements.h"

namespace hawser {

namespace {

// The ranks of a team in groups and columns, as one of them sees them.
struct Grid {
  explicit Grid(const SharedTeam& team)
      : ranks(team.ranks()),
        columns(team.group()),
        first(team.leader_of(team.rank())),
        size(team.group_end() - first),
        own(team.rank() - first) {}

  int ranks, columns;
  int first, size;  // of the rank's group
  int own;          // the rank's first column

  int groups() const { return (ranks + columns - 1) / columns; }
  // Whether the rank at that place of the group has the column.
  bool has(int place, int column) const { return column % size == place; }
  // Who has it in a group.
  int owner(int group, int column) const {
    const int leader = group * columns;
    return leader + column % std::min(columns, ranks - leader);
  }
};

// Each waits for those with which it has a column in common. Those of a smaller group have more of them.
void post_to_columns(SharedTeam& team, const Grid& grid) {
  team.line_to_write();
  grid.ranks % grid.columns == 0 ? team.post_to(grid.own, grid.ranks, grid.columns) : team.post();
}

void await_column(SharedTeam& team, const Grid& grid, int column) {
  for (int i = 0; i < grid.groups(); ++i)
    if (const int r = grid.owner(i, column); r != team.rank()) team.wait_for(r);
}

void post_and_await_group(SharedTeam& team, const Grid& grid) {
  team.line_to_write();
  team.post_to(grid.first, grid.first + grid.size);
  for (int i = 1; i < grid.size; ++i) team.wait_for(grid.first + (grid.own + i) % grid.size);
}

// The share of each column, of whole cache lines, as far as elements allow.
struct Shares {
  Shares(const Elements& elements, std::int64_t count, int columns) : count(count), unit(elements.unit) {
    const std::int64_t per_line = std::max<std::int64_t>(1, 64 / unit);
    most = ((count + columns - 1) / columns + per_line - 1) / per_line * per_line;
  }
  std::int64_t begin(int column) const { return std::min(count, column * most) * unit; }
  std::int64_t bytes(int column) const { return begin(column + 1) - begin(column); }
  std::int64_t elements(int column) const { return bytes(column) / unit; }
  // Whose share has the byte there.
  int owner(std::int64_t at) const { return static_cast<int>(at / (most * unit)); }

  std::int64_t count, unit, most;
};

// The first step: a rank's buffer has what others of its group reduce, then what it reduced itself.
std::byte* reduce_shares_of_group(SharedTeam& team, const Grid& grid, const Elements& elements,
                                  const Shares& shares, const std::byte* own, CrossCoreCopy& copies) {
  team.begin_buffer_step();
  std::byte* const partial = team.buffer_to_write();
  for (int c = 0; c < grid.columns; ++c) {
    if (grid.has(grid.own, c)) continue;
    copy_for_others(own + shares.begin(c), partial + shares.begin(c), shares.bytes(c), copies);
    team.note_copied_in(shares.bytes(c));
  }
  post_and_await_group(team, grid);
  for (int c = grid.own; c < grid.columns; c += grid.size) {
    const auto operand = [&](int r) {
      return (r == team.rank() ? own : team.buffer_of(r)) + shares.begin(c);
    };
    reduce_ranks(elements, grid.first, grid.first + grid.size - 1, operand, partial + shares.begin(c),
                 shares.elements(c));
    team.note_copied_out((grid.size - 1) * shares.bytes(c));
    team.note_copied_in(shares.bytes(c));
  }
  team.begin_step();
  team.keep_buffers();
  return partial;
}

// The second: what a column has.
void reduce_column(SharedTeam& team, const Grid& grid, const Elements& elements, const Shares& shares,
                   int column, std::byte* out) {
  await_column(team, grid, column);
  const auto operand = [&](int i) { return team.buffer_of(grid.owner(i, column)) + shares.begin(column); };
  reduce_ranks(elements, 0, grid.groups() - 1, operand, out, shares.elements(column));
  team.note_copied_out((grid.groups() - 1) * shares.bytes(column));
}

}  // namespace

// Then each has its columns' shares of the result, and its group reads them.
void SharedCollectives::allreduce_shares_in_levels(const CollectiveCall& call, std::int64_t done,
                                                   std::int64_t count) {
  const Grid grid(team_);
  const Elements elements{*call.op, *call.receive.type, call.receive.type->extent};
  const Shares shares(elements, count, grid.columns);
  const std::byte* const own = contribution(call) + done * elements.unit;
  std::byte* const out = result(call) + done * elements.unit;

  reduce_shares_of_group(team_, grid, elements, shares, own, copies_);
  post_to_columns(team_, grid);
  for (int c = grid.own; c < grid.columns; c += grid.size)
    reduce_column(team_, grid, elements, shares, c, out + shares.begin(c));
  team_.heard_of_all();

  team_.begin_buffer_step();
  std::byte* const shown = team_.buffer_to_write();
  for (int c = grid.own; c < grid.columns; c += grid.size) {
    copy_out(out + shares.begin(c), shown + shares.begin(c), shares.bytes(c));
    team_.note_copied_in(shares.bytes(c));
  }
  post_and_await_group(team_, grid);
  team_.heard_of_all();
  for (int c = 0; c < grid.columns; ++c) {
    if (grid.has(grid.own, c)) continue;
    copy_bytes(team_.buffer_of(grid.first + c % grid.size) + shares.begin(c), out + shares.begin(c),
               shares.bytes(c));
    team_.note_copied_out(shares.bytes(c));
  }
  team_.end_step();
}

// --- To one rank. Each rank reduces a share of its group's operands. Then each rank of one group, which
// collects, reduces a share of what the groups have, where the root reads it. A root that adds its own
// operand at last takes no part in this: nobody waits for it, so that reductions one after the other overlap.

namespace {

struct Groups {
  // `without`: the rank that takes no part; -1: all do.
  Groups(const SharedTeam& team, int without)
      : ranks(team.ranks()), largest(team.group()), without(without) {}

  int ranks, largest, without;

  int count() const { return (ranks + largest - 1) / largest; }
  bool has_gap(int group) const { return without >= 0 && without / largest == group; }
  // How many of a group take part, and each, in order.
  int size(int group) const { return std::min(largest, ranks - group * largest) - (has_gap(group) ? 1 : 0); }
  int member(int group, int place) const {
    const int rank = group * largest + place;
    return has_gap(group) && rank >= without ? rank + 1 : rank;
  }
  int place_of(int rank) const {
    const int group = rank / largest;
    return rank - group * largest - (has_gap(group) && rank > without ? 1 : 0);
  }
};

// The first step: a rank's buffer has what others of its group reduce, and then its own share of what the
// group has.
void reduce_share_of_group(SharedTeam& team, const Groups& groups, const Elements& elements,
                           const std::byte* own, std::int64_t count, CrossCoreCopy& copies) {
  const int rank = team.rank(), group = rank / groups.largest, size = groups.size(group);
  const int place = groups.place_of(rank);
  const Shares shares(elements, count, size);
  const std::int64_t begin = shares.begin(place), end = shares.begin(place + 1), total = shares.begin(size);
  std::byte* const buffer = team.buffer_to_write();
  copy_for_others(own, buffer, begin, copies);
  copy_for_others(own + end, buffer + end, total - end, copies);
  team.note_copied_in(total - (end - begin));
  team.line_to_write();
  team.post_to(team.leader_of(rank), team.group_end());
  for (int i = 1; i < size; ++i) team.wait_for(groups.member(group, (place + i) % size));
  const auto operand = [&](int i) {
    const int r = groups.member(group, i);
    return (r == rank ? own : team.buffer_of(r)) + begin;
  };
  reduce_ranks(elements, 0, size - 1, operand, buffer + begin, shares.elements(place));
  team.note_copied_out((size - 1) * (end - begin));
  team.note_copied_in(end - begin);
}

// The second, by a rank of the collecting group, whose share may be parts of several ranks' shares of a group
// that is smaller.
void collect_share(SharedTeam& team, const Groups& groups, const Elements& elements, std::int64_t count,
                   std::byte* out) {
  const Shares shares(elements, count, groups.largest);
  const int column = groups.place_of(team.rank());
  const std::int64_t begin = shares.begin(column), end = shares.begin(column + 1);
  std::vector<int> whole;  // the groups of which some take part
  for (int g = 0; g < groups.count(); ++g)
    if (groups.size(g) > 0) whole.push_back(g);
  const auto last = static_cast<int>(whole.size()) - 1;
  const auto shares_of = [&](int i) {
    return Shares(elements, count, groups.size(whole[static_cast<std::size_t>(i)]));
  };
  const auto owner = [&](int i, std::int64_t at) {
    return groups.member(whole[static_cast<std::size_t>(i)], shares_of(i).owner(at));
  };
  for (std::int64_t at = begin, next = end; at < end; at = next, next = end) {
    for (int i = 0; i <= last; ++i) {
      const Shares of = shares_of(i);
      next = std::min(next, of.begin(of.owner(at) + 1));
      if (const int r = owner(i, at); r != team.rank() && (at == begin || of.begin(of.owner(at)) == at))
        team.wait_for(r);
    }
    const auto operand = [&](int i) { return team.buffer_of(owner(i, at)) + at; };
    reduce_ranks(elements, 0, last, operand, out + (at - begin), (next - at) / elements.unit);
  }
  team.note_copied_out(last * (end - begin));
  team.note_copied_in(end - begin);
}

}  // namespace

// How many elements have room in a buffer, and, behind them, the share of the result that a rank of the
// collecting group has; 0: too few.
std::int64_t SharedCollectives::reduced_by_shares_at_once(const CollectiveCall& call) const {
  constexpr std::int64_t least = 512;
  const std::int64_t unit = call.receive.type->extent;
  const int columns = team_.group();
  const std::int64_t bytes = (team_.buffer_bytes() - 2 * (64 + unit)) * columns / (columns + 1);
  return bytes < least ? 0 : bytes / unit;
}

// A function of the program may not be called with its operands in another order, nor with its result in the
// place of an operand.
bool SharedCollectives::adds_roots_operand_last(const CollectiveCall& call) const {
  return team_.in_groups() && reduces_by_columns(call) && call.op->predefined() &&
         reduced_by_shares_at_once(call) > 0;
}

// The collecting group is a whole one, and not the root's. There are two whole ones at least.
void SharedCollectives::reduce_shares_in_levels(const CollectiveCall& call, std::int64_t done,
                                                std::int64_t count) {
  const int rank = team_.rank(), root = call.root, columns = team_.group();
  const bool alone = adds_roots_operand_last(call);
  const Groups groups(team_, alone ? root : -1);
  const Elements elements{*call.op, *call.receive.type, call.receive.type->extent};
  const int collecting = team_.leader_of(root) == 0 ? columns : 0;
  const std::byte* const own = contribution(call) + done * elements.unit;
  // Where a rank of the collecting group has its share.
  const std::int64_t place = (count * elements.unit + 63) & ~std::int64_t{63};

  team_.begin_buffer_step();
  if (rank != root || !alone) reduce_share_of_group(team_, groups, elements, own, count, copies_);
  team_.begin_step();
  team_.keep_buffers();
  if (team_.leader_of(rank) == collecting) {
    collect_share(team_, groups, elements, count, team_.buffer_of(rank) + place);
    team_.heard_of_all();
  } else if (rank != root || !alone) {
    team_.line_to_write();
    groups.size(rank / columns) == columns ? team_.post_to(collecting + groups.place_of(rank))
                                           : team_.post_to(collecting, collecting + columns);
  }
  team_.begin_step();
  team_.keep_buffers();
  if (rank == root) {
    std::byte* const out = result(call) + done * elements.unit;
    const Shares shares(elements, count, columns);
    for (int c = 0; c < columns; ++c) {
      team_.wait_for(collecting + c);
      const std::byte* const share = team_.buffer_of(collecting + c) + place;
      std::byte* const to = out + shares.begin(c);
      alone ? elements.combine(own + shares.begin(c), share, to, shares.elements(c))
            : copy_bytes(share, to, shares.bytes(c));
      team_.note_copied_out(shares.bytes(c));
    }
    team_.heard_of_all(2);
  } else if (team_.leader_of(rank) == collecting) {
    team_.line_to_write();
    team_.post_to(root);
  }
  team_.end_step();
}

// A rank's part is in the share of the column that it is in. After find_starts().
void SharedCollectives::reduce_parts_in_levels(const CollectiveCall& call, const std::byte* own,
                                               std::int64_t done, std::int64_t room) {
  const Grid grid(team_);
  const Elements elements{*call.op, *call.receive.type, call.receive.type->extent};
  const int rank = team_.rank();
  const std::int64_t room_bytes = room * elements.unit;
  const auto start = [&](int r) { return (starts_[static_cast<std::size_t>(r)] + done) * elements.unit; };
  const auto part = [&](int r) { return part_of(r, done, room); };

  team_.begin_buffer_step();
  std::byte* const partial = team_.buffer_to_write();
  for (int r = 0; r < grid.ranks; ++r) {
    if (part(r) == 0 || grid.has(grid.own, r % grid.columns)) continue;
    copy_out(own + start(r), partial + r * room_bytes, part(r) * elements.unit);
    team_.note_copied_in(part(r) * elements.unit);
  }
  post_and_await_group(team_, grid);
  for (int r = 0; r < grid.ranks; ++r) {
    if (part(r) == 0 || !grid.has(grid.own, r % grid.columns)) continue;
    const auto operand = [&](int from) {
      return from == rank ? own + start(r) : team_.buffer_of(from) + r * room_bytes;
    };
    reduce_ranks(elements, grid.first, grid.first + grid.size - 1, operand, partial + r * room_bytes,
                 part(r));
    team_.note_copied_out((grid.size - 1) * part(r) * elements.unit);
    team_.note_copied_in(part(r) * elements.unit);
  }

  team_.begin_step();
  team_.keep_buffers();
  post_to_columns(team_, grid);
  if (part(rank) > 0) {
    await_column(team_, grid, grid.own);
    team_.heard_of_all();
    const auto operand = [&](int i) { return team_.buffer_of(grid.owner(i, grid.own)) + rank * room_bytes; };
    reduce_ranks(elements, 0, grid.groups() - 1, operand, result(call) + done * elements.unit, part(rank));
    team_.note_copied_out((grid.groups() - 1) * part(rank) * elements.unit);
  }
  team_.end_step();
}

}  // namespace hawser
