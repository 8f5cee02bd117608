// Operations whose data do not fit lines, in levels (SharedTeam): one rank of each group, its head, makes one
// buffer of what its group has, and who needs the data reads the heads' buffers.
// So a rank reads few lines one after the other, for which the heads copy once more.
#include "collective/shared/elements.h"
#include "collective/shared/views.h"

namespace hawser {

namespace {

// Of a reduction to one rank, so that the root reads one piece while heads reduce the next.
constexpr std::int64_t largest_piece_in_levels = 16 << 10;

// An allreduce by shares takes one more line of each rank of a group than by heads.
constexpr std::int64_t most_by_heads = 1 << 10;

}  // namespace

// Whether what a head copies more takes less time than the lines that others need not read: as measured in
// the simulator, with 8 to 64 ranks.
bool SharedCollectives::gathers_in_levels(std::int64_t block) const {
  constexpr std::int64_t most = 8 << 10;
  const std::int64_t share = team_.in_levels() ? 4 : 6;
  return team_.in_groups() && block <= std::min<std::int64_t>(share * team_.ranks() * team_.ranks(), most);
}

bool SharedCollectives::allgathers_in_levels(std::int64_t block) const {
  constexpr int fewest = 14;
  return in_groups_from(fewest) && block <= 64 * team_.ranks() &&
         block <= 2 * gathered_at_once_in_levels(block);  // in no more than two pieces
}

// What very many ranks do not gather in levels they read one after the other, in pieces. A power of two of
// them exchanges messages sooner. As measured in the simulator; from where on ways are measured, that
// decides.
bool SharedCollectives::serves_allgather(const CollectiveCall& call) const {
  constexpr int many = 128;
  constexpr std::int64_t measured = 16 << 10;
  const int ranks = team_.ranks();
  if (!team_.in_groups() || ranks < many || (ranks & (ranks - 1)) != 0) return true;
  const std::int64_t block = call.receive.count * call.receive.type->size;
  return block == 0 || block >= measured || allgathers_in_levels(block);
}

// Of few ranks everyone reduces everything that is short, and shares of much, of which a rank reads less.
bool SharedCollectives::allreduces_in_groups(std::int64_t total) const {
  constexpr std::int64_t kib = 1024;
  if (!team_.in_groups() || team_.in_levels()) return team_.in_groups();
  return total <= (team_.ranks() < 12 ? 8 * kib : 16 * kib) && (meets_in_levels() || !is_flat(total));
}

bool SharedCollectives::allreduces_by_heads(std::int64_t total) const {
  return total <= std::min(most_by_heads, team_.buffer_bytes());
}

// With very many ranks a buffer is small, and in pieces messages are faster: those to one rank only of a
// power of two of ranks. As measured in the simulator.
bool SharedCollectives::reduces_in_few_pieces(Collective kind, std::int64_t total) const {
  constexpr std::int64_t many = 64, most_pieces = 8;
  const std::int64_t ranks = team_.ranks();
  if (!team_.in_groups() || ranks < many) return true;
  if (kind == Collective::reduce) {
    const std::int64_t pieces = std::max<std::int64_t>(most_pieces * many * many / (ranks * ranks), 1);
    return (ranks & (ranks - 1)) != 0 || total <= (pieces + 1) * team_.buffer_bytes();
  }
  return total <= team_.buffer_bytes() * (kind == Collective::allreduce ? 1 : 2);
}

void SharedCollectives::await_heads(const CollectiveCall& call) {
  for (int leader = 0; leader < team_.ranks(); leader += team_.group()) {
    const int head = head_of(call, leader);
    if (head != team_.rank()) team_.wait_for(head);
  }
}

// --- Data that are moved

// A piece of each block of a group's ranks, but not of the root's, goes into the head's buffer. The head's
// line will say how long it takes the blocks to be, and whether one is of another length.
void SharedCollectives::gather_group(ByteView own, std::int64_t done, std::int64_t bytes, int head,
                                     int root) {
  const int rank = team_.rank(), first = team_.leader_of(rank);
  team_.begin_buffer_step();
  bool differs = false;
  if (rank == head) {
    std::byte* const pieces = team_.buffer_to_write();
    own.read(done, pieces + (rank - first) * bytes, bytes, copies_);
    for (int r = first; r < team_.group_end(); ++r) {
      if (r == rank || r == root) continue;
      team_.wait_for(r);
      const std::int64_t block = team_.amount_of(r);
      differs |= block != own.size();
      const std::byte* const from = block <= SharedTeam::line_bytes ? team_.line_of(r) : team_.buffer_of(r);
      const std::int64_t some = std::clamp<std::int64_t>(block - done, 0, bytes);
      std::memcpy(pieces + (r - first) * bytes, from, static_cast<std::size_t>(some));
      team_.note_copied_out(some);
    }
    team_.note_copied_in((team_.group_end() - first) * bytes);
  } else if (rank != root) {
    const bool in_line = own.size() <= SharedTeam::line_bytes;
    own.read(done, in_line ? team_.line_to_write() : team_.buffer_to_write(), bytes, copies_);
    team_.note_copied_in(bytes);
    if (!in_line) team_.line_to_write();
    team_.tell_amount(own.size());
    team_.post_to(head);
  }
  team_.begin_step();
  team_.keep_buffers();
  if (rank != head) return;
  std::memcpy(team_.line_to_write(), &differs, sizeof differs);
  team_.tell_amount(own.size());
}

std::int64_t SharedCollectives::gathered_at_once_in_levels(std::int64_t block) const {
  return even_piece(block, team_.buffer_bytes() / team_.group() & ~std::int64_t{63});
}

void SharedCollectives::gather_data_in_levels(const CollectiveCall& call) {
  const CallSide& known = team_.rank() == call.root ? call.receive : call.send;
  const std::int64_t block = known.count * known.type->size;
  const std::int64_t most = gathered_at_once_in_levels(block);
  for (std::int64_t done = 0; done < block; done += most)
    gather_piece(call, done, std::min(most, block - done));
}

void SharedCollectives::gather_piece(const CollectiveCall& call, std::int64_t done, std::int64_t bytes) {
  const int rank = team_.rank(), root = call.root;
  const int head = team_.head_of(team_.leader_of(rank), root);
  if (rank == root) {
    gather_group(ByteView(nullptr, 0), 0, 0, head, root);
    take_from_heads(call, done, bytes);
  } else {
    gather_group(view(call.send, 0, 1), done, bytes, head, root);
    if (rank == head) team_.post_to(root);
  }
  team_.end_step();
}

// By the root; only it has a type to receive.
void SharedCollectives::take_from_heads(const CollectiveCall& call, std::int64_t done, std::int64_t bytes) {
  const int root = call.root;
  const std::int64_t block = call.receive.count * call.receive.type->size;
  for (int first = 0; first < team_.ranks(); first += team_.group()) {
    const int of = team_.head_of(first, root);
    if (of == root) continue;  // alone in its group
    team_.wait_for(of);
    bool differs;
    std::memcpy(&differs, team_.line_of(of), sizeof differs);
    amounts_differed_ |= differs || team_.amount_of(of) != block;
    const int end = std::min(first + team_.group(), team_.ranks());
    for (int r = first; r < end; ++r) {
      if (r == root) continue;
      view(call.receive, r, 1).write(done, team_.buffer_of(of) + (r - first) * bytes, bytes);
      team_.note_copied_out(bytes);
    }
  }
}

void SharedCollectives::allgather_data_in_levels(const CollectiveCall& call) {
  const int rank = team_.rank();
  const std::int64_t block = call.receive.count * call.receive.type->size;
  const std::int64_t most = gathered_at_once_in_levels(block);
  for (std::int64_t done = 0; done < block; done += most) {
    const std::int64_t bytes = std::min(most, block - done);
    gather_group(view(call.receive, rank, 1), done, bytes, team_.leader_of(rank), -1);
    if (team_.leads()) team_.post();
    await_heads(call);
    team_.heard_of_all();
    for (int leader = 0; leader < team_.ranks(); leader += team_.group())
      write_blocks_of(call, leader, done, bytes);
    team_.end_step();
  }
}

// A piece of each block of a group stands in its head's buffer.
void SharedCollectives::write_blocks_of(const CollectiveCall& call, int leader, std::int64_t done,
                                        std::int64_t bytes) {
  const int blocks = std::min(team_.group(), team_.ranks() - leader);
  const std::byte* const pieces = team_.buffer_of(leader);
  team_.note_copied_out(blocks * bytes);
  if (bytes == call.receive.count * call.receive.type->size)
    return view(call.receive, leader, blocks).write(0, pieces, blocks * bytes);
  for (int i = 0; i < blocks; ++i) view(call.receive, leader + i, 1).write(done, pieces + i * bytes, bytes);
}

// --- Reductions

// Elements of the operands of a group, from the head's on, are reduced in its buffer; then all begin the next
// step.
void SharedCollectives::reduce_group_data(const CollectiveCall& call, std::int64_t done, std::int64_t count,
                                          int head) {
  const int rank = team_.rank(), last = team_.group_end() - 1;
  const Elements elements{*call.op, *call.receive.type, call.receive.type->extent};
  const std::int64_t bytes = count * elements.unit;
  const std::byte* const own = contribution(call) + done * elements.unit;
  team_.begin_buffer_step();
  std::byte* const place = team_.buffer_to_write();
  if (rank == head) {
    await_group(call.kind == Collective::reduce ? call.root : -1);
    const auto operand = [&](int r) { return r == rank ? own : team_.buffer_of(r); };
    reduce_ranks(elements, rank, last, operand, place, count);
    team_.note_copied_out((last - rank) * bytes);
    team_.note_copied_in(bytes);
  } else if (rank > head) {
    copy_out(own, place, bytes);
    team_.note_copied_in(bytes);
    team_.line_to_write();
    team_.post_to(head);
  }
  team_.begin_step();
  team_.keep_buffers();
}

// What all heads have, which were waited for, is reduced in the order of the ranks. The root's own operand
// comes before that of its group if another rank is the head there.
void SharedCollectives::reduce_heads(const CollectiveCall& call, FunctionRef<const std::byte*(int)> operand,
                                     std::int64_t count, std::byte* scratch, std::byte* out) {
  const int root = call.kind == Collective::reduce ? call.root : -1;
  const int last = (team_.ranks() - 1) / team_.group();
  const Elements elements{*call.op, *call.receive.type, call.receive.type->extent};
  const bool added = root >= 0 && team_.leader_of(root) == root && head_of(call, root) != root;
  if (added) elements.combine(operand(root), operand(root + 1), scratch, count);
  const auto of_group = [&](int i) -> const std::byte* {
    const int leader = i * team_.group();
    return added && leader == root ? scratch : operand(head_of(call, leader));
  };
  reduce_ranks(elements, 0, last, of_group, out, count);
  team_.note_copied_out(last * count * elements.unit);
}

std::int64_t SharedCollectives::reduced_at_once_in_levels() const {
  return std::min(largest_piece_in_levels, team_.buffer_bytes());
}

// Much data: by heads, a root would read as much of every group. As measured in the simulator.
bool SharedCollectives::reduces_by_columns(const CollectiveCall& call) const {
  constexpr std::int64_t least = 16 << 10, least_of_many = 8 << 10;
  return call.receive.count * call.receive.type->extent >= (team_.in_levels() ? least_of_many : least);
}

void SharedCollectives::reduce_data_in_levels(const CollectiveCall& call) {
  const int rank = team_.rank();
  const std::int64_t unit = call.receive.type->extent;
  if (const std::int64_t some = reduces_by_columns(call) ? reduced_by_shares_at_once(call) : 0; some > 0) {
    for (std::int64_t done = 0; done < call.receive.count; done += some)
      reduce_shares_in_levels(call, done, std::min(some, call.receive.count - done));
    return;
  }
  const std::int64_t most = std::max<std::int64_t>(reduced_at_once_in_levels() / unit, 1);
  const int head = head_of(call, team_.leader_of(rank));
  for (std::int64_t done = 0; done < call.receive.count; done += most) {
    const std::int64_t count = std::min(most, call.receive.count - done);
    reduce_group_data(call, done, count, head);
    if (rank == call.root) {
      await_heads(call);
      const auto operand = [&](int r) -> const std::byte* {
        return r == rank && r != head ? contribution(call) + done * unit : team_.buffer_of(r);
      };
      reduce_heads(call, operand, count, team_.buffer_of(rank), result(call) + done * unit);
    } else if (rank == head) {
      team_.line_to_write();
      team_.post_to(call.root);
    }
    team_.end_step();
  }
}

void SharedCollectives::allreduce_data_in_levels(const CollectiveCall& call) {
  const int rank = team_.rank(), leader = team_.leader_of(rank);
  const std::int64_t count = call.receive.count, bytes = count * call.receive.type->extent;
  reduce_group_data(call, 0, count, leader);
  if (rank == leader) {
    team_.line_to_write();
    team_.post_to(0, team_.ranks(), team_.group());
    await_heads(call);
    team_.heard_of_all();
    const auto operand = [this](int r) -> const std::byte* { return team_.buffer_of(r); };
    reduce_heads(call, operand, count, nullptr, result(call));
  }
  team_.begin_buffer_step();
  if (rank == leader) {
    copy_out(result(call), team_.buffer_to_write(), bytes);
    team_.note_copied_in(bytes);
    team_.line_to_write();
    team_.post_to(rank, team_.group_end());
  } else {
    team_.wait_for(leader);
    team_.heard_of_all(2);
    copy_bytes(team_.buffer_of(leader), result(call), bytes);
    team_.note_copied_out(bytes);
  }
  team_.end_step();
}

}  // namespace hawser
