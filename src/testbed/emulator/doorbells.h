// The page by which a client tells the daemon which queue pairs to look at. Any thread of the client appends;
// the daemon takes. A queue pair stands in it once at most (QueuePairHeader::rung), so it cannot overflow:
// entries of destroyed queue pairs are taken before numbers run out.
#pragma once

#include <atomic>
#include <cstdint>

#include "provider/wire.h"

namespace hawser::emulator {

struct DoorbellPage {
  static constexpr std::uint64_t slots = 2 * verbs::most_queue_pairs;

  std::atomic<std::uint32_t> asleep{0};  // the daemon waits, and must be woken
  alignas(verbs::cache_line) std::atomic<std::uint64_t> head{0};
  alignas(verbs::cache_line) std::atomic<std::uint32_t> queue[slots];

  // Whether the daemon must be woken.
  bool append(std::uint32_t queue_pair) {
    const std::uint64_t at = head.fetch_add(1, std::memory_order_relaxed);
    queue[at % slots].store(queue_pair, std::memory_order_seq_cst);
    return asleep.load(std::memory_order_seq_cst) != 0;
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
