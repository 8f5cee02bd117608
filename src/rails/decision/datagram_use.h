// DatagramUse: small packets to one peer with which there is no connection. They go by datagram at once, as
// long as there are few: a peer that is spoken to now and then costs no queue pair. Decides when the traffic
// is worth a connection, and when to send again what the peer did not acknowledge. Pure.
//
// Sequence numbers are those of all packets to the peer, so its end puts them in order and drops what comes
// twice, whichever way a packet takes.
#pragma once

#include <algorithm>
#include <cstdint>

#include "base/random.h"
#include "base/time.h"
#include "rails/decision/sequence_window.h"

namespace hawser {

class DatagramUse {
 public:
  // Packets that the peer did not acknowledge; the receive queue for datagrams is shared by all peers.
  static constexpr std::uint32_t most_under_way = 16;
  // Half of the messages are forgotten after this time.
  static constexpr Nanoseconds memory = 20 * millisecond;
  // Until the first is sent again, and up to as much again, at random; doubled each time. If a thousand
  // processes send to one at once, most of it is lost there, and would be again if all repeated it together.
  // A peer that computes does not answer, either.
  static constexpr Nanoseconds first_repeat = 2 * millisecond, longest_repeat = 128 * millisecond;
  // The same to one that has just acknowledged something of what is under way: its software is there, and
  // what it still lacks was lost. Doubled up to the above. Before, after that time and, doubled, so often,
  // the first packet alone is sent again, to see whether somebody is there: this may be lost, too.
  static constexpr Nanoseconds soon = 200 * microsecond;
  static constexpr std::uint32_t most_asked = 3;
  // After so many repeats without an answer the peer is connected with: perhaps it moved, or nothing reaches
  // it, and connecting finds that out.
  static constexpr std::uint32_t most_repeats = 6;

  // Whether one more may be under way.
  static bool admits(const SequenceWindow& window) { return window.under_way() < most_under_way; }
  // The packet with this sequence number goes, at `now` or somewhat later. True: there were so many that a
  // connection is worth it.
  bool on_sent(std::uint32_t number, std::uint32_t connected_after, Nanoseconds now) {
    forget_old(now);
    ++recent_;
    last_ = number;
    if (due_ == never) {
      due_ = at_next_look;
      acknowledged_ = number;
    }
    return recent_ > connected_after;  // so many of late are worth a connection
  }
  // Whether the peer may lack some.
  bool under_way(const SequenceWindow& window) const { return due_ != never && !window.acknowledged(last_); }
  // The peer has all, or they go another way now.
  void end() { due_ = never; }

  Nanoseconds due() const { return due_; }
  enum class Repeat : std::uint8_t { nothing, first_alone, again, again_and_connect };
  // At due(). `first`: the first that the peer did not acknowledge.
  Repeat on_due(std::uint32_t first, Nanoseconds now, Random& random) {
    if (now < due_) return Repeat::nothing;
    if (on_heard(first, now, random)) return Repeat::nothing;
    if (due_ == at_next_look) {
      repeats_ = 0;
      pause_ = 0;
      asked_ = 0;
      due_ = now + spread(soon, random);
      return Repeat::nothing;
    }
    if (pause_ == 0) {  // it did not answer, and may compute
      if (++asked_ == most_asked) pause_ = first_repeat;
      due_ = now + spread(pause_ == 0 ? soon << asked_ : pause_, random);
      return Repeat::first_alone;
    }
    if (pause_ >= first_repeat) ++repeats_;
    ++turn_;
    pause_ = std::min(2 * pause_, longest_repeat);
    due_ = now + spread(pause_, random);
    return repeats_ < most_repeats ? Repeat::again : Repeat::again_and_connect;
  }
  // `first` as above. True: that is news, and what went later may just be on its way.
  bool on_heard(std::uint32_t first, Nanoseconds now, Random& random) {
    if (due_ == never || first == acknowledged_) return false;
    acknowledged_ = first;
    repeats_ = 0;
    pause_ = soon;
    due_ = now + spread(soon, random);
    return true;
  }
  // Of the present first one, without early ones.
  std::uint32_t repeats() const { return due_ == never || due_ == at_next_look ? 0 : repeats_; }

  // Counts all repeats. Each takes another way than the last one, and what follows takes the same, for the
  // others may lead nowhere.
  std::uint32_t turn() const { return turn_; }

  // The subchannel whose way the peer's last datagram came; -1: none did.
  std::int32_t heard_by = -1;
  // Something came by datagram that is to be acknowledged; it was new.
  bool answer_due = false, news = false;
  // In the list of those with packets under way.
  bool listed = false;

 private:
  static constexpr Nanoseconds at_next_look = 0;
  static Nanoseconds spread(Nanoseconds pause, Random& random) {
    return pause + static_cast<Nanoseconds>(random.below(static_cast<std::uint64_t>(pause)));
  }
  void forget_old(Nanoseconds now) {
    const Nanoseconds halvings = std::min<Nanoseconds>((now - counted_) / memory, 31);
    if (halvings <= 0) return;
    recent_ >>= halvings;
    counted_ = now;
  }

  Nanoseconds due_ = never;
  Nanoseconds counted_ = 0;
  std::uint32_t recent_ = 0;
  std::uint32_t last_ = 0;          // sequence number of the last one sent
  std::uint32_t acknowledged_ = 0;  // as of the last look
  std::uint32_t repeats_ = 0;
  Nanoseconds pause_ = 0;    // until the next repeat; 0: it is not known whether the peer answers
  std::uint32_t asked_ = 0;  // so often, whether it does
  std::uint32_t turn_ = 0;
};

}  // namespace hawser
