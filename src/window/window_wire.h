// What this room puts on the wire. Everything in it is another process's word when it arrives.
//
//   origin                                  target
//   put, accumulate (data)          ──>     done as they arrive, in order
//   put_offer, offer                ──>     fetched
//   flush                           ──>
//                                   <──     flushed: all that came before is in the memory
//   get                             ──>
//                                   <──     data, or an offer of them
//   get_accumulate, compare_and_swap ──>
//                                   <──     data: what was there before
//   lock                            ──>
//                                   <──     granted
//   unlock                          ──>
//                                   <──     flushed
//
// Where the transport does puts and gets natively (channel/remote_memory.h), the origin asks for the window's
// token with the first one, and those behind it whose target is one piece need no packet of this room.
//
// No packet is longer than Transport::one_piece, so each is handled as it stands in the ring or the packet
// buffer. What is larger goes in several, whose places in the target's memory the origin calculates, or is
// offered.
#pragma once

#include <cstddef>
#include <cstdint>

#include "channel/transport.h"
#include "datatype/operator.h"

namespace hawser {

struct [[gnu::may_alias]] WindowHeader {
  enum class Kind : std::uint8_t {
    put,               // PlaceOnWire, data
    accumulate,        // PlaceOnWire, data
    get_accumulate,    // PlaceOnWire, data (none for MPI_NO_OP); `number` wants the old data
    compare_and_swap,  // PlaceOnWire, compared value, new value
    get,               // PlaceOnWire
    put_offer,         // PlaceOnWire of what the next offer brings
    offer,             // an offer: data of `put_offer`, or the answer to a get
    data,              // int64 offset in the answer, data
    failed,            // FailureOnWire: the operation `number` was refused
    type_definition,   // TypeOnWire, a part of an encoded layout
    flush,             // wants `flushed`
    flushed,           // FailureOnWire: of the operations up to this one, if any
    lock,              // flags: `shared`
    granted,
    unlock,     // wants `flushed`
    posted,     // MPI_Win_post
    completed,  // MPI_Win_complete; behind all operations of the epoch
    ask_token,  // wants `token`
    token,      // WindowToken, with which the transport reaches the memory by itself; nothing: it cannot
  };
  // flags
  static constexpr std::uint8_t typed = 1;   // TypedPlaceOnWire instead of PlaceOnWire
  static constexpr std::uint8_t shared = 2;  // lock
  static constexpr std::uint8_t answer = 4;  // offer: of what a get asked for

  HandlerId handler = HandlerId::window;
  TrafficClass traffic = TrafficClass::one_sided;
  std::uint8_t urgent : 1 = 1;  // an origin waits for what the target does with its window
  std::uint8_t flags : 7 = 0;
  Kind kind = Kind::put;
  std::uint32_t window = 0;      // Window::id, the same in all members
  std::int32_t source_rank = 0;  // in the window
  std::uint32_t number = 0;      // of the origin's operation, for the answer
  // accumulates: what is done, and with what
  PredefinedOperator operation = PredefinedOperator::no_op;
  Elementary element = Elementary::none;
  Elementary pair_value = Elementary::none;
  Elementary pair_index = Elementary::none;
  std::uint32_t channel_word = 0;  // the transport's

  // The same bytes, as the transport sees them.
  operator const TransportHeader&() const { return reinterpret_cast<const TransportHeader&>(*this); }
  static const WindowHeader& of(const TransportHeader& header) {
    return reinterpret_cast<const WindowHeader&>(header);
  }
};
static_assert(sizeof(WindowHeader) == sizeof(TransportHeader) &&
              offsetof(WindowHeader, kind) == offsetof(TransportHeader, own) &&
              offsetof(WindowHeader, channel_word) == offsetof(TransportHeader, channel_word));

// Where in the target's window: bytes from its beginning, or an address in a dynamic window. What an
// operation takes from or brings to one piece of memory there has this alone.
struct PlaceOnWire {
  std::int64_t displacement = 0;
  std::int64_t bytes = 0;  // of the packet's part of the operation
};
// The same where the target's data are `count` elements of a derived datatype: the part of the packed form
// that begins at `offset`.
struct TypedPlaceOnWire {
  PlaceOnWire place;
  std::int64_t count = 0;
  std::int64_t offset = 0;
  std::uint32_t type = 0;  // its place in the table of what this origin defined
  std::uint32_t unused = 0;
};

// A part of what datatype/encoded_layout.h made of a datatype, the first part first, one after the other.
struct TypeOnWire {
  std::uint32_t type = 0;  // < defined_types
  std::uint32_t unused = 0;
  std::int64_t total = 0;   // bytes of the whole
  std::int64_t offset = 0;  // of this part
};
// How many datatypes a process remembers of another; the origin says which place a new one takes.
inline constexpr std::uint32_t defined_types = 64;

// An MPI error class, 0 for none, and the place that was wrong.
struct FailureOnWire {
  std::int32_t error = 0;
  std::int32_t unused = 0;
  PlaceOnWire place;
};

}  // namespace hawser
