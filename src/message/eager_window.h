// How many bytes may lie at a receiver that no receive has asked for yet. A sender needs no leave to send an
// eager message, so without a bound a process that is slow to receive runs out of memory. Both ends of a pair
// of processes keep books, in bytes of memory that a message may take at the receiver:
//
//   sender     |-- answered --|-- sent since the last answer --|-- still free --|
//                                                     share >= sent since + held
//
// EagerWindow is the sender's end. After every quarter of its share it sends a `mark` with its position.
// Packets arrive in order, so when the mark is there, everything before it either met a receive or is held.
// The receiver answers with a `report`: the position of the mark, and what it holds of this sender now. What
// was sent after the mark and what is held together never exceed the share (by more than one message): then
// the window is closed, and the sender offers an envelope instead and keeps the bytes until a receive takes
// them. So a program meets no error and no loss, only a sender that waits, as any standard send may (MPI-5.0
// section 3.4).
//
// UnexpectedMemory is the receiver's end. It also reports unasked when much of what it reported has been
// received, so that a closed window opens. Nothing that the sender began waits for that.
//
// A receiver pays nothing for messages that find their receive, and a sender one subtraction.
#pragma once

#include <algorithm>
#include <cstdint>

#include "message/message.h"

namespace hawser {

// What an eager message of this size takes at the receiver when no receive wants it.
inline std::int64_t memory_of_unexpected(std::int64_t bytes) {
  return static_cast<std::int64_t>(sizeof(Message)) + (bytes > Message::inline_bytes ? bytes : 0);
}

// What a process may have to hold of messages that no receive wants yet.
struct UnexpectedBounds {
  std::int64_t share = 0;  // of each other process
  std::int64_t own = 0;    // of its messages to itself

  // All others together get `bytes`, but each gets enough to work with.
  static UnexpectedBounds of(std::int64_t bytes, int processes) {
    constexpr std::int64_t least_share = 64 * 1024;
    return {std::max(bytes / std::max(processes - 1, 1), least_share), bytes};
  }
};

// A position of the sender and the bytes held, as they stand in the headers of `mark` and `report`.
struct UnexpectedReport {
  std::int64_t position = 0;
  std::int64_t held = 0;

  MessageHeader header(MessageHeader::Kind kind) const {
    const auto low = [](std::int64_t value) { return static_cast<std::uint32_t>(value); };
    const auto high = [](std::int64_t value) { return static_cast<std::uint32_t>(value >> 32); };
    return {.kind = kind,
            .context = low(position),
            .source_rank = static_cast<std::int32_t>(high(position)),
            .tag = static_cast<std::int32_t>(low(held)),
            .sender_request = high(held)};
  }
  static UnexpectedReport from(const MessageHeader& header) {
    const auto joined = [](std::uint32_t low, std::uint32_t high) {
      return static_cast<std::int64_t>(std::uint64_t{high} << 32 | low);
    };
    return {joined(header.context, static_cast<std::uint32_t>(header.source_rank)),
            joined(static_cast<std::uint32_t>(header.tag), header.sender_request)};
  }
};

class EagerWindow {
 public:
  EagerWindow() = default;
  explicit EagerWindow(std::int64_t share) : share_(share), closes_(share) { renew(); }

  // False: a mark is due, or the share is used up. The sign alone says it, so that the subtraction of
  // charge() is the comparison, too.
  bool open() const { return left_ >= 0; }
  // An eager message was sent; answers open().
  bool charge(std::int64_t memory) {
    left_ -= memory;
    return open();
  }

  bool mark_due() const { return sent() - marked_ >= share_ / 4; }
  std::int64_t position() const { return sent(); }
  // The mark was sent.
  void note_mark() {
    marked_ = sent();
    renew();
  }
  // False: the peer cannot have said this.
  bool on_report(const UnexpectedReport& report) {
    if (report.position < 0 || report.position > marked_ || report.held < 0) return false;
    // What is held is at most what was sent; a peer that says otherwise closes the window and nothing else.
    closes_ = report.position + share_ - std::min(report.held, share_);
    renew();
    return true;
  }

 private:
  std::int64_t sent() const { return end_ - left_; }
  void renew() {
    const std::int64_t now = sent();
    end_ = std::min(closes_, marked_ + share_ / 4) - 1;
    left_ = end_ - now;
  }

  std::int64_t left_ = -1;   // until end_
  std::int64_t end_ = -1;    // the last position before the window closes or a mark is due
  std::int64_t share_ = 0;   // positions and shares are in bytes
  std::int64_t marked_ = 0;  // position of the last mark
  std::int64_t closes_ = 0;  // position at which it closes as far as the last report says
};

class UnexpectedMemory {
 public:
  void hold(std::int64_t memory) { held_ += memory; }
  std::int64_t held() const { return held_; }
  // A message was received or dropped. True: the sender, which has this share, is to be told.
  bool let_go(std::int64_t memory, std::int64_t share) {
    held_ -= memory;
    return reported_ > 0 && (held_ == 0 || reported_ - held_ >= share / 4);
  }
  void on_mark(std::int64_t position) { position_ = position; }
  // What to tell the sender now.
  UnexpectedReport report() {
    reported_ = held_;
    return {position_, held_};
  }

 private:
  std::int64_t held_ = 0;
  std::int64_t reported_ = 0;
  std::int64_t position_ = 0;  // of the last mark
};

}  // namespace hawser
