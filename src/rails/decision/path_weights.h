// PathWeights: how fast each subchannel of a virtual channel is, as measured from the completions of its
// stripes. A weight is bytes per second: what equation 7.1 of V07 gives for a stripe, averaged as in 7.4
// and 8.3. The papers keep the sum of all weights (of a message's, in 8.3) constant; only ratios count in
// striping, and rates need no such sum, so a congested batch as a whole sinks below the paths that it left
// out.
//
// What is seen of a stripe are bounds. It started when it was posted or when the one before it was done, and
// it was done between two passes of polling; so its rate lies in an interval, which is wide when the process
// was busy elsewhere, or the stripe so small that latency is most of its time. An estimate inside the
// interval is left as it is; one outside is drawn to the nearer end. Late polling therefore never looks like
// a slow path.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "base/time.h"

namespace hawser {

struct WeightSettings {
  // Time of a stripe during which possibly no data moved.
  Nanoseconds latency = 20 * microsecond;
  // A sample that took so long counts as much as all before it.
  Nanoseconds memory = 20 * millisecond;
  // A path is degraded when it reaches less than this part of what its siblings do, each against its nominal
  // rate; and well again above well_above of it.
  double degraded_below = 0.25;
  double well_above = 0.4;
  // Below this part of its siblings it is given no share at all.
  double no_share_below = 1.0 / 16;
  // Part of the nominal rate that a recovered path starts with; it at most doubles with each stripe. The same
  // of its siblings' rates where a packet says that a path became better.
  double recovered_share = 1.0 / 16;
  // A path that wants_measuring() is measured after so long; doubled while nothing changes.
  Nanoseconds first_pause = millisecond;
  Nanoseconds longest_pause = 100 * millisecond;
  // For predicted().
  Nanoseconds watchdog_floor = 500 * millisecond;
  double watchdog_factor = 8;
};

inline constexpr WeightSettings usual_weights;

class PathWeights {
 public:
  // Nominal rates of the subchannels, in bytes per second, each > 0: of their port, also if several share
  // one. The settings outlive this.
  explicit PathWeights(const std::vector<std::int64_t>& nominal = {},
                       const WeightSettings& settings = usual_weights);
  // From now on the first sample of a path counts for all: it is compared with those of other ports.
  void trust_first() { trusts_first_ = true; }
  // One more.
  void add(std::int64_t nominal);

  // A stripe of `bytes` was posted at `posted` and found done at `now`; the pass of polling before was at
  // `polled_before` (-1: not known, taken as just now). `queued_before` bytes were ahead of it on the same
  // subchannel when it was posted. Calls for one subchannel come in the order of completion.
  void on_stripe_done(std::uint16_t subchannel, std::int64_t bytes, std::int64_t queued_before,
                      Nanoseconds posted, Nanoseconds now, Nanoseconds polled_before = -1);
  // A packet took at most so long: so fast the path is at least.
  void on_packet_done(std::uint16_t subchannel, std::int64_t bytes, Nanoseconds time);
  // A packet on an idle path that wants_measuring() took so long. A few KiB say that a path is better than it
  // was, but hardly by how much.
  void on_measured(std::uint16_t subchannel, std::int64_t bytes, std::int64_t queued_before,
                   Nanoseconds posted, Nanoseconds now, Nanoseconds polled_before);
  // The path failed: nothing is known of it until on_recovered.
  void on_failed(std::uint16_t subchannel);
  // It works again: a small weight that grows as measurement confirms.
  void on_recovered(std::uint16_t subchannel, Nanoseconds now);

  // For planning, bytes per second, > 0.
  double weight(std::uint16_t subchannel) const;
  // The same while the oldest stripe on it, of `bytes` and posted at `posted`, was not done at `now`: that is
  // news when it took several times the time, and before it is done more may be planned for this path.
  double weight(std::uint16_t subchannel, std::int64_t bytes, Nanoseconds posted, Nanoseconds now) const;
  // How many bytes of that stripe may have been moved by then: what is queued as whole stripes would tell
  // apart two rails of which one is about to be done with its stripe and the other one just began one.
  std::int64_t moved(std::uint16_t subchannel, std::int64_t bytes, Nanoseconds posted, Nanoseconds now) const;
  // Counts how often some weight changed.
  std::uint32_t changes() const { return changes_; }
  // As measured, bytes per second, > 0.
  double measured(std::uint16_t subchannel) const { return paths_[subchannel].estimate; }
  // Slow is a failure too: far below what its siblings of like nominal rate reach.
  bool degraded(std::uint16_t subchannel) const { return paths_[subchannel].degraded; }
  // It is so slow beside its siblings that messages may avoid it, and nothing was measured for some time.
  // Stays true until something is.
  bool wants_measuring(std::uint16_t subchannel, Nanoseconds now) {
    const Path& path = paths_[subchannel];
    return now >= path.next_measuring && path.estimate < path.nominal * avoided_below && avoided(path);
  }
  // How long `bytes_queued` on it should take, by what was measured.
  Nanoseconds expected(std::uint16_t subchannel, std::int64_t bytes_queued) const;
  // For the watchdog: how long `bytes_queued` on it should take at most, by what was measured; generous,
  // never below the floor.
  Nanoseconds predicted(std::uint16_t subchannel, std::int64_t bytes_queued) const;

 private:
  // Of its siblings' rate, or of its nominal rate if nothing is known of them.
  static constexpr double avoided_below = 0.5;
  struct Path {
    double nominal = 0;   // bytes per second
    double estimate = 0;  // bytes per second
    bool failed = false;
    bool measured = false;
    bool recovering = false;
    bool degraded = false;
    bool no_share = false;
    bool doubted = false;  // one sample alone said so
    // When the last stripe was done: between these.
    Nanoseconds done_low = 0;
    Nanoseconds done_high = 0;
    // The stripes found done in one pass are one sample.
    Nanoseconds group_now = -1;
    std::int64_t group_bytes = 0;
    std::int64_t group_ahead = 0;
    Nanoseconds group_start_low = 0;
    Nanoseconds group_start_high = 0;
    Nanoseconds group_posted = 0;  // the first of them, when so many bytes were ahead of it
    std::int64_t group_queued = 0;
    double group_base = 0;  // the estimate before
    Nanoseconds pause = 0;  // until it is measured again
    Nanoseconds next_measuring = 0;
  };
  void take_sample(Path& path, Nanoseconds done_low, Nanoseconds now);
  void judge(Path& path);
  void plan_measuring(Path& path, Nanoseconds now);
  double sibling_ratio(const Path& path);
  bool avoided(const Path& path);
  void begin_small(Path& path, double rate);

  const WeightSettings& settings_;
  std::vector<Path> paths_;
  std::vector<double> ratios_;  // scratch
  std::uint32_t changes_ = 0;
  bool trusts_first_ = false;

 public:
  static constexpr std::size_t bytes_per_path = sizeof(Path) + sizeof(double);
};

}  // namespace hawser
