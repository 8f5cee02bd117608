// The operations that move data.
#include <algorithm>
#include <cstring>

#include "collective/shared/views.h"

namespace hawser {

void ByteView::read(std::int64_t offset, std::byte* to, std::int64_t bytes, CrossCoreCopy& copies) {
  if (bytes == 0) return;
  if (memory_ != nullptr) {
    copy_for_others(memory_ + offset, to, bytes, copies);
  } else {
    copies.write(to, static_cast<std::size_t>(bytes), [&](std::byte* part, std::size_t at, std::size_t some) {
      packer_.pack(offset + static_cast<std::int64_t>(at), part, static_cast<std::int64_t>(some));
    });
  }
}

void ByteView::write(std::int64_t offset, const std::byte* from, std::int64_t bytes) {
  if (bytes == 0) return;
  if (memory_ != nullptr) {
    std::memcpy(memory_ + offset, from, static_cast<std::size_t>(bytes));
  } else {
    packer_.unpack(offset, from, bytes);
  }
}

bool SharedCollectives::run(const CollectiveCall& call, Way way) {
  if (team_.crowded()) note_what_follows_barriers(call.kind);
  if (way == Way::direct) {
    if (run_directly(call)) return true;
  } else if (way == Way::shares) {
    reduce_by_shares(call);
    return true;
  }
  run_in_area(call);
  return way == Way::area;
}

void SharedCollectives::tell(std::uint64_t number) {
  std::memcpy(team_.line_to_write(), &number, sizeof number);
  team_.post();
}

std::uint64_t SharedCollectives::told_by(int rank) {
  team_.wait_for(rank);
  std::uint64_t number;
  std::memcpy(&number, team_.line_of(rank), sizeof number);
  return number;
}

std::uint64_t SharedCollectives::fold(std::uint64_t own, Fold function) {
  if (meets_in_levels()) return fold_in_levels(own, function);
  team_.begin_step();
  tell(own);
  for (int r = 0; r < team_.ranks(); ++r)
    if (r != team_.rank()) own = function(own, told_by(r));
  team_.heard_from_all();
  return own;
}

std::int64_t SharedCollectives::known_bytes(const CollectiveCall& call) const {
  const auto of = [](const CallSide& side) { return side.count * side.type->size; };
  switch (call.kind) {
    case Collective::gather:
    case Collective::scatter: {
      const bool receives = (call.kind == Collective::gather) == (team_.rank() == call.root);
      return of(receives ? call.receive : call.send);
    }
    case Collective::broadcast:  // the others learn how it goes
      return team_.rank() == call.root ? of(call.receive) : 0;
    case Collective::allgather:
    case Collective::alltoall:
    case Collective::reduce:
    case Collective::allreduce:
      return of(call.receive);
    case Collective::reduce_scatter_block:
      return of(call.receive) * team_.ranks();
    case Collective::allgatherv:
    case Collective::reduce_scatter: {
      std::int64_t count = 0;
      for (int r = 0; r < team_.ranks(); ++r) count += call.receive.counts[r];
      const std::int64_t parts = call.kind == Collective::allgatherv ? team_.ranks() : 1;
      return count / parts * call.receive.type->size;
    }
    default:
      return 0;
  }
}

std::int64_t SharedCollectives::amount_of(const CollectiveCall& call) const {
  switch (call.kind) {
    case Collective::broadcast:
    case Collective::scan:
    case Collective::exscan:
      return call.receive.count * call.receive.type->size;
    default:
      return known_bytes(call);
  }
}

bool SharedCollectives::serves(const CollectiveCall& call) const {
  switch (call.kind) {
    case Collective::barrier:
    case Collective::broadcast:
    case Collective::gather:
    case Collective::scatter:
    case Collective::allgatherv:
      return true;
    case Collective::allgather:
      return serves_allgather(call);
    case Collective::alltoall:
      return serves_alltoall(call);
    case Collective::reduce:
    case Collective::allreduce:
    case Collective::reduce_scatter_block:
    case Collective::reduce_scatter:
    case Collective::scan:
    case Collective::exscan:
      return serves_reduction(call);
    // Where ranks share cores, who only sends is farther ahead with messages.
    case Collective::gatherv:
    case Collective::scatterv:
      return team_.ranks() <= most_of_vector_forms && !team_.crowded();
    case Collective::alltoallv:
    case Collective::alltoallw:
      return !team_.in_levels() || (team_.ranks() <= most_of_vector_forms && !team_.crowded());
  }
  HAWSER_UNREACHABLE();
}

void SharedCollectives::run_in_area(const CollectiveCall& call) {
  switch (call.kind) {
    case Collective::barrier:
      return barrier();
    case Collective::broadcast:
      return broadcast(view(call.receive, 0, 1), call.root);
    case Collective::gather:
      return gather(call);
    case Collective::scatter:
      return scatter(call);
    case Collective::allgather:
    case Collective::allgatherv:
      return allgather(call);
    case Collective::alltoall:
      return alltoall(call);
    case Collective::reduce:
      return reduce(call);
    case Collective::allreduce:
      return allreduce(call);
    case Collective::reduce_scatter_block:
    case Collective::reduce_scatter:
      return reduce_scatter(call);
    case Collective::scan:
    case Collective::exscan:
      return scan(call);
    case Collective::gatherv:
    case Collective::scatterv:
    case Collective::alltoallv:
    case Collective::alltoallw:
      break;
  }
  HAWSER_UNREACHABLE();
}

void SharedCollectives::note_what_follows_barriers(Collective kind) {
  if (after_barrier_) root_follows_ = has_root(kind);
  after_barrier_ = kind == Collective::barrier;
}

// Where ranks share cores and an operation with a root followed the barrier before, rank 0 leaves first: it
// is the root of most, and what the others then want is there when their turn on a core comes. Otherwise that
// would only be one more turn.
void SharedCollectives::barrier() {
  if (!root_follows_ || team_.in_levels()) return meet();
  arrive();
  release();
}

void SharedCollectives::meet() {
  if (meets_in_levels()) {
    most_of(0);
  } else {
    write_then_read(
        0, [](std::byte*) {}, [this](SharedTeam::Places) { team_.wait_for_all(); });
  }
}

void SharedCollectives::arrive() {
  if (meets_in_levels()) return arrive_in_levels();
  team_.begin_step();
  if (team_.rank() == 0) {
    team_.wait_for_all();
  } else {
    team_.line_to_write();
    team_.post_to(0);
  }
}

void SharedCollectives::release() {
  if (team_.in_levels()) return release_in_levels();
  team_.begin_step();
  if (team_.rank() == 0) {
    team_.line_to_write();
    team_.post();
  } else {
    team_.wait_for(0);
    team_.heard_of_all();
  }
}

void SharedCollectives::release_alone() {
  ByteView nothing(nullptr, 0);
  team_.rank() == 0 ? broadcast_nothing() : receive_broadcast(nothing, 0);
}

// Small ones are read while the next packets come. The fewer there are, the more each of them counts.
std::int64_t SharedCollectives::piece_bytes(Pieces pieces, std::int64_t amount) const {
  if (pieces == Pieces::largest || amount <= most_undivided) return team_.piece_bytes();
  return std::min(team_.piece_bytes(), even_piece(amount, (amount + 3) / 4));
}

void SharedCollectives::broadcast(ByteView data, int root, Pieces pieces, const std::int64_t* ready) {
  if (data.size() == 0) return;
  if (team_.rank() != root) {
    receive_broadcast(data, root, pieces);
    return;
  }
  const bool small = data.size() <= SharedTeam::line_bytes;
  if (small || all_in_groups()) {
    team_.begin_step();
    std::byte* const line = team_.line_to_write();
    if (small) {
      data.read(0, line, data.size(), copies_);
      team_.note_copied_in(data.size());
    }
    tell_everyone(data.size());
  }
  if (!small) send_pieces(data, piece_bytes(pieces, data.size()), ready);
}

// In pieces, so that the others read one while the root writes the next.
void SharedCollectives::send_pieces(ByteView& data, std::int64_t piece, const std::int64_t* ready) {
  for (std::int64_t done = 0; done < data.size(); done += piece) {
    const std::int64_t bytes = std::min(piece, data.size() - done);
    if (ready != nullptr && *ready < done + bytes) team_.await([=] { return *ready >= done + bytes; });
    team_.begin_piece_step();
    data.read(done, team_.piece_to_write(), bytes, copies_);
    team_.note_copied_in(bytes);
    team_.line_to_write();
    team_.tell_amount(data.size());
    team_.post();
    team_.fetch_next_piece(bytes);
    team_.end_step();
  }
}

void SharedCollectives::broadcast_nothing() {
  team_.begin_step();
  team_.line_to_write();
  tell_everyone(0);
}

// In the place of the amount.
void SharedCollectives::announce(MeasuredWays::Turn turn) {
  team_.begin_step();
  team_.line_to_write();
  tell_everyone(-1 - (2 * static_cast<std::int64_t>(turn.way) + (turn.timed ? 1 : 0)));
}

// The root's amount says which steps there are, so that the ranks stay in step when ours is another one.
void SharedCollectives::receive_broadcast(ByteView& data, int root, Pieces pieces) {
  Told relayed;
  if (all_in_groups()) {
    relayed = hear(root);
  } else {
    if (data.size() > SharedTeam::line_bytes && data.size() <= SharedTeam::few_lines)
      team_.fetch_from_next_piece(0, data.size());
    team_.begin_step();
    team_.wait_for(root);
  }
  const std::int64_t amount = all_in_groups() ? relayed.amount : team_.amount_of(root);
  if (amount < 0) [[unlikely]] {
    announced_ = {static_cast<Way>((-1 - amount) / 2), (-1 - amount) % 2 != 0};
    if (!all_in_groups()) team_.end_line_step();
    return;
  }
  if (amount != data.size()) [[unlikely]]
    amounts_differed_ = true;
  if (amount > SharedTeam::line_bytes)
    return take_pieces(data, root, amount, piece_bytes(pieces, amount), !all_in_groups());
  const std::int64_t wanted = std::min(amount, data.size());
  data.write(0, all_in_groups() ? relayed.bytes : team_.line_of(root), wanted);
  if (all_in_groups()) return;
  team_.note_copied_out(wanted);
  team_.end_line_step();
}

// `heard`: of the first one, in this step.
void SharedCollectives::take_pieces(ByteView& data, int root, std::int64_t amount, std::int64_t piece,
                                    bool heard) {
  const std::int64_t wanted = std::min(amount, data.size());
  for (std::int64_t done = 0; done < amount; done += piece) {
    if (!std::exchange(heard, false)) {
      team_.begin_step();
      team_.wait_for(root);
    }
    team_.take_piece();
    const std::int64_t bytes = std::clamp<std::int64_t>(wanted - done, 0, piece);
    data.write(done, team_.piece(), bytes);
    team_.note_copied_out(bytes);
    team_.end_step();
  }
}

std::int64_t SharedCollectives::gathered_at_once(std::int64_t block) const {
  return block <= SharedTeam::line_bytes ? SharedTeam::line_bytes : even_piece(block, team_.buffer_bytes());
}

void SharedCollectives::gather(const CollectiveCall& call) {
  const bool root = team_.rank() == call.root;
  const CallSide& known = root ? call.receive : call.send;
  const std::int64_t block = known.count * known.type->size;
  if (block != 0 && root && !is_in_place(call.send)) copy_own(call.send, 0, call.receive, call.root);
  if (block != 0 && gathers_in_levels(block)) return gather_data_in_levels(call);
  gather(
      root ? ByteView(nullptr, 0) : view(call.send, 0, 1), block,
      [&call](int r) { return view(call.receive, r, 1); }, call.root);
}

void SharedCollectives::gather(ByteView own, std::int64_t largest, FunctionRef<ByteView(int)> place_of,
                               int root) {
  if (largest == 0) return;
  if (goes_by_ring(largest)) return gather_by_ring(std::move(own), largest, place_of, root);
  const bool small = largest <= SharedTeam::line_bytes;
  const std::int64_t most = gathered_at_once(largest);
  for (std::int64_t done = 0; done < largest; done += most) {
    begin_data_step(small);
    if (team_.rank() != root) {
      const bool in_line = own.size() <= SharedTeam::line_bytes;
      const std::int64_t bytes = std::clamp<std::int64_t>(own.size() - done, 0, most);
      own.read(done, in_line ? team_.line_to_write() : team_.buffer_to_write(), bytes, copies_);
      team_.note_copied_in(bytes);
      if (!in_line) team_.line_to_write();
      team_.tell_amount(own.size());
      team_.post_to(root);
    }
    if (team_.rank() == root) {
      for (int i = 1; i < team_.ranks(); ++i) {
        const int r = (root + i) % team_.ranks();
        take_block(r, place_of(r), done, most, [&] { return team_.buffer_of(r); });
      }
    }
    end_data_step(small);
  }
}

void SharedCollectives::scatter(const CollectiveCall& call) {
  const bool root = team_.rank() == call.root;
  const CallSide& known = root ? call.send : call.receive;
  if (known.count * known.type->size == 0) return;
  if (!root) return scatter(ByteView(nullptr, 0), view(call.receive, 0, 1), call.root);
  if (!is_in_place(call.receive)) copy_own(call.send, call.root, call.receive, 0);
  scatter(view(call.send, 0, team_.ranks()), ByteView(nullptr, 0), call.root);
}

// All blocks but the root's go through the pieces one after the other, and each rank reads its own. The
// root's amount, which the first piece's line has, says which steps there are.
void SharedCollectives::scatter(ByteView all, ByteView own, int root) {
  const bool at_root = team_.rank() == root;
  const int others = team_.ranks() - 1;
  std::int64_t block = at_root ? all.size() / team_.ranks() : own.size();
  if (!at_root && block * others <= SharedTeam::few_lines)
    team_.fetch_from_next_piece((team_.rank() < root ? team_.rank() : team_.rank() - 1) * block, block);
  for (std::int64_t done = 0; done == 0 || done < block * others; done += team_.piece_bytes()) {
    team_.begin_piece_step();
    if (at_root) {
      const std::int64_t bytes = std::min(team_.piece_bytes(), block * others - done);
      const std::int64_t before_root = std::clamp<std::int64_t>(root * block - done, 0, bytes);
      std::byte* const piece = team_.piece_to_write();
      all.read(done, piece, before_root, copies_);
      all.read(done + before_root + block, piece + before_root, bytes - before_root, copies_);
      team_.note_copied_in(bytes);
      team_.line_to_write();
      team_.tell_amount(block);
      team_.post();
    } else {
      if (done == 0) {
        team_.wait_for(root);
        block = team_.amount_of(root);
        amounts_differed_ |= block > own.size();
      }
      const std::int64_t own_start = (team_.rank() < root ? team_.rank() : team_.rank() - 1) * block;
      const std::int64_t start = std::max(done, own_start);
      const std::int64_t end = std::min(done + team_.piece_bytes(), own_start + std::min(block, own.size()));
      if (start < end) {
        if (done != 0) team_.wait_for(root);
        own.write(start - own_start, team_.piece() + (start - done), end - start);
        team_.note_copied_out(end - start);
      }
    }
    team_.end_step();
  }
}

// All ranks know all amounts, in the form with counts too.
void SharedCollectives::allgather(const CollectiveCall& call) {
  const int rank = team_.rank();
  const int ranks = team_.ranks();
  std::int64_t largest = block(call.receive, 0).bytes();
  for (int r = 1; call.receive.counts && r < ranks; ++r)
    largest = std::max(largest, block(call.receive, r).bytes());
  if (largest == 0) return;
  const Place own_place = block(call.receive, rank);
  if (!is_in_place(call.send) && writes()) copy(whole(call.send), own_place);
  if (!call.receive.counts && allgathers_in_levels(largest)) return allgather_data_in_levels(call);
  ByteView own = view(own_place);
  const std::int64_t most = gathered_at_once(largest);
  for (std::int64_t done = 0; done < largest; done += most) {
    const auto part = [done, most](const ByteView& data) {
      return std::clamp<std::int64_t>(data.size() - done, 0, most);
    };
    const auto write = [&](std::byte* out) {
      own.read(done, out, part(own), copies_);
      team_.note_copied_in(part(own));
    };
    const auto read = [&](SharedTeam::Places places) {
      for (int i = 1; i < ranks; ++i) {
        const int r = (rank + i) % ranks;
        ByteView theirs = view(block(call.receive, r));
        team_.wait_for(r);
        theirs.write(done, places[r], part(theirs));
        team_.note_copied_out(part(theirs));
      }
      team_.heard_from_all();
    };
    if (!write_then_read(largest, write, read)) return;
  }
}

}  // namespace hawser
