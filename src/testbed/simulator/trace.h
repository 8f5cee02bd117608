// Trace: everything that happened in a simulation as one number, and as lines of text where somebody wants to
// read them. Two runs of the same program with the same seed have the same number.
#pragma once

#include <bit>
#include <cstdint>
#include <cstdio>
#include <string>
#include <string_view>

#include "base/time.h"

namespace hawser {

enum class TraceKind : std::uint8_t {
  start,    // a rank's body begins
  send,     // a packet enters the sender's adapter
  expose,   // the same, for a message that the receiver will fetch
  arrive,   // a packet can be taken out by the receiver
  fetch,    // the receiver asks for exposed bytes
  land,     // they are there
  release,  // the sender knows
  fence,    // a rank enters the launcher's fence
  finish,   // a rank's body ended
  abort,    // a rank ended the job
  kill,     // a rank was killed
};

const char* name_of(TraceKind kind);

class Trace {
 public:
  // `path` may be empty: no text.
  explicit Trace(const std::string& path, bool by_several_processes = false);
  Trace(const Trace&) = delete;
  Trace& operator=(const Trace&) = delete;
  ~Trace();

  void record(Nanoseconds time, TraceKind kind, std::int32_t rank, std::int32_t peer, std::int64_t bytes) {
    mix(static_cast<std::uint64_t>(time));
    mix(static_cast<std::uint64_t>(kind) << 56 ^
        static_cast<std::uint64_t>(static_cast<std::uint32_t>(rank)) << 28 ^
        static_cast<std::uint32_t>(peer));
    mix(static_cast<std::uint64_t>(bytes));
    if (file_ != nullptr) [[unlikely]]
      write(time, kind, rank, peer, bytes);
  }

  // A line for the reader only, where there is one.
  void comment(Nanoseconds time, std::string_view text);
  bool writes() const { return file_ != nullptr; }
  // Lets another hash count.
  void join(std::uint64_t word) { mix(word); }
  std::uint64_t hash() const { return hash_; }
  // True if a path was given that cannot be written. What is held back is written first.
  bool failed();

 private:
  // One round of multiply and rotate per word: every earlier bit spreads over the whole state.
  void mix(std::uint64_t word) {
    hash_ = std::rotl((hash_ ^ word) * 0x9fb21c651e98df25u, 29) + 0x2545f4914f6cdd1du;
  }
  void put(std::string_view line);
  void write(Nanoseconds time, TraceKind kind, std::int32_t rank, std::int32_t peer, std::int64_t bytes);

  std::uint64_t hash_ = 0x243f6a8885a308d3;  // digits of pi
  std::FILE* file_ = nullptr;
  bool failed_ = false;  // opening or writing
};

}  // namespace hawser
