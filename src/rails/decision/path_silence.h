// PathSilence: what it means that requests of a path are not done. A pure decision, one object per path,
// which is asked every few milliseconds while requests are under way.
//
// Adapters are patient, so that a crowded network is not taken for a failed one. Software knows more. If a
// path was quick, then nothing was done any more for `silence`, and what was posted since to the same process
// got through over another path, the path has failed. Where there is no other path there is nothing to hurry
// for, but for an adapter that has an alternate route. Where nothing was measured, or requests were slow
// before, silence says nothing, and only the watchdog ends it.
#pragma once

#include <algorithm>
#include <cstdint>

#include "base/time.h"

namespace hawser {

struct SilenceSettings {
  Nanoseconds silence = 64 * millisecond;  // 0: silence is never judged
  Nanoseconds watchdog = 1 * second;
  Nanoseconds adapter_patience = 512 * millisecond;  // until it gives a connection up
};

// How a path stands that has requests under way.
struct PathActivity {
  Nanoseconds now = 0;
  Nanoseconds since = 0;      // nothing was done since, though something was under way
  Nanoseconds slowest = -1;   // request of late; -1: none was done
  float rate = 0;             // bytes per nanosecond, of requests of a KiB or more; 0: there was none
  std::int64_t bytes = 0;     // under way
  Nanoseconds expected = 0;   // for what is under way, at the rate that was measured
  Nanoseconds predicted = 0;  // the same, at worst
  std::uint8_t false_alarms = 0;
  bool alone = false;  // no other path to the process is in use
  Nanoseconds age() const { return now - since; }
};

class PathSilence {
 public:
  enum class Outcome : std::uint8_t {
    wait,
    leave,          // the path's adapter may have another route to take
    leave_or_fail,  // if it has none, the path has failed
  };

  // Something may have been lost, and nothing behind it tells the peer's adapter: a packet behind it makes
  // that ask for what is missing, long before the own adapter would send again (as TCP's tail loss probe, RFC
  // 8985).
  static bool wants_packet(const SilenceSettings& settings, const PathActivity& path, Nanoseconds asked);
  bool wants_packet(const SilenceSettings& settings, const PathActivity& path) const {
    return wants_packet(settings, path, asked_);
  }
  void on_packet_sent(Nanoseconds now) { asked_ = now; }

  // Nobody waits longer, whatever others do.
  static bool timed_out(const SilenceSettings& settings, const PathActivity& path);

  // It is worth asking whether other paths get through: whether anything did that was posted after
  // compare_since(). Then decide() says what that means.
  static bool worth_comparing(const SilenceSettings& settings, const PathActivity& path);
  static Nanoseconds compare_since(const SilenceSettings& settings, const PathActivity& path) {
    return path.since + limit(settings, path) / 2;
  }
  Outcome decide(const SilenceSettings& settings, const PathActivity& path, bool others_through);
  // Since when the path would have to be silent to leave the other route a quarter of the time.
  static Nanoseconds since_after_leaving(const SilenceSettings& settings, const PathActivity& path) {
    return path.now - limit(settings, path) * 3 / 4;
  }

  // The path failed by its adapter's word or the watchdog's: whether silence should have told before.
  bool found_late(const SilenceSettings& settings, const PathActivity& path) const;

  // Where requests took less than this, the network was not crowded.
  static constexpr Nanoseconds quick_request = 20 * millisecond;

 private:
  // How long a path may be silent; 0: silence says nothing of it.
  static Nanoseconds limit(const SilenceSettings& settings, const PathActivity& path);

  Nanoseconds asked_ = 0;            // when a packet was last sent behind one that is not acknowledged
  Nanoseconds others_through_ = -1;  // while it is silent: since when others are known to get through
};

}  // namespace hawser
