// What one rank has for others stands in its line, or behind one another in its buffer; the line begins with
// the length of each block, from which everyone finds its own. A rank waits only for those that have
// something for it, and one that has nothing for anybody writes nothing.
#include "collective/shared/vector_forms.h"

#include <algorithm>
#include <array>
#include <bit>
#include <span>
#include <utility>

#include "collective/shared/views.h"

namespace hawser {

namespace {

using RankSet = SharedTeam::RankSet;

// Of the block for each receiver, of which a gatherv has one.
using Length = std::uint32_t;
constexpr Length goes_by_message = ~Length{0};
static_assert(most_of_vector_forms <= SharedTeam::most_in_set);
struct Lengths {
  std::array<Length, most_of_vector_forms> of;
  int count;  // the others are not set

  std::span<Length> all() { return {of.data(), static_cast<std::size_t>(count)}; }
  std::span<const Length> all() const { return {of.data(), static_cast<std::size_t>(count)}; }
  Length operator[](int i) const { return of[static_cast<std::size_t>(i)]; }
};
int receivers_of(Collective kind, int ranks) { return kind == Collective::gatherv ? 1 : ranks; }
int place_among_receivers(Collective kind, int rank) { return kind == Collective::gatherv ? 0 : rank; }

// At the begin of a line, of many receivers in fewer bits; of more at the begin of what the line points to.
constexpr int most_long_lengths = 8, most_in_line = SharedTeam::line_bytes / 2;
constexpr std::int64_t longest_of_many = 0xffff - 63;
constexpr std::int64_t bytes_of_many_lengths = 2 * most_of_vector_forms;

std::int64_t bytes_of_lengths(int receivers) { return receivers * (receivers <= most_long_lengths ? 4 : 2); }

void write_lengths(const Lengths& lengths, std::byte* out) {
  const auto bytes = static_cast<std::size_t>(bytes_of_lengths(lengths.count));
  if (lengths.count <= most_long_lengths) {
    std::memcpy(out, lengths.of.data(), bytes);
    return;
  }
  std::array<std::uint16_t, most_of_vector_forms> few_bits;
  std::copy_n(lengths.of.begin(), lengths.count, few_bits.begin());
  std::memcpy(out, few_bits.data(), bytes);
}

Lengths read_lengths(const std::byte* in, int receivers) {
  Lengths lengths;
  lengths.count = receivers;
  const auto bytes = static_cast<std::size_t>(bytes_of_lengths(receivers));
  if (receivers <= most_long_lengths) {
    std::memcpy(lengths.of.data(), in, bytes);
    return lengths;
  }
  std::array<std::uint16_t, most_of_vector_forms> few_bits;
  std::memcpy(few_bits.data(), in, bytes);
  std::transform(few_bits.begin(), few_bits.begin() + receivers, lengths.of.begin(),
                 [](std::uint16_t length) { return length == 0xffff ? goes_by_message : length; });
  return lengths;
}

// Where the blocks of a rank stand: in the order of their receivers.
struct Layout {
  std::int64_t first;  // bytes before them
  bool in_line;
  std::int64_t unit;  // blocks begin at multiples of it

