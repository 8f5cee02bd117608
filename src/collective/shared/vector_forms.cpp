// What one rank has for others stands in its line, or behind one another in its buffer; the line begins with
// the length of each block, from which everyone finds its own. A rank waits only for those that have
// something for it, and one that has nothing for anybody writes nothing.
#include "collective/shared/vector_forms.h"

#include <array>
#include <bit>

#include "collective/shared/views.h"

namespace hawser {

namespace {

// Of the block for each rank. Flat teams have no more ranks.
using Length = std::uint32_t;
constexpr int most_receivers = 16;
constexpr Length goes_by_message = ~Length{0};
using Lengths = std::array<Length, most_receivers>;

// At the begin of a line, of many ranks in fewer bits.
constexpr int most_long_lengths = 8;
constexpr std::int64_t longest_of_many = 0xffff - 63;

std::int64_t bytes_of_lengths(int ranks) { return ranks * (ranks <= most_long_lengths ? 4 : 2); }

void write_lengths(const Lengths& lengths, int ranks, std::byte* line) {
  if (ranks <= most_long_lengths) {
    std::memcpy(line, lengths.data(), static_cast<std::size_t>(bytes_of_lengths(ranks)));
    return;
  }
  std::array<std::uint16_t, most_receivers> few_bits;
  for (std::size_t r = 0; r < few_bits.size(); ++r) few_bits[r] = static_cast<std::uint16_t>(lengths[r]);
  std::memcpy(line, few_bits.data(), static_cast<std::size_t>(bytes_of_lengths(ranks)));
}

Lengths read_lengths(const std::byte* line, int ranks) {
  Lengths lengths{};
  if (ranks <= most_long_lengths) {
    std::memcpy(lengths.data(), line, static_cast<std::size_t>(bytes_of_lengths(ranks)));
    return lengths;
  }
  std::array<std::uint16_t, most_receivers> few_bits{};
  std::memcpy(few_bits.data(), line, static_cast<std::size_t>(bytes_of_lengths(ranks)));
  for (std::size_t r = 0; r < few_bits.size(); ++r)
    lengths[r] = few_bits[r] == 0xffff ? goes_by_message : few_bits[r];
  return lengths;
}

// Where the blocks of a rank stand: in the order of their receivers.
struct Layout {
  std::int64_t lengths_bytes;
  bool in_line;
  std::int64_t unit;  // blocks begin at multiples of it

