// PostedBuffers: receives that wait, where their senders can see them. A sender whose message is not asked
// for claims the receive that takes it, and writes the message there itself.
//
//   free --show--> posted --claim (sender)--> claimed --finish (sender)--> finished --meet--> free
//                    | withdraw, meet            | meet: the receiver has come, and moves the rest as usual
//                    v                           v
//                   free                        free
//
// Which receive takes a message is certain for the sender, though only the receiver matches. Nothing that
// stands in the ring before the message may be matched yet, so the sender claims only if the receiver has
// looked at all of that (RingControl::looked_at), or if all of that claimed receives itself. The receiver
// says how far it has looked before it posts and before it takes away. The sender reads it after the buffers:
//   - a buffer that was posted after the message was looked at comes with a count that says so;
//   - a buffer that the message itself took is gone only after the count says so.
// Among the buffers that fit, the message takes the one that was posted first. Buffers and count belong
// together: `posted_version` is odd while the receiver changes both, and a sender that read something from
// before a change and something from after it finds the version changed.
#pragma once

#include <array>
#include <cstdint>
#include <optional>

#include "base/byte_sequence.h"
#include "channel/shared_ring.h"
#include "channel/shared_segment.h"

namespace hawser {

class PostedBuffers {
 public:
  PostedBuffers(const SharedSegment& segment, std::int32_t self) : segment_(segment), self_(self) {}

  // The owner.

  // Answers the place; -1: all are in use. `transfer` is where parts are claimed.
  int show(std::int32_t source, std::uint32_t transfer, const TransportHeader& header,
           const TransportHeader& mask, const ByteSequence& into);
  enum class Met : std::uint8_t {
    unclaimed,   // nobody writes
    claimed,     // the sender has begun, and waits to be asked for the rest
    finished,    // it has written all, and will say so
    by_another,  // another message claimed it: its sender lies
  };
  // The receive at this place met the front message of its source's ring, which is exposed under this number.
  // That it was looked at and that the receive is gone, senders see together.
  Met meet(int place, std::uint32_t expose, RingReceiver& ring);
  bool withdraw(int place);
  // Whatever its sender was doing when it failed.
  void take_away(int place);
  std::uint32_t transfer_of(int place) const { return uses_[static_cast<std::size_t>(place)].transfer; }

  // A sender.

  struct Found {
    std::int32_t owner;
    int place;
    std::uint64_t state;
    std::uint32_t transfer;
    std::uint64_t address;
    std::int64_t size;
    std::uint64_t version = 0;
  };
  // The first buffer of `owner` that takes a message of this process with this header.
  std::optional<Found> find(std::int32_t owner, const TransportHeader& header) const;
  // Whether the buffers, and the count that was read after find(), belong together.
  bool unchanged(const Found& found) const;
  // Makes it this message's: from now on its memory may be written to. False: it is not there any more.
  bool claim(Found& found, std::uint32_t expose) const;
  // Everything is written. False: the receiver came first, and will ask.
  bool finish(const Found& found) const;

 private:
  PostedBuffer& own(int place) const { return segment_.block(self_).posted[place]; }
  void begin_change() { segment_.block(self_).posted_version.fetch_add(1, std::memory_order_acq_rel); }
  void end_change() { segment_.block(self_).posted_version.fetch_add(1, std::memory_order_release); }

  SharedSegment segment_;
  std::int32_t self_;
  std::uint64_t order_ = 0;
  struct Use {
    std::uint64_t life = 0;  // how often the place was used
    std::uint32_t transfer = 0;
  };
  std::array<Use, ProcessBlock::posted_count> uses_{};
};

}  // namespace hawser
