// MulticastReceiver: what a leader knows of the packets of one root: which came, which the root was told of,
// and when to say that some do not come. A pure machine, like MulticastSender, which it talks to.
//
// A packet of an operation that this process has not begun is held: it is acknowledged only when the
// operation begins, so that a root runs ahead of its leaders by a window at most.
//
// Nobody says that a packet was sent, so whoever waits for long says so, once. It takes that back when a
// packet comes by multicast, and when the operation is over.
#pragma once

#include <array>
#include <cstdint>

#include "base/time.h"
#include "collective/multicast/multicast_wire.h"

namespace hawser {

class MulticastReceiver {
 public:
  static constexpr std::uint32_t window = 64;
  // Until it says that nothing comes; adapts to where packets take longer.
  static constexpr Nanoseconds least_patience = 60 * microsecond, most_patience = 50 * millisecond;
  // Packets on several rails overtake each other by so much.
  static constexpr Nanoseconds reordering = 10 * microsecond;
  // Packets between two acknowledgements.
  static constexpr std::uint32_t acknowledge_every = 16;
  // So many that came twice are told, lest the root takes them for lost.
  static constexpr std::uint32_t duplicates_told = 4;

  // `number`: of the leader, so that not all acknowledge at once.
  explicit MulticastReceiver(int number)
      : acknowledge_at_(1 + static_cast<std::uint32_t>(number) % acknowledge_every) {}

  enum class Take : std::uint8_t {
    fresh,
    duplicate,
    beyond  // no root sends so far ahead
  };
  enum class Way : std::uint8_t { multicast, repair };
  // A packet came. `held`: its operation has not begun here.
  Take take(std::uint32_t packet, bool held, Way way, Nanoseconds now);
  // The operation of a held packet begins.
  void release(std::uint32_t packet);
  // An operation of this root waits for packets, or perhaps for the root, from here on; and no longer.
  void begin_wait();
  void end_wait();
  // On which rails this process is attached now.
  void set_rails(std::uint32_t rails) { rails_ = rails; }

  // Notices when it waited for long.
  void look(Nanoseconds now);
  Nanoseconds due() const { return due_; }
  // The root is to be told.
  bool wants_to_tell() const;
  LeaderStatus status() const;
  void on_told();
  // Some are not acknowledged, or not all that was told holds.
  bool owes() const { return base_ != told_base_ || told_waits_; }
  std::uint64_t waits() const { return all_waits_; }

 private:
  void advance();
  bool gap() const { return (received_ & (received_ + 1)) != 0; }

  std::uint32_t base_ = 0;                 // all before are here, and their operations have begun
  std::uint64_t received_ = 0, held_ = 0;  // bit i: packet base_ + i
  std::uint32_t told_base_ = 0;
  std::uint32_t acknowledge_at_;  // packets after told_base_
  std::uint32_t rails_ = 0, told_rails_ = 0;
  std::uint32_t duplicates_ = 0, told_duplicates_ = 0;
  std::array<std::uint32_t, window> repaired_ = {};  // by packet: its number plus 1, if it was sent again
  int waiting_ = 0;                                  // operations
  bool ended_one_ = false;  // so the root knows of the communicator, and may be told something
  bool waits_ = false, told_waits_ = false;
  bool timer_begins_ = false;
  bool waited_in_time_ = true;  // so far nothing came of the last wait that would have come anyway
  Nanoseconds due_ = never;
  Nanoseconds patience_ = least_patience;
  std::uint64_t all_waits_ = 0;
};

}  // namespace hawser
