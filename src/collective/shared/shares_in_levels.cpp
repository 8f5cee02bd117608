// Reductions of many ranks of which each does a share, in levels (SharedTeam). Ranks at the same
// place in their groups form a column. First, each rank reduces its column's share of the operands of its
// group; then it reads what its column has of that share. So it hears from one group and one column instead
// of from all. In a group with fewer ranks some are in several columns.
#include <algorithm>

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

// How many elements of a reduction to one rank have room in a buffer, and, behind them, the shares of the
// result that a rank of the root's group has; 0: too few.
std::int64_t SharedCollectives::reduced_by_shares_at_once(const CollectiveCall& call) const {
  constexpr std::int64_t least = 512;
  const std::int64_t unit = call.receive.type->extent;
  const int columns = team_.group(), first = team_.leader_of(call.root);
  const int size = std::min(first + columns, team_.ranks()) - first;
  const int shares = (columns + size - 1) / size;
  const std::int64_t room = team_.buffer_bytes() - (shares + 1) * (64 + unit);
  const std::int64_t bytes = room * columns / (columns + shares);
  return bytes < least ? 0 : bytes / unit;
}

// To one rank: what the columns have is reduced by the ranks of the root's group, where the root reads it.
void SharedCollectives::reduce_shares_in_levels(const CollectiveCall& call, std::int64_t done,
                                                std::int64_t count) {
  const Grid grid(team_);
  const Elements elements{*call.op, *call.receive.type, call.receive.type->extent};
  const Shares shares(elements, count, grid.columns);
  const int rank = team_.rank(), root = call.root, near = team_.leader_of(root);
  std::byte* const out = result(call) + done * elements.unit;
  // Where a rank of the root's group has the share of a column.
  const std::int64_t results = (count * elements.unit + 63) & ~std::int64_t{63};
  const auto place = [&](int column) { return results + column / grid.size * shares.most * elements.unit; };

  std::byte* const buffer = reduce_shares_of_group(team_, grid, elements, shares,
                                                   contribution(call) + done * elements.unit, copies_);
  if (grid.first != near) {
    const int end = std::min(near + grid.columns, grid.ranks);
    team_.line_to_write();
    grid.ranks % grid.columns == 0 ? team_.post_to(near + grid.own) : team_.post_to(near, end);
  } else {
    for (int c = grid.own; c < grid.columns; c += grid.size) {
      reduce_column(team_, grid, elements, shares, c,
                    rank == root ? out + shares.begin(c) : buffer + place(c));
      team_.note_copied_in(rank == root ? 0 : shares.bytes(c));
    }
    team_.heard_of_all();
  }

  team_.begin_step();
  team_.keep_buffers();
  if (grid.first == near && rank != root) {
    team_.line_to_write();
    team_.post_to(root);
  }
  for (int i = 1; rank == root && i < grid.size; ++i) {
    const int at = (grid.own + i) % grid.size;
    team_.wait_for(near + at);
    for (int c = at; c < grid.columns; c += grid.size) {
      copy_bytes(team_.buffer_of(near + at) + place(c), out + shares.begin(c), shares.bytes(c));
      team_.note_copied_out(shares.bytes(c));
    }
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
