// PathWeights: how fast each subchannel of a virtual channel is, as measured from the completions of its
// stripes (V07 equations 7.1 to 7.4; 8.3). Integer inputs, no clock.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "base/time.h"

namespace hawser {

class PathWeights {
 public:
  // Nominal rates of the subchannels, in bytes per second.
  explicit PathWeights(std::vector<std::int64_t> nominal);

  // A stripe of `bytes` took from `posted` to `now`; `queued_before` bytes were ahead of it on the same
  // subchannel when it was posted. Small stripes say nothing about bandwidth and are passed over.
  void on_stripe_done(std::uint16_t subchannel, std::int64_t bytes, std::int64_t queued_before,
                      Nanoseconds posted, Nanoseconds now);
  // The path failed; the weight is kept aside.
  void on_failed(std::uint16_t subchannel);
  // It works again: a small weight that grows as measurement confirms.
  void on_recovered(std::uint16_t subchannel, Nanoseconds now);

  // Bytes per second, > 0.
  double weight(std::uint16_t subchannel) const;
  // Slow is a failure too: far below what its siblings of like nominal rate reach. Weight is near zero then,
  // and `wants_probe` says when a stripe should try it.
  bool degraded(std::uint16_t subchannel) const;
  bool wants_probe(std::uint16_t subchannel, Nanoseconds now);
  // For the watchdog: how long `bytes` queued on it should take at most, by what was measured; generous,
  // never below the floor of the knob.
  Nanoseconds predicted(std::uint16_t subchannel, std::int64_t bytes_queued) const;

 private:
  struct Path;
  std::vector<Path> paths_;
};

}  // namespace hawser
