// MulticastListener: a rank that is not its node's leader, and takes broadcasts from the root's packets where
// its leader is late (AttachPolicy). It acknowledges nothing, and nothing is sent again to it: the leader
// passes everything on to it as well, and what it lacks it waits for as if it were not attached. So it needs
// no window either; of packets that are early it keeps the latest.
//
// Only broadcasts up to `most_bytes`, because the message of the leader has to be taken, too, when it comes.
#pragma once

#include <cstdint>
#include <deque>
#include <span>
#include <vector>

#include "base/time.h"
#include "collective/multicast/attach_policy.h"
#include "collective/multicast/multicast_receive.h"

namespace hawser {

// A broadcast for which this rank waits in both ways.
struct MulticastListening {
  MulticastReceive packets;
  bool done = false;       // it need not wait for the leader's message
  bool by_leader = false;  // because the node's area had it first
  bool timed = false;      // its wait counts: the program waits for it, and for nothing else

  // The listener's.
  bool attached = false, trial = false;
  Nanoseconds begun = never;  // the first look after it began
  Nanoseconds due = never;    // the end of a trial
  std::uint64_t seen = 0;     // packets, by their numbers
  ListLink link;

  bool from_packets() const { return done && !by_leader; }
};

class MulticastListener {
 public:
  static constexpr std::int64_t most_bytes = 16384;
  // Of a broadcast (MulticastRoot sends no smaller ones), and early ones of all broadcasts.
  static constexpr std::uint32_t most_packets = 64;
  // Leaders' messages that have not come though their broadcasts are over here.
  static constexpr int most_late_messages = 64;

  bool attached() const { return policy_.attached(); }
  // A broadcast begins. `wants_packets`: it may end before the leader's message has come.
  void begin(MulticastListening& listening, bool wants_packets);
  // It is over, in whichever way.
  void end(MulticastListening& listening, Nanoseconds now);
  void take(const MulticastHeader& header, std::span<const std::byte> packet);
  // Measures how long broadcasts take, and ends trials.
  void look(Nanoseconds now);
  Nanoseconds due() const;

 private:
  struct Held {
    MulticastHeader header;
    std::vector<std::byte> bytes;
  };
  MulticastListening* find(int root, std::int32_t tag);
  static void place(MulticastListening& listening, const MulticastHeader& header,
                    std::span<const std::byte> packet);

  AttachPolicy policy_;
  IntrusiveList<MulticastListening, &MulticastListening::link> listenings_;
  std::deque<Held> held_;        // of broadcasts that have not begun here
  std::int32_t last_begun_ = 0;  // tag
};

}  // namespace hawser
