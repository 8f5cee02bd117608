// The pages by which clients and the daemon tell each other where to look.
#pragma once

#include <atomic>
#include <cstdint>

#include "provider/wire.h"

namespace hawser::emulator {

// What the daemon tells all its clients. They map it to read only.
struct DaemonPage {
  std::atomic<std::uint32_t> asleep{0};  // it waits, and must be woken
  std::atomic<int> core{-1};             // where it was seen last
  // Asked by somebody who runs on the core.
  bool waits_for_core(int here) const {
    return asleep.load(std::memory_order_acquire) == 0 && core.load(std::memory_order_relaxed) == here;
  }
};

// By this page a client tells the daemon which queue pairs to look at. Any thread of the client appends; the
// daemon takes. A queue pair stands in it once at most (QueuePairHeader::rung), so it cannot overflow:
// entries of destroyed queue pairs are taken before numbers run out.
struct DoorbellPage {
  static constexpr std::uint64_t slots = 2 * verbs::most_queue_pairs;

  alignas(verbs::cache_line) std::atomic<std::uint64_t> head{0};
  alignas(verbs::cache_line) std::atomic<std::uint32_t> queue[slots];

  // Afterwards, a daemon that is asleep must be woken.
  void append(std::uint32_t queue_pair) {
    const std::uint64_t at = head.fetch_add(1, std::memory_order_relaxed);
    queue[at % slots].store(queue_pair, std::memory_order_seq_cst);
  }
  // 0 when there is none; `taken` counts those that were taken.
  std::uint32_t take(std::uint64_t& taken) {
    std::atomic<std::uint32_t>& slot = queue[taken % slots];
    const std::uint32_t queue_pair = slot.load(std::memory_order_seq_cst);
    if (queue_pair == 0) return 0;
    slot.store(0, std::memory_order_relaxed);
    ++taken;
    return queue_pair;
  }
};

}  // namespace hawser::emulator
