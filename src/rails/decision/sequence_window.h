// SequenceWindow: the sequence numbers of a virtual channel, both ways: what this end may send before the
// peer has delivered it, which packet of the peer's is next, and when the peer is owed an acknowledgement.
// Pure.
#pragma once

#include <cstdint>

#include "base/assert.h"
#include "rails/wire/packet.h"

namespace hawser {

class SequenceWindow {
 public:
  SequenceWindow() = default;
  // Both ends have everything that was sent: so many packets by this end, so many here.
  SequenceWindow(std::uint32_t sent, std::uint32_t delivered)
      : next_(sent),
        acknowledged_(sent),
        expected_(delivered),
        acknowledged_to_peer_(delivered),
        acknowledged_before_(delivered) {}

  // Sending.
  bool open() const { return under_way() < packet_window; }
  std::uint32_t take() { return next_++; }
  std::uint32_t sent() const { return next_; }
  // The first that the peer did not acknowledge, or sent() if there is none.
  std::uint32_t first_under_way() const { return acknowledged_; }
  // Packets that the peer may still lack.
  std::uint32_t under_way() const { return next_ - acknowledged_; }
  bool acknowledged(std::uint32_t number) const { return sequence_distance(number, acknowledged_) < 0; }
  // The peer delivered everything before `number`. Refused: so much was never sent.
  enum class Acknowledgement : std::uint8_t { refused, known, news };
  Acknowledgement acknowledge(std::uint32_t number) {
    if (sequence_distance(number, acknowledged_) <= 0) return Acknowledgement::known;
    if (sequence_distance(number, next_) > 0) return Acknowledgement::refused;
    acknowledged_ = number;
    return Acknowledgement::news;
  }

  // Receiving.
  enum class Arrival : std::uint8_t { next, early, duplicate, outside };
  Arrival judge(std::uint32_t number) const {
    const std::int32_t ahead = sequence_distance(number, expected_);
    if (ahead == 0) [[likely]]
      return Arrival::next;
    if (ahead < 0) return Arrival::duplicate;
    return ahead < static_cast<std::int32_t>(packet_window) ? Arrival::early : Arrival::outside;
  }
  void deliver() { ++expected_; }
  std::uint32_t expected() const { return expected_; }  // the first that was not delivered here

  // The peer's credit. Every packet that is posted acknowledges expected().
  void note_acknowledged_to_peer() {
    acknowledged_to_peer_ = expected_;
    credit_due_ = false;
  }
  std::uint32_t acknowledged_to_peer() const { return acknowledged_to_peer_; }
  bool credit_due() const { return credit_due_; }
  void set_credit_due(bool due) { credit_due_ = due; }
  // The peer waits soon.
  bool owes_much() const { return expected_ - acknowledged_to_peer_ >= packet_window / 2; }
  // Asked now and then: whether the peer was told of nothing since the last time though something was
  // delivered. It would retain its last packets for ever.
  bool owes_for_long() {
    const bool owes = acknowledged_to_peer_ != expected_ && acknowledged_to_peer_ == acknowledged_before_;
    acknowledged_before_ = acknowledged_to_peer_;
    return owes;
  }

  void check_invariants() const {
    HAWSER_ASSERT(sequence_distance(next_, acknowledged_) >= 0 && next_ - acknowledged_ <= packet_window);
    HAWSER_ASSERT(sequence_distance(expected_, acknowledged_to_peer_) >= 0);
  }

 private:
  std::uint32_t next_ = 0;
  std::uint32_t acknowledged_ = 0;  // the peer has delivered everything before
  std::uint32_t expected_ = 0;
  std::uint32_t acknowledged_to_peer_ = 0;
  std::uint32_t acknowledged_before_ = 0;  // acknowledged_to_peer_ when last asked
  bool credit_due_ = false;
};

}  // namespace hawser
