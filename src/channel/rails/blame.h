// Blame: whose fault a failure is, from who failed when and who did not. Several peers failing on one local
// port within a window: the local port. One peer while others get through: its end. One path of a peer while
// another of the same ports works: the path, somewhere in the network. Pure; a verdict is an opinion that
// says where to look and whom to try first, never a reason to stop what works.
#pragma once

#include <cstdint>
#include <deque>
#include <vector>

#include "base/time.h"
#include "channel/channel.h"

namespace hawser {

enum class Verdict : std::uint8_t {
  undecided,   // one failure, and nobody else to compare with
  path,        // the route between two ports that work
  remote_end,  // the peer's port, adapter or host
  local_port,  // or its cable, or the switch behind it
};
const char* verdict_name(Verdict verdict);

struct BlameSettings {
  // Failures so close together have one cause: an adapter's retries end at most that far apart.
  Nanoseconds window = 250 * millisecond;
  std::uint32_t several = 2;  // peers that make it the local port
};

class Blame {
 public:
  Blame(std::uint16_t rails, const BlameSettings& settings = {});

  // A subchannel failed by itself: an error, the watchdog. Not: because the peer fenced it.
  void on_failure(std::uint16_t rail, ProcessIndex peer, std::uint16_t path, Nanoseconds now);
  // The port is down: no guess needed until it is up.
  void on_port(std::uint16_t rail, bool active);
  // Something was delivered or received: cheap enough for each pass that found completions.
  void on_traffic(std::uint16_t rail, ProcessIndex peer, std::uint16_t path, Nanoseconds now);

  // Of a failure reported before, as far as known now; ask again while it lasts: traffic elsewhere, or its
  // absence, tells more.
  Verdict judge(std::uint16_t rail, ProcessIndex peer, std::uint16_t path, Nanoseconds now) const;

 private:
  struct Event {
    ProcessIndex peer = -1;
    std::uint16_t path = 0;
    Nanoseconds time = 0;
  };
  struct Port {
    bool active = true;
    std::deque<Event> failures;  // within the window
    std::vector<Event> traffic;  // the last of each of a few peers and paths
    std::size_t oldest = 0;      // of traffic: the next to be replaced
  };
  BlameSettings settings_;
  std::vector<Port> ports_;
};

}  // namespace hawser
