// The memory that a process writes its paths' state to, and `hawser top` reads while it runs: a header, a
// ring of recent events, and a row per path. One writer, any number of readers of other processes, which may
// stop anywhere; nobody waits for anybody. Records that belong together stand behind a sequence word, so that
// a reader never sees half of one; counters are words of their own. All times are of the machine's monotonic
// clock, which all processes of a machine share.
#pragma once

#include <array>
#include <atomic>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <type_traits>

#include "base/time.h"

namespace hawser {

// A record that one writer replaces and others copy out. T is plain bytes, a multiple of 8 of them.
template <class T>
class SequencedRecord {
  static_assert(std::is_trivially_copyable_v<T> && sizeof(T) % 8 == 0);
  static constexpr std::size_t words = sizeof(T) / 8;

 public:
  void store(const T& value) {
    const auto bits = std::bit_cast<std::array<std::uint64_t, words>>(value);
    const std::uint64_t sequence = sequence_.load(std::memory_order_relaxed);
    sequence_.store(sequence + 1, std::memory_order_relaxed);  // odd: being written
    // Whoever sees a new word sees that, too. (No fences: the thread sanitizer does not know them.)
    for (std::size_t i = 0; i < words; ++i) words_[i].store(bits[i], std::memory_order_release);
    sequence_.store(sequence + 2, std::memory_order_release);
  }

  // False: never written, or still being written after many tries (the writer was stopped in the middle).
  bool load(T& value) const {
    for (int tries = 0; tries < 1000; ++tries) {
      const std::uint64_t before = sequence_.load(std::memory_order_acquire);
      if (before == 0) return false;
      if (before % 2 != 0) continue;
      std::array<std::uint64_t, words> bits;
      for (std::size_t i = 0; i < words; ++i) bits[i] = words_[i].load(std::memory_order_acquire);
      if (sequence_.load(std::memory_order_relaxed) != before) continue;
      value = std::bit_cast<T>(bits);
      return true;
    }
    return false;
  }

 private:
  std::atomic<std::uint64_t> sequence_ = 0;
  std::array<std::atomic<std::uint64_t>, words> words_ = {};
};
static_assert(std::atomic<std::uint64_t>::is_always_lock_free, "readers are in other processes");

// Of a process whose node the launcher did not tell.
inline constexpr std::uint16_t unknown_node = 0xffff;

// What a path is, and how it stands. Text is ended by a zero.
struct PathStatus {
  std::int32_t peer = -1;
  std::uint16_t subchannel = 0;
  std::uint16_t rail = 0;
  std::uint16_t path = 0;
  std::uint16_t engine = 0;
  std::uint8_t state = 0;        // PathCondition
  std::uint8_t last_reason = 0;  // PathReason
  std::uint16_t peer_node = unknown_node;
  std::uint32_t connection_generation = 0;
  std::uint32_t failures = 0;
  Nanoseconds last_change = 0;
  char port[24] = {};  // "mlx4_0/1"
};
static_assert(sizeof(PathStatus) == 56);

struct StatusRow {
  SequencedRecord<PathStatus> facts;
  std::atomic<std::int64_t> bytes_per_second = 0;  // the weight
  std::atomic<std::int64_t> bytes_in_flight = 0;
  std::atomic<std::uint64_t> bytes_done = 0;  // readers see the rate from two looks
  std::atomic<std::uint64_t> requests_done = 0;
  std::atomic<std::int64_t> round_trip = 0;  // nanoseconds; 0: not known
  std::uint64_t reserved[3] = {};
};
static_assert(sizeof(StatusRow) == 128);

struct EventRecord {
  std::uint64_t number = 0;
  Nanoseconds time = 0;
  std::int64_t value = 0;  // PathEvent says what
  std::int32_t peer = -1;  // -1: none in particular
  std::int32_t row = -1;
  std::uint8_t event = 0;   // PathEvent
  std::uint8_t reason = 0;  // PathReason
  std::uint8_t reserved[6] = {};
};
static_assert(sizeof(EventRecord) == 40);

struct StatusIdentity {
  std::int64_t process_id = 0;  // as the process sees itself
  std::int32_t rank = 0;
  std::int32_t size = 1;
  char job[64] = {};
  char policy[32] = {};  // empty: no rails are used
  std::uint16_t node = unknown_node;
  char host[46] = {};
  Nanoseconds started = 0;
};
static_assert(sizeof(StatusIdentity) == 168);

inline constexpr std::uint32_t recent_events = 64;
inline constexpr std::size_t status_counters = 80;                  // room for those of RailCounters
inline constexpr std::uint64_t status_magic = 0x32535554'41545348;  // "HSTATUS2"

struct StatusHeader {
  std::atomic<std::uint64_t> magic = 0;  // status_magic once all the rest of the header is valid
  std::uint32_t header_bytes = 0;
  std::uint32_t row_bytes = 0;
  std::uint32_t row_capacity = 0;
  std::uint32_t reserved = 0;
  std::atomic<std::uint64_t> rows = 0;       // in use, from the first
  std::atomic<std::uint64_t> rows_lost = 0;  // paths that found no row
  std::atomic<std::uint64_t> events = 0;     // so far; the last recent_events are in the ring
  SequencedRecord<StatusIdentity> identity;
  std::array<std::atomic<std::uint64_t>, status_counters> counters = {};
  std::array<SequencedRecord<EventRecord>, recent_events> ring;
};

inline constexpr std::size_t status_header_bytes = (sizeof(StatusHeader) + 127) / 128 * 128;
inline constexpr const char* status_file_label = "hawser-status";

}  // namespace hawser
