// Transport: what carries bytes to other processes, and the contract of everything that does: shared memory,
// rails, sockets, the simulator's network. How the bytes travel (rings and single copies in one node, a
// stream, stripes over rails) is the transport's own business; what they mean is that of the room that sent
// them.
//
// Rooms talk by active messages: a header of 24 bytes, most of them the room's own, with bytes behind it that
// the transport copies out, or with an offer of bytes that the receiver fetches when it knows where to
// (rendezvous). The header names the handler that takes it at the receiver.
//
// Order: what is sent or exposed to one peer arrives in the order of the calls, once each. Fetches and their
// ends are not ordered.
//
// Lanes: a transport belongs to one lane (lane.h), and all calls of it are made under that lane's lock. It
// has no locks of its own, and starts no threads.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/byte_sequence.h"
#include "base/result.h"
#include "base/time.h"
#include "channel/traffic_class.h"

namespace hawser {

// A process that this one knows: its place in the table of known processes.
using ProcessIndex = std::int32_t;

// Who takes an active message at its receiver. On the wire.
enum class HandlerId : std::uint8_t {
  message,             // message/: sends and receives
  collective,          // collective/: what is no message of its own
  window,              // one-sided operations that the transport cannot do itself
  process_management,  // processes that come and go
};
inline constexpr std::uint8_t handler_ids = 4;

// Stands before every active message; on the wire as it is. A room derives no meaning from it: it has a
// struct of its own of the same size, whose first and last fields are these (message/message_header.h).
struct [[gnu::may_alias]] TransportHeader {
  HandlerId handler = HandlerId::message;
  TrafficClass traffic =
      TrafficClass::blocking;  // of the whole operation, a fetch of what is offered included
  // Of a packet: somebody waits for what the receiver's software makes of it, so that a receiver that
  // computes is interrupted, if it can be.
  std::uint8_t urgent : 1 = 0;
  std::uint8_t flags : 7 = 0;  // the room's, as is what follows
  std::array<std::byte, 17> own = {};
  std::uint32_t channel_word = 0;  // the transport's own; anything may stand here on arrival
};
static_assert(sizeof(TransportHeader) == 24,
              "36 bytes of payload must fit one cache line with the slot's stamp");

// Names bytes that a sender exposed; opaque to everyone but the transport that made it.
struct ExposeToken {
  std::uint64_t words[4] = {};
};

// Told once when an operation that was begun with it is over. A failed one touches its memory no more,
// either.
class Completion {
 public:
  // Called only from within Transport::progress; may send, expose and fetch.
  virtual void on_complete(Result<> result) = 0;

 protected:
  ~Completion() = default;
};

// Where the bytes of a long eager message go: `into` takes its first bytes (into.size may be smaller than the
// message; the rest is dropped). `end`, which may be null, is told when they have all landed.
struct EagerSink {
  ByteSequence into;
  Completion* end = nullptr;
};

// A room that takes active messages. Called only from within Transport::progress; may send, expose and fetch,
// but must not call progress. Everything in the arguments is another process's word, except `source`.
class ActiveMessageHandler {
 public:
  // An active message arrived in one piece; `payload` is valid only during the call.
  virtual void on_packet(ProcessIndex source, const TransportHeader& header, const std::byte* payload,
                         std::int64_t size) = 0;
  // The peer exposes `size` bytes (never negative), which `token` names for one fetch.
  virtual void on_offer(ProcessIndex source, const TransportHeader& header, const ExposeToken& token,
                        std::int64_t size) = 0;
  // A message of more than one_piece bytes begins, which come in pieces while the sender is still copying
  // them in. They are copied to the sink answered here, which must stay valid until its end is told. Nothing
  // else of the same source is reported in between, but other sources' is.
  virtual EagerSink on_eager_begin(ProcessIndex source, const TransportHeader& header, std::int64_t size) = 0;

 protected:
  ~ActiveMessageHandler() = default;
};

// What ends the sleep of a process that armed a transport.
enum class Wake : std::uint8_t {
  anything,       // whatever arrives or is done: a program waits for it
  needs_software  // only what others wait for until this process's software has handled it
};

// How a transport reports: what arrives, and what is wrong with a peer. A process's is its Lane.
class TransportEvents : public ActiveMessageHandler {
 public:
  // The peer cannot be reached any more. Its exposes and fetches were reported as failed before; what is sent
  // to it from now on is swallowed.
  virtual void on_peer_lost(ProcessIndex, const Error&) {}
  // The peer sent what no process of this job can mean; `what` goes on after "rank 3 sent ". It was dropped,
  // and its sender waits perhaps for ever, so the job is to end.
  virtual void on_bad_packet(ProcessIndex source, std::string what) = 0;
  // What the user should read: something is wrong with this process's surroundings, and the job may wait for
  // it.
  virtual void on_notice(const std::string&) {}

