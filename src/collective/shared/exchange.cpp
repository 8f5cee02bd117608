// All-to-all: each rank's line, or its buffer, has a part for every other one.
#include "collective/shared/views.h"

namespace hawser {

// Of a rank's buffer, which holds a part of its block for every other rank.
std::int64_t SharedCollectives::alltoall_room() const {
  return team_.buffer_bytes() / (team_.ranks() - 1) & ~std::int64_t{63};
}

// Each part waits for all ranks' turns on their cores: with very many of them messages are better. Where many
// ranks have their own, a rank reads a line of every other one in each piece. So messages are better for few
// bytes, and for many that go in several pieces; from where on ways are measured, that decides.
bool SharedCollectives::serves_alltoall(const CollectiveCall& call) const {
  constexpr std::int64_t most_turns = 32, most_lines = 192, measured = 8 << 10;
  constexpr int many = 32;
  const std::int64_t block = call.receive.count * call.receive.type->size;
  const std::int64_t room = alltoall_room();
  if (block == 0) return true;
  if (all_in_groups() && block < measured)
    return block <= most_lines / team_.ranks() * room && (team_.ranks() <= many || block >= team_.ranks());
  return room > 0 && (!team_.crowded() || block <= most_turns * room);
}

void SharedCollectives::alltoall(const CollectiveCall& call) {
  const std::int64_t block = call.receive.count * call.receive.type->size;
  if (block == 0) return;
  const bool in_place_here = is_in_place(call.send);
  const CallSide& source = in_place_here ? call.receive : call.send;
  if (!in_place_here && writes()) copy_own(call.send, team_.rank(), call.receive, team_.rank());
  exchange(
      block,
      [&](int to, std::int64_t offset, std::byte* out, std::int64_t bytes) {
        view(source, to, 1).read(offset, out, bytes, copies_);
      },
      [&call](int from, std::int64_t offset, const std::byte* in, std::int64_t bytes) {
        view(call.receive, from, 1).write(offset, in, bytes);
      });
}

std::int64_t SharedCollectives::exchanged_at_once(std::int64_t block) const {
  return team_.fits_line(block * (team_.ranks() - 1)) ? block : even_piece(block, alltoall_room());
}

void SharedCollectives::exchange(std::int64_t block, PartWriter write, PartReader read) {
  if (block == 0) return;
  const int rank = team_.rank();
  const int ranks = team_.ranks();
  const std::int64_t room = exchanged_at_once(block);
  // Where the part for `to` stands in the memory of `from`.
  const auto place = [room](int from, int to) { return (to < from ? to : to - 1) * room; };
  for (std::int64_t done = 0; done < block; done += room) {
    const std::int64_t bytes = std::min(room, block - done);
    const auto write_parts = [&](std::byte* out) {
      for (int i = 1; i < ranks; ++i) {
        const int r = (rank + i) % ranks;
        write(r, done, out + place(rank, r), bytes);
        team_.note_copied_in(bytes);
      }
      team_.tell_amount(block);
    };
    const auto read_parts = [&](SharedTeam::Places places) {
      for (int i = 1; i < ranks; ++i) {
        const int r = (rank + i) % ranks;
        team_.wait_for(r);
        if (team_.amount_of(r) != block) [[unlikely]] {
          amounts_differed_ = true;
          continue;
        }
        read(r, done, places[r] + place(r, rank), bytes);
        team_.note_copied_out(bytes);
      }
      team_.heard_from_all();
    };
    if (!write_then_read(block * (ranks - 1), write_parts, read_parts)) return;
  }
}

}  // namespace hawser
