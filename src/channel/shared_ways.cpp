// Which way a large message goes in shared memory: through the ring, where both ends copy, or by the kernel,
// where the receiver does, perhaps with the sender's help. Which is faster depends on the cores, in a virtual
// machine on the hour, and on what else both ends have to copy.
#include <algorithm>

#include "base/ticks.h"
#include "channel/shared_memory_channel.h"

namespace hawser {
namespace {

// Of a switch between two processes of a core, with what it costs their caches afterwards: 3 to 5 us at 2 to
// 3 GHz.
constexpr float ticks_of_switch = 10'000;

}  // namespace

bool SharedMemoryChannel::choose_kernel(Fetch& fetch) {
  const bool sends = offers();
  fetch.begun = ticks();
  fetch.sources = sources_;
  // Who sends something large itself copies that, too; and where processes share cores, only one copies.
  fetch.sums = load_.crowded() || sends;
  fetch.by_kernel = false;
  if (single_copy_ == SingleCopy::never || !may_copy(fetch)) return false;
  if (single_copy_ == SingleCopy::always) return fetch.by_kernel = true;
  // One direction through the ring and the other by the kernel would have one end copy three times and the
  // other once. So where two processes send to each other, one of them chooses.
  const Way theirs = large_ways(*fetch.peer).theirs[class_of(fetch.into.size)];
  fetch.mirrored = sends && fetch.peer->index < self_ && theirs != unknown_way;
  fetch.by_kernel = (fetch.mirrored ? theirs : ways_of(fetch).next()) == by_kernel;
  return fetch.by_kernel;
}

SharedMemoryChannel::LargeWays& SharedMemoryChannel::large_ways(Peer& peer) {
  if (peer.ways == nullptr) peer.ways = std::make_unique<LargeWays>();
  return *peer.ways;
}

// Where a message is alone, both ends of the ring copy at the same time, and the dearer copy counts.
// Elsewhere a byte that is copied once may cost less than one that is copied twice.
CheaperWay& SharedMemoryChannel::ways_of(const Fetch& fetch) {
  LargeWays& ways = large_ways(*fetch.peer);
  const bool alone = !fetch.sums && fetch.sources == 1;
  return (alone ? ways.alone : ways.together)[class_of(fetch.into.size)];
}

void SharedMemoryChannel::note_their_way(Peer& peer, std::int64_t size, Way way) {
  LargeWays& ways = large_ways(peer);
  const int size_class = class_of(size);
  if (ways.last[size_class] == way) ways.theirs[size_class] = way;
  ways.last[size_class] = way;
}

// Of processes that share a core, for a message through the ring: each end has its turn.
float SharedMemoryChannel::switches_of(std::int64_t size) const {
  const std::int64_t in_turn = pieces_in_turn * piece_;
  return static_cast<float>(2 * ((size + in_turn - 1) / in_turn));
}

// In ticks a byte, what the message took of the end that it kept busy for longer.
void SharedMemoryChannel::record_cost(const Fetch& fetch) {
  if (fetch.timed_bytes == 0 || fetch.mirrored) return;
  const auto size = static_cast<float>(fetch.into.size);
  const float copy = static_cast<float>(fetch.ticks) / static_cast<float>(fetch.timed_bytes);
  const auto sources = static_cast<float>(fetch.sources);
  const auto since = [](std::uint64_t begin) { return static_cast<float>(ticks() - begin); };
  CheaperWay& ways = ways_of(fetch);
  // Where processes share cores, time that passes says little of what was done in it.
  const bool crowded = load_.crowded();
  if (fetch.by_kernel) {
    // With help it is over when the sender is, too.
    if (fetch.copied_here)
      ways.record(by_kernel, fetch.helped && !crowded ? since(fetch.copying) / size : sources * copy);
  } else if (fetch.copied_here) {
    // The sender did not come, so this end copied after all, and waited in vain before.
    if (!crowded) ways.record(by_ring, since(fetch.begun) / size);
  } else if (fetch.ring_cost > 0) {
    const auto [less, more] = std::minmax({sources * copy, fetch.ring_cost});
    // The end that begins later waits for the first piece.
    const float first = std::min(1.0F, static_cast<float>(piece_) / size);
    const float copies = fetch.sums ? more + less : more + less * first;
    ways.record(by_ring, crowded ? copies + switches_of(fetch.into.size) * ticks_of_switch / size : copies);
  }
}

// The sender may copy at the same time, if that is likely to be worth it: who has sent something itself finds
// the other busy with that, of several messages the sender could copy none sooner, and who shares its core
// would have to wait for its turn. On a Xeon of 16 cores, windows of 256 KiB in both directions moved 25 GB/s
// with help and 32 without.
void SharedMemoryChannel::ask_for_help(Fetch& fetch) {
  // Who computes leaves numbers in use until it comes.
  constexpr std::size_t spare_numbers = ProcessBlock::transfers_count / 2;
  const bool alone = fetches_.front() == &fetch;
  if (!load_.crowded() && !offers() && fetch.into.size >= (alone ? least_helped : least_helped_of_many) &&
      free_numbers_.size() >= spare_numbers)
    send_help(fetch);
}

void SharedMemoryChannel::send_help(Fetch& fetch) {
  fetch.pulled = fetch.helped = true;
  const Help help{fetch.expose, static_cast<std::uint32_t>(fetch.number),
                  reinterpret_cast<std::uint64_t>(fetch.into.data), fetch.into.size};
  send_control(*fetch.peer, Slot::help, &help, sizeof(help));
}

}  // namespace hawser
