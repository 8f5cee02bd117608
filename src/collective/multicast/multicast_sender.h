// MulticastSender: what a root knows of the packets that it sent to the leaders of all nodes. It decides how
// many may be under way, what is sent again to whom, and whether multicast is worth it at all. A pure
// machine: it is given `now`, and what the leaders say.
//
//   lowest            next
//     |................|        sent, and lacked by some leader as far as is known: at most `window`
//
// Leaders say what they have now and then, so a packet is kept until its place in the window is needed. What
// a leader lacks it says only when it waits for it: then it gets the packet from us alone, by a message that
// cannot be lost. A leader that waits before anything is sent is remembered, so that what it lacks of the
// packets that follow is sent again as soon as these must have arrived.
//
// A root that did something else finds what leaders told it meanwhile in the order in which they told it:
// first that they wait, and a little later that they have what was sent then. So it does not send again at
// once.
//
// If many packets have to be sent again, broadcasts take other ways for a while (chooses_multicast), twice as
// long each time that this happens at once again. A packet counts once, however many leaders lack it: the
// broadcast waits for the slowest.
#pragma once

#include <array>
#include <cstdint>
#include <vector>

#include "base/function_ref.h"
#include "base/time.h"
#include "collective/multicast/multicast_wire.h"

namespace hawser {

class MulticastSender {
 public:
  static constexpr std::uint32_t window = 64;
  // How long a packet is under way before it counts as lost; adapts to where it is longer.
  static constexpr Nanoseconds shortest_flight = 20 * microsecond, longest_flight = 20 * millisecond;
  // Until everything is read that came while the root did something else, and for each leader.
  static constexpr Nanoseconds least_reading = 5 * microsecond, reading = 500;
  static constexpr Nanoseconds first_pause = 10 * millisecond, longest_pause = 2 * second;

  explicit MulticastSender(int leaders) : leaders_(static_cast<std::size_t>(leaders)) {}

  // The root's decision for the broadcast that begins now. `own_rails`: on which it may send.
  bool chooses_multicast(std::uint32_t own_rails, Nanoseconds now);
  // Rails on which all leaders are attached.
  std::uint32_t rails() const { return rails_; }

  bool admits() const { return next_ - lowest_ < window; }
  // The packet next() goes. When that is, the next repair() says: who calls this may not know the time.
  void on_sent();
  // It cannot go, nor may those before have arrived: all leaders get what they lack in the other way.
  void on_no_way(Nanoseconds now);
  // False: it makes no sense.
  bool on_status(int leader, const LeaderStatus& status, Nanoseconds now);
  // It looks again since `now`, and did not before.
  void on_return(Nanoseconds now) {
    all_read_ = now + least_reading + reading * static_cast<Nanoseconds>(leaders_.size());
  }
  // Calls `again` for what is to be sent again now; it answers false if there is no room.
  void repair(Nanoseconds now, FunctionRef<bool(int leader, std::uint32_t packet)> again);
  // When repair has something to do.
  Nanoseconds due() const { return due_; }

  std::uint32_t next() const { return next_; }
  std::uint32_t lowest() const { return lowest_; }
  // Every leader has everything.
  bool settled() const { return lowest_ == next_; }
  std::uint64_t repairs() const { return all_repairs_; }
  std::uint64_t suspensions() const { return suspensions_; }

 private:
  struct Leader {
    std::uint32_t acknowledged = 0;
    std::uint64_t has = 0;  // bit i: packet acknowledged + i, or it was sent again
    std::uint32_t rails = 0;
    std::uint32_t duplicates = 0;
    bool waits = false;
    bool put_off = false;  // since it said something last
    Nanoseconds due = never;
  };
  void count_repair(std::uint32_t packet);
  bool many_repairs() const;
  void note_time(Nanoseconds now);
  void find_lowest();
  void find_due();

  std::vector<Leader> leaders_;
  std::array<Nanoseconds, window> sent_at_ = {};
  std::uint32_t next_ = 0, lowest_ = 0, timed_ = 0;
  std::uint32_t rails_ = 0;
  int waiting_ = 0;  // leaders
  Nanoseconds due_ = never;
  Nanoseconds flight_ = shortest_flight;
  Nanoseconds flight_since_ = 0;
  Nanoseconds all_read_ = 0;
  std::array<std::uint32_t, window> repaired_ = {};  // by packet: its number plus 1, if it was sent again
  // Since multicast was chosen anew, or judged last: packets, such as were sent again, to how many leaders
  // together, and to how many of these in vain.
  std::uint32_t sent_ = 0, packets_repaired_ = 0, repairs_ = 0, in_vain_ = 0;
  Nanoseconds pause_ = first_pause;
  Nanoseconds suspended_until_ = 0;
  std::uint64_t all_repairs_ = 0, suspensions_ = 0;
};

}  // namespace hawser
