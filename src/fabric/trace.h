// Trace: a running hash of everything that happens, and counters. Two runs from one seed must agree in the
// hash; the counters are what `hawser fabric status` shows.
#pragma once

#include <cstdint>
#include <deque>
#include <string>

#include "base/time.h"

namespace hawser::fabric {

enum class TraceKind : std::uint8_t {
  packet_sent,
  packet_delivered,
  packet_dropped,
  completion,
  async_event,
  fault
};

class Trace {
 public:
  // Whoever wants to see it all; `a` and `b` are what enters the hash.
  class Listener {
   public:
    virtual void on_note(TraceKind kind, Nanoseconds now, std::uint64_t a, std::uint64_t b) = 0;
    virtual void on_log(Nanoseconds now, const std::string& text) = 0;

   protected:
    ~Listener() = default;
  };
  void listen(Listener* listener) { listener_ = listener; }  // null: nobody

  void note(TraceKind kind, Nanoseconds now, std::uint64_t a, std::uint64_t b = 0) {
    if (listener_ != nullptr) [[unlikely]]
      listener_->on_note(kind, now, a, b);
    mix(static_cast<std::uint64_t>(now));
    mix((static_cast<std::uint64_t>(kind) << 56) ^ a);
    mix(b);
    ++counts_[static_cast<std::size_t>(kind)];
  }
  std::uint64_t hash() const { return hash_; }
  std::uint64_t count(TraceKind kind) const { return counts_[static_cast<std::size_t>(kind)]; }

  // The log of faults and their consequences, newest last; the oldest go when it is long.
  struct Line {
    Nanoseconds time;
    std::string text;
  };
  void log(Nanoseconds now, std::string text) {
    constexpr std::size_t longest = 10'000;
    if (listener_ != nullptr) listener_->on_log(now, text);
    if (log_.size() == longest) log_.pop_front();
    log_.push_back({now, std::move(text)});
  }
  const std::deque<Line>& lines() const { return log_; }

 private:
  void mix(std::uint64_t word) {
    hash_ = (hash_ ^ word) * 0x9e3779b97f4a7c15;
    hash_ ^= hash_ >> 29;
  }
  std::uint64_t hash_ = 0x243f6a8885a308d3;
  std::uint64_t counts_[6] = {};
  std::deque<Line> log_;
  Listener* listener_ = nullptr;
};

}  // namespace hawser::fabric
