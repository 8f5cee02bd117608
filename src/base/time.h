// Time is a number of nanoseconds since an origin that only the clock knows. Protocol code is handed
// `now`; only a Clock reads it, so that the simulator can run the same code in virtual time.
#pragma once

#include <cstdint>

namespace hawser {

using Nanoseconds = std::int64_t;

inline constexpr Nanoseconds microsecond = 1'000;
inline constexpr Nanoseconds millisecond = 1'000'000;
inline constexpr Nanoseconds second = 1'000'000'000;
inline constexpr Nanoseconds never = INT64_MAX;

class Clock {
 public:
  virtual ~Clock() = default;
  virtual Nanoseconds now() = 0;  // monotonic
};

// The machine's monotonic clock.
class MonotonicClock final : public Clock {
 public:
  Nanoseconds now() override;
};

}  // namespace hawser