 protected:
  ~TransportEvents() = default;
};

// A thread that sleeps on transports without a deadline (ring may be called by another thread).
class DeadlineAlarm {
 public:
  virtual void ring() = 0;

 protected:
  ~DeadlineAlarm() = default;
};

// A number that a transport keeps for people: of packets, bytes, ...
struct ChannelCounter {
  std::string_view name;
  std::uint64_t value;
};

class Multicast;
class PostedReceives;
class RemoteMemory;
class RingSender;

class Transport {
 public:
  virtual ~Transport() = default;

  virtual const char* name() const = 0;
  // What it counted since it was made.
  virtual std::vector<ChannelCounter> list_counters() const { return {}; }

  // Active messages.

  // Up to this size a message is never reported in pieces.
  static constexpr std::int64_t one_piece = 4096;
  // The largest payload that `try_send` takes to this peer; at least 1 KiB.
  virtual std::int64_t eager_limit(ProcessIndex peer) const = 0;
  // Copies header and payload out and sends them. False when there is no room now: nothing was done, try
  // again after `progress`. payload.size <= eager_limit.
  virtual bool try_send(ProcessIndex peer, const TransportHeader& header, const ByteSequence& payload) = 0;
  // Offers `bytes`, which must stay valid until `end` is told: the receiver fetched what it wants of them.
  // False when there is no room now.
  virtual bool try_expose(ProcessIndex peer, const TransportHeader& header, const ByteSequence& bytes,
                          Completion* end) = 0;
  // Receiver: brings the first `into.size` (<= exposed size) bytes; a later progress (never this call) tells
  // `end`, which may be null. The sender is told that it is done as a whole. into.size may be 0 (truncation,
  // cancelled receive).
  virtual void fetch(ProcessIndex peer, const ExposeToken& token, const ByteSequence& into,
                     Completion* end) = 0;

  // The fast path of small messages: a ring in memory that both share, for who sends to this peer often, to
  // be kept at hand (shared_ring.h: try_send_inline takes up to Slot::inline_limit bytes). Null: there is
  // none. Lives as long as the transport.
  virtual RingSender* ring_to(ProcessIndex) { return nullptr; }

  // One-sided operations that it does natively; null: none (remote_memory.h).
  virtual RemoteMemory* remote_memory() { return nullptr; }
  // Groups of processes; null: none (multicast.h).
  virtual Multicast* multicast() { return nullptr; }
  // Where receives that wait are shown to their senders; null: nowhere (posted_receives.h).
  virtual PostedReceives* posted_receives() { return nullptr; }

  // Progress and waiting.

  // Moves whatever can move; true if anything did. Not re-entrant.
  virtual bool progress(TransportEvents& events, Nanoseconds now) = 0;
  // When progress wants to be called though nothing arrives (time-outs); never: not by itself.
  virtual Nanoseconds deadline() const { return never; }
  // Rings once, as soon as a call other than progress gives it a deadline; null: not any more.
  virtual void set_alarm(DeadlineAlarm*) {}
  // For who sleeps: arm(), then one more pass; if that moves nothing, nothing arrives (that is to wake this
  // process) until one of these descriptors is readable or deadline() has come. The descriptors stay the
  // same.
  virtual std::vector<int> descriptors() const { return {}; }
  virtual Result<> arm(Wake) { return {}; }
  // A call other than progress began what was not to be waited for when it was armed for what needs software:
  // arm again.
  virtual bool awaits_more_than_armed() const { return false; }
  // Called now and then, though not in every pass: looks for what nobody tells (a neighbour that has died).
  virtual void look_around(TransportEvents&, Nanoseconds) {}
  // The process gave its core away for so long between two passes.
  virtual void note_pause(Nanoseconds) {}
  // The process has failed, says somebody who knows: ends what waits for it, and reports it as lost if it was
  // not. Not from within progress. Here: of a transport that keeps nothing by peers.
  virtual void give_up(ProcessIndex, const Error&, TransportEvents&) {}
  // Whether something that was sent goes on only in a pass of progress: it would wait for this process's next
  // call of MPI. Not what waits for the receiver.
  virtual bool holds_back() { return false; }
  // True when nothing that this process sent is still in this process's hands (MPI_Finalize).
  virtual bool flushed() const = 0;
};

// Tells the end of an operation to who wants to know.
inline void tell(Completion* end, Result<> result) {
  if (end != nullptr) end->on_complete(std::move(result));
}

}  // namespace hawser
