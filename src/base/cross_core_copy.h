// CrossCoreCopy: copies into memory that another core reads next, such as a ring in shared memory.
//
// An ordinary store has to fetch its cache line from the core that read it last, and only a few such fetches
// are under way at a time: into a ring of 16 KiB pieces 1 MiB takes about 130 us within an L3 and 480 us from
// one L3 to another (EPYC, Zen 5). A store past the caches (non-temporal) fetches nothing, about 40 us in
// both cases, but whoever reads then gets the data from memory. Which is better depends on where the cores
// are, on how much memory is used in turn, and, in a virtual machine, on the hour. So both are timed now and
// then.
//
// Threads: none; each writer has its own.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>

#include "base/function_ref.h"

namespace hawser {

// Chooses between two ways of doing the same by what they cost.
class CheaperWay {
 public:
  // The way to go now: 0 or 1. To be followed by record(); others may begin before that.
  int next();
  // The way that was cheaper so far, for uses that are not recorded.
  int current() const { return way_; }
  // What it cost, per unit of work, in any unit but 0.
  void record(int way, float cost);

 private:
  static constexpr std::uint8_t warm_up = 8;  // uses, ways in turn, of which the best counts
  static constexpr std::uint16_t shortest_wait = 8;
  static constexpr std::uint16_t longest_wait = 256;

  void record_trial(float cost);

  // Small: each process has this for each of its neighbours.
  float cost_[2] = {0, 0};
  std::uint8_t way_ = 1;
  std::uint8_t begun_ = 0;              // while warming up
  std::uint8_t recorded_ = 0;           // up to warm_up
  std::uint16_t wait_ = shortest_wait;  // uses from one trial of the other way to the next
  std::uint16_t since_trial_ = 0;
};

// Has the cache line brought here to be written. On x86-64 an instruction that older processors ignore, which
// compilers therefore do not choose by themselves.
inline void fetch_for_writing(const void* line) {
#ifdef __x86_64__
  asm volatile("prefetchw %0" : : "m"(*static_cast<const char*>(line)));
#else
  __builtin_prefetch(line, 1);
#endif
}

// Has the cache lines of so many bytes brought here to be read.
inline void fetch_for_reading(const std::byte* place, std::int64_t bytes) {
  for (std::int64_t at = 0; at < bytes; at += 64) __builtin_prefetch(place + at);
}

// Calls memcpy. A compiler that knows that there are no more than some KiB writes `rep movs` in its place,
// which takes longer to begin than memcpy takes for all of it.
inline void call_memcpy(std::byte* to, const std::byte* from, std::size_t bytes) {
  asm("" : "+r"(bytes));
  std::memcpy(to, from, bytes);
}

// As memcpy, one cache line after the other. From 32 up to some hundred bytes a call of memcpy takes longer
// to choose its way.
inline void copy_lines(std::byte* to, const std::byte* from, std::size_t bytes) {
  constexpr std::size_t line = 64, half = 32;
  if (bytes < half) return call_memcpy(to, from, bytes);
  if (bytes < line) {
    std::byte first[half], last[half];
    std::memcpy(first, from, half);
    std::memcpy(last, from + bytes - half, half);
    std::memcpy(to, first, half);
    std::memcpy(to + bytes - half, last, half);
    return;
  }
  for (std::size_t at = 0; at + line <= bytes; at += line) {
    asm("" ::: "memory");  // else a call of memcpy may be made of the loop
    std::memcpy(to + at, from + at, line);
  }
  if (bytes % line != 0) std::memcpy(to + bytes - line, from + bytes - line, line);
}

class CrossCoreCopy {
 public:
  // Less than this is copied as always.
  static constexpr std::size_t least = 2 << 10;

  // As memcpy; everything can be seen by other cores before what is stored afterwards.
  void copy(std::byte* to, const std::byte* from, std::size_t bytes) {
    if (bytes < least) {
      std::memcpy(to, from, bytes);
    } else {
      copy_much(to, from, bytes);
    }
  }
  // The same for what `write(to, at, bytes)` writes, the bytes from `at` on, in parts.
  using Write = FunctionRef<void(std::byte*, std::size_t, std::size_t)>;
  void write(std::byte* to, std::size_t bytes, Write write) {
    if (bytes < middle || reinterpret_cast<std::uintptr_t>(to) % 64 != 0) {
      write(to, 0, bytes);
    } else {
      write_much(to, bytes, write);
    }
  }
  // What copying took lately, in ticks (base/ticks.h) a byte; 0: not known.
  float cost() const { return cost_; }

 private:
  static constexpr std::size_t middle = 8 << 10;
  static constexpr std::size_t large = 64 << 10;

  void copy_much(std::byte* to, const std::byte* from, std::size_t bytes);
  void write_much(std::byte* to, std::size_t bytes, Write write);
  void copy_timed(CheaperWay& ways, float weight, std::byte* to, const std::byte* from, std::size_t bytes);

  // Below `large` the timing would be felt, so only one in a few is timed. Large pieces, used in turn, may
  // have left the reader's cache when they are written again.
  CheaperWay small_pieces_, middle_pieces_, large_pieces_;
  CheaperWay written_pieces_;
  std::uint32_t count_ = 0;
  float cost_ = 0;
};

}  // namespace hawser