  explicit Layout(const Lengths& lengths) {
    constexpr std::int64_t few_lines = 1024;
    std::int64_t total = 0;
    for (const Length length : lengths.all()) total += length == goes_by_message ? 0 : length;
    const std::int64_t before = bytes_of_lengths(lengths.count);
    in_line = before + total <= SharedTeam::line_bytes;
    unit = in_line ? 1 : total <= few_lines ? 8 : 64;
    first = in_line ? before : lengths.count > most_in_line ? (before + 63) & ~std::int64_t{63} : 0;
  }
  std::int64_t room(Length length) const {
    return length == goes_by_message ? 0 : (length + unit - 1) & ~(unit - 1);
  }
  // Where the block of this receiver begins, in the line or in the buffer; or where all end.
  std::int64_t start(const Lengths& lengths, int receiver) const {
    std::int64_t at = first;
    for (int r = 0; r < receiver; ++r) at += room(lengths[r]);
    return at;
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
  const bool large = rooted && !team_.in_levels();
  const std::int64_t pays = team_.ranks() == 2 || team_.crowded() ? 64 * KiB : large ? 16 * KiB : 8 * KiB;
  const int receivers = to_one ? 1 : team_.ranks();
  const std::int64_t most = receivers <= most_long_lengths ? pays : std::min(pays, longest_of_many);
  const std::int64_t room = team_.buffer_bytes() - (receivers > most_in_line ? bytes_of_many_lengths : 0);
  return {std::clamp(room / std::max(receivers - 1, 1) & ~std::int64_t{63}, std::int64_t{0}, most),
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

// Each of many ranks waits for every other one's message. Who finds the message first need not read the line.
static bool messages_save_lines(const CollectiveCall& call, const SharedTeam& team) {
  return team.in_levels() && (call.kind == Collective::alltoallv || call.kind == Collective::alltoallw);
}

static bool has_short_blocks(const CollectiveCall& call, const SharedTeam& team,
                             const ShortBlocks& short_ones) {
  for (int r = 0; r < team.ranks(); ++r) {
    const std::int64_t bytes = r == team.rank() ? 0 : length(outgoing(call, team.rank(), r));
    if (bytes > 0 && short_ones.have(bytes)) return true;
  }
  return false;
}

SharedCollectives::OtherWay SharedCollectives::pass_blocks(const CollectiveCall& call, LongBlocks* others) {
  team_.begin_ring_step();
  copy_own_block(call);
  const bool messages_first = others != nullptr && messages_save_lines(call, team_) &&
                              !has_short_blocks(call, team_, short_blocks(call.kind));
  if (messages_first) others->send();
  write_blocks(call);
  if (others != nullptr && !messages_first) others->send();
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
  Lengths lengths;
  lengths.count = receivers_of(call.kind, ranks);
  std::ranges::fill(lengths.all(), Length{0});
  RankSet receivers = 0, woken = 0;  // a message wakes its receiver itself
  for (int r = 0; r < ranks; ++r) {
    const std::int64_t bytes = r == own ? 0 : length(outgoing(call, own, r));
    if (bytes == 0) continue;
    receivers |= SharedTeam::set_of(r);
    const bool is_short = short_ones.have(bytes);
    woken |= is_short ? SharedTeam::set_of(r) : RankSet{0};
    lengths.of[static_cast<std::size_t>(place_among_receivers(call.kind, r))] =
        is_short ? static_cast<Length>(bytes) : goes_by_message;
  }
  if (receivers == 0) return;
  const Layout layout(lengths);
  SharedTeam::RingPlace place{};
  if (!layout.in_line) place = team_.ring_to_write(layout.start(lengths, lengths.count), receivers);
  std::byte* const line = team_.line_to_write(receivers);
  std::byte* const out = layout.in_line ? line : place.memory;
  std::int64_t start = layout.first;
  for (RankSet left = woken; left != 0; left &= left - 1) {
    const int r = std::countr_zero(left);
    const Length bytes = lengths[place_among_receivers(call.kind, r)];
    view(outgoing(call, own, r)).read(0, out + start, bytes, copies_);
    team_.note_copied_in(bytes);
    start += layout.room(bytes);
  }
  // Last, or who waits for the line would take it back meanwhile.
  write_lengths(lengths, lengths.count > most_in_line ? place.memory : line);
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
  RankSet long_ones = 0;
  for (int i = 1; i < ranks; ++i) {
    const int r = (own + i) % ranks;
    const std::int64_t wanted = length(incoming(call, own, r));
    if (wanted == 0 || !short_ones.have(wanted)) {
      from_all = false;
      long_ones |= wanted == 0 ? RankSet{0} : SharedTeam::set_of(r);
      continue;
    }
    team_.wait_for(r);
    read_block(call, r, other);
  }
  if (from_all) team_.heard_from_all();
  for (; long_ones != 0; long_ones &= long_ones - 1) {
    const int r = std::countr_zero(long_ones);
    bool passed = !messages_save_lines(call, team_);  // what has come may not have been taken in yet
    if (!passed) team_.await([&] { return !others->awaited_from(r) || std::exchange(passed, true); });
    if (team_.wait_for_or(r, [&] { return !others->awaited_from(r); })) read_block(call, r, other);
  }
  return other;
}

// A rank has posted; its block is short, or was expected to be.
void SharedCollectives::read_block(const CollectiveCall& call, int from, OtherWay& other) {
  const int own = team_.rank();
  const Place place = incoming(call, own, from);
  const std::int64_t wanted = length(place);
  const bool expected = short_blocks(call.kind).have(wanted);
  const std::byte* const line = team_.line_of(from);
  const int receivers = receivers_of(call.kind, team_.ranks());
  const int place_here = place_among_receivers(call.kind, own);
  const bool pointed_to = receivers > most_in_line;
  if (pointed_to) team_.note_copied_out(bytes_of_lengths(receivers));
  const Lengths lengths =
      read_lengths(pointed_to ? team_.ring_of(from, team_.amount_of(from)) : line, receivers);
  const Length bytes = lengths[place_here];
  if (bytes == goes_by_message) {
    if (expected) [[unlikely]]
      other.messages |= SharedTeam::set_of(from);
    return;
  }
  if (!expected) [[unlikely]]
    other.blocks |= SharedTeam::set_of(from);
  if (bytes != wanted) [[unlikely]]
    amounts_differed_ = true;
  const Layout layout(lengths);
  const std::int64_t start = layout.start(lengths, place_here);
  const std::byte* const in = layout.in_line ? line : team_.ring_of(from, team_.amount_of(from));
  const std::int64_t some = std::min<std::int64_t>(bytes, wanted);
  view(place).write(0, in + start, some);
  team_.note_copied_out(some);
}

}  // namespace hawser
