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

}  // namespace

// Then each has its columns' shares of the result, and its group reads them.
void SharedCollectives::allreduce_shares_in_levels(const CollectiveCall& call, std::int64_t done,
                                                   std::int64_t count) {
  const Grid grid(team_);
  const Elements elements{*call.op, *call.receive.type, call.receive.type->extent};
  const int rank = team_.rank();
  const std::byte* const own = contribution(call) + done * elements.unit;
  std::byte* const out = result(call) + done * elements.unit;
  const std::int64_t per_line = std::max<std::int64_t>(1, 64 / elements.unit);
  const std::int64_t most = ((count + grid.columns - 1) / grid.columns + per_line - 1) / per_line * per_line;
  const auto begin = [&](int column) { return std::min(count, column * most) * elements.unit; };
  const auto bytes = [&](int column) { return begin(column + 1) - begin(column); };

  team_.begin_buffer_step();
  std::byte* const partial = team_.buffer_to_write();
  for (int c = 0; c < grid.columns; ++c) {
    if (grid.has(grid.own, c)) continue;
    copy_out(own + begin(c), partial + begin(c), bytes(c));
    team_.note_copied_in(bytes(c));
  }
  post_and_await_group(team_, grid);
  for (int c = grid.own; c < grid.columns; c += grid.size) {
    const auto operand = [&](int r) { return (r == rank ? own : team_.buffer_of(r)) + begin(c); };
    reduce_ranks(elements, grid.first, grid.first + grid.size - 1, operand, partial + begin(c),
                 bytes(c) / elements.unit);
    team_.note_copied_out((grid.size - 1) * bytes(c));
    team_.note_copied_in(bytes(c));
  }

  team_.begin_step();
  team_.keep_buffers();
  post_to_columns(team_, grid);
  for (int c = grid.own; c < grid.columns; c += grid.size) {
    await_column(team_, grid, c);
    const auto operand = [&](int i) { return team_.buffer_of(grid.owner(i, c)) + begin(c); };
    reduce_ranks(elements, 0, grid.groups() - 1, operand, out + begin(c), bytes(c) / elements.unit);
    team_.note_copied_out((grid.groups() - 1) * bytes(c));
  }
  team_.heard_of_all();

  team_.begin_buffer_step();
  std::byte* const shown = team_.buffer_to_write();
  for (int c = grid.own; c < grid.columns; c += grid.size) {
    copy_out(out + begin(c), shown + begin(c), bytes(c));
    team_.note_copied_in(bytes(c));
  }
  post_and_await_group(team_, grid);
  team_.heard_of_all();
  for (int c = 0; c < grid.columns; ++c) {
    if (grid.has(grid.own, c)) continue;
    copy_bytes(team_.buffer_of(grid.first + c % grid.size) + begin(c), out + begin(c), bytes(c));
    team_.note_copied_out(bytes(c));
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
