// Serializer: something that passes bytes one after the other at a rate: a link, an engine, a bus. Keeps
// fractions of nanoseconds, so that a rate holds however small the packets are.
#pragma once

#include <cmath>
#include <cstdint>

#include "base/assert.h"
#include "base/time.h"

namespace hawser::fabric {

class Serializer {
 public:
  // Bytes per second; 0 is unlimited.
  void set_rate(double rate) {
    HAWSER_ASSERT(rate >= 0);
    per_byte_ = rate == 0 ? 0 : static_cast<std::uint64_t>(std::llround(1e9 / rate * unit));
  }
  bool unlimited() const { return per_byte_ == 0; }
  Nanoseconds free_at() const { return free_at_; }

  // Passes `bytes` as soon as it is free, but not before `from`; returns when the last one is through.
  Nanoseconds occupy(Nanoseconds from, std::uint64_t bytes) {
    if (per_byte_ == 0) return from;
    if (from > free_at_) {
      free_at_ = from;
      fraction_ = 0;
    }
    const auto total = static_cast<unsigned __int128>(bytes) * per_byte_ + fraction_;
    free_at_ += static_cast<Nanoseconds>(total / unit);
    fraction_ = static_cast<std::uint64_t>(total % unit);
    return free_at_;
  }
  // What it passes now is through no earlier than that.
  void last_until(Nanoseconds time) {
    if (time <= free_at_) return;
    free_at_ = time;
    fraction_ = 0;
  }
  // Passes `bytes` now, between what it is passing, which takes so much longer.
  Nanoseconds pass_between(Nanoseconds now, std::uint64_t bytes) {
    const Nanoseconds begin = free_at_ > now ? free_at_ : now;
    return now + occupy(now, bytes) - (unlimited() ? now : begin);
  }

 private:
  static constexpr std::uint64_t unit = 1 << 20;  // parts of a nanosecond
  std::uint64_t per_byte_ = 0;
  Nanoseconds free_at_ = 0;
  std::uint64_t fraction_ = 0;
};

}  // namespace hawser::fabric