  Layout(const Lengths& lengths, int ranks) : lengths_bytes(bytes_of_lengths(ranks)) {
    constexpr std::int64_t few_lines = 1024;
    std::int64_t total = 0;
    for (const Length length : lengths) total += length == goes_by_message ? 0 : length;
    in_line = lengths_bytes + total <= SharedTeam::line_bytes;
    unit = in_line ? 1 : total <= few_lines ? 8 : 64;
  }
  std::int64_t room(Length length) const {
    return length == goes_by_message ? 0 : (length + unit - 1) & ~(unit - 1);
  }
  // Of the blocks of the first so many ranks.
  std::int64_t room(const Lengths& lengths, int ranks) const {
    std::int64_t all = 0;
    for (int r = 0; r < ranks; ++r) all += room(lengths[static_cast<std::size_t>(r)]);
    return all;
  }
};

const CallSide& sent(const CollectiveCall& call) { return is_in_place(call.send) ? call.receive : call.send; }

}  // namespace

Place outgoing(const CollectiveCall& call, int own, int to) {
  if (call.kind == Collective::gatherv) return to == call.root && own != to ? whole(call.send) : Place{};
  if (call.kind == Collective::scatterv && own != call.root) return {};
  return block(sent(call), to);
}

Place incoming(const CollectiveCall& call, int own, int from) {
  if (call.kind == Collective::scatterv)
    return from == call.root && own != from ? whole(call.receive) : Place{};
  if (call.kind == Collective::gatherv && own != call.root) return {};
  return block(call.receive, from);
}

// Measured against messages (doc/collective.md). With more ranks on cores of their own it is where other
// operations begin to measure what is faster (measured_ways.h), because that depends on the cores.
ShortBlocks SharedCollectives::short_blocks(Collective kind) const {
  constexpr std::int64_t KiB = 1024;
  const bool to_one = kind == Collective::gatherv;
  const bool rooted = to_one || kind == Collective::scatterv;
  const std::int64_t pays = team_.ranks() == 2 || team_.crowded() ? 64 * KiB : rooted ? 16 * KiB : 8 * KiB;
  const std::int64_t most = team_.ranks() <= most_long_lengths ? pays : std::min(pays, longest_of_many);
  const int receivers = to_one ? 1 : team_.ranks() - 1;
  return {std::min(most, team_.buffer_bytes() / receivers & ~std::int64_t{63}),
          team_.ranks() > 2 || team_.crowded()};
}

bool SharedCollectives::has_long_blocks(const CollectiveCall& call) const {
  const ShortBlocks short_ones = short_blocks(call.kind);
  const int own = team_.rank();
  for (int r = 0; r < team_.ranks(); ++r) {
    if (r != own &&
        !(short_ones.have(length(outgoing(call, own, r))) && short_ones.have(length(incoming(call, own, r)))))
      return true;
  }
  return false;
}

SharedCollectives::OtherWay SharedCollectives::pass_blocks(const CollectiveCall& call, LongBlocks* others) {
  team_.begin_ring_step();
  copy_own_block(call);
  write_blocks(call);
  if (others != nullptr) others->send();
  const OtherWay other = read_blocks(call, others);
  team_.end_step();
  return other;
}

void SharedCollectives::copy_own_block(const CollectiveCall& call) {
  const int own = team_.rank();
  if (is_in_place(call.send) || is_in_place(call.receive)) return;
  if (call.kind == Collective::alltoallv || call.kind == Collective::alltoallw)
    copy(block(call.send, own), block(call.receive, own));
  else if (own == call.root && call.kind == Collective::gatherv)
    copy(whole(call.send), block(call.receive, own));
  else if (own == call.root)
    copy(block(call.send, own), whole(call.receive));
}

void SharedCollectives::write_blocks(const CollectiveCall& call) {
  const int own = team_.rank();
  const int ranks = team_.ranks();
  const ShortBlocks short_ones = short_blocks(call.kind);
  Lengths lengths{};
  std::uint32_t receivers = 0, woken = 0;  // a message wakes its receiver itself
  for (int r = 0; r < ranks; ++r) {
    const std::int64_t bytes = r == own ? 0 : length(outgoing(call, own, r));
    if (bytes == 0) continue;
    receivers |= 1U << r;
    const bool is_short = short_ones.have(bytes);
    woken |= is_short ? 1U << r : 0U;
    lengths[static_cast<std::size_t>(r)] = is_short ? static_cast<Length>(bytes) : goes_by_message;
  }
  if (receivers == 0) return;
  const Layout layout(lengths, ranks);
  SharedTeam::RingPlace place{};
  if (!layout.in_line) place = team_.ring_to_write(layout.room(lengths, ranks), receivers);
  std::byte* const line = team_.line_to_write(receivers);
  std::byte* const out = layout.in_line ? line + layout.lengths_bytes : place.memory;
  std::int64_t start = 0;
  for (int r = 0; r < ranks; ++r) {
    const Length bytes = lengths[static_cast<std::size_t>(r)];
    if (bytes == 0 || bytes == goes_by_message) continue;
    view(outgoing(call, own, r)).read(0, out + start, bytes, copies_);
    team_.note_copied_in(bytes);
    start += layout.room(bytes);
  }
  // Last, or who waits for the line would take it back meanwhile.
  write_lengths(lengths, ranks, line);
  team_.tell_amount(place.offset);
  team_.post_to_those(woken);
}

// Long blocks last: what their senders' lines say is needed only if they do not come.
SharedCollectives::OtherWay SharedCollectives::read_blocks(const CollectiveCall& call, LongBlocks* others) {
  const int own = team_.rank();
  const int ranks = team_.ranks();
  const ShortBlocks short_ones = short_blocks(call.kind);
  OtherWay other;
  bool from_all = true;
  std::uint32_t long_ones = 0;
  for (int i = 1; i < ranks; ++i) {
    const int r = (own + i) % ranks;
    const std::int64_t wanted = length(incoming(call, own, r));
    if (wanted == 0 || !short_ones.have(wanted)) {
      from_all = false;
      long_ones |= wanted == 0 ? 0U : 1U << r;
      continue;
    }
    team_.wait_for(r);
    read_block(call, r, other);
  }
  if (from_all) team_.heard_from_all();
  for (; long_ones != 0; long_ones &= long_ones - 1) {
    const int r = std::countr_zero(long_ones);
    if (team_.wait_for_or(r, [&] { return !others->awaited_from(r); })) read_block(call, r, other);
  }
  return other;
}

// A rank has posted; its block is short, or was expected to be.
void SharedCollectives::read_block(const CollectiveCall& call, int from, OtherWay& other) {
  const int own = team_.rank();
  const int ranks = team_.ranks();
  const Place place = incoming(call, own, from);
  const std::int64_t wanted = length(place);
  const bool expected = short_blocks(call.kind).have(wanted);
  const std::byte* const line = team_.line_of(from);
  const Lengths lengths = read_lengths(line, ranks);
  const Length bytes = lengths[static_cast<std::size_t>(own)];
  if (bytes == goes_by_message) {
    if (expected) [[unlikely]]
      other.messages |= 1U << from;
    return;
  }
  if (!expected) [[unlikely]]
    other.blocks |= 1U << from;
  if (bytes != wanted) [[unlikely]]
    amounts_differed_ = true;
  const Layout layout(lengths, ranks);
  const std::int64_t start = layout.room(lengths, own);
  const std::byte* const in =
      layout.in_line ? line + layout.lengths_bytes : team_.ring_of(from, team_.amount_of(from));
  const std::int64_t some = std::min<std::int64_t>(bytes, wanted);
  view(place).write(0, in + start, some);
  team_.note_copied_out(some);
}

}  // namespace hawser
