// Channel: what carries messages to other processes. The message room sends a short header with eager
// bytes, or exposes a sequence of bytes that the receiver fetches (rendezvous); how the bytes travel
// (rings and single copies in one node, a stream, stripes over rails) is the channel's own business.
//
// Guarantees to the user of a channel: packets of one peer arrive in the order sent, once each.
// Threads: none; all calls come from the one thread that holds the process's lock.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/byte_sequence.h"
#include "base/result.h"
#include "base/time.h"

namespace hawser {

// A process of the job, numbered as in MPI_COMM_WORLD.
using ProcessIndex = std::int32_t;

// What the message room needs at the receiver to match a message. 24 bytes; on the wire as it is.
struct MessageHeader {
  enum class Kind : std::uint8_t {
    eager,              // the whole message follows
    eager_synchronous,  // same, and the sender waits for `matched` (MPI_Ssend)
    rendezvous,         // an ExposeToken follows; `size` bytes wait at the sender
    matched,            // reply to eager_synchronous; `sender_request` names the send
    cancel,             // the sender asks to take back `sender_request`
    cancel_reply,       // flags is 1 if it could be taken back, else 0
    mark,               // how far the sender's eager messages have come (message/eager_window.h)
    report,             // reply to a mark: how much of them the receiver holds
  };
  Kind kind = Kind::eager;
  std::uint8_t flags = 0;
  std::uint16_t reserved = 0;
  std::uint32_t context = 0;
  std::int32_t source_rank = 0;  // rank of the sender in the communicator
  std::int32_t tag = 0;
  std::uint32_t sender_request = 0;  // 0 when no reply is wanted
  std::uint32_t channel_word = 0;    // the channel's own; anything may stand here on arrival
};
static_assert(sizeof(MessageHeader) == 24,
              "36 bytes of payload must fit one cache line with the slot's stamp");

// Names bytes that a sender exposed; opaque to everyone but the channel that made it.
struct ExposeToken {
  std::uint64_t words[4] = {};
};

// Where the bytes of a long eager message go: `into` takes its first bytes (into.size may be smaller than
// the message; the rest is dropped), `cookie` comes back when they have all landed.
struct EagerSink {
  ByteSequence into;
  void* cookie = nullptr;
};

// How a channel reports. Implemented by the message room; called only from within Channel::progress.
class ChannelEvents {
 public:
  // A packet arrived in one piece: `payload` is valid only during the call. For rendezvous, payload is the
  // ExposeToken and `message_size` the bytes that can be fetched; otherwise message_size == payload_size.
  virtual void on_packet(ProcessIndex source, const MessageHeader& header, const std::byte* payload,
                         std::int64_t payload_size, std::int64_t message_size) = 0;
  // A long eager message begins (kind eager or eager_synchronous), whose bytes come in pieces while the
  // sender is still copying them in. The channel copies them to the sink answered here, which must stay valid
  // until on_eager_end. No other packet of the same source is reported in between, but other sources' are.
  virtual EagerSink on_eager_begin(ProcessIndex source, const MessageHeader& header,
                                   std::int64_t message_size) = 0;
  virtual void on_eager_end(ProcessIndex source, void* cookie) = 0;
  // The bytes exposed with `cookie` were fetched by the receiver, or are not wanted: the buffer is free.
  virtual void on_exposed_done(void* cookie, Result<> result) = 0;
  // A fetch begun with `cookie` has landed all its bytes.
  virtual void on_fetched(void* cookie, Result<> result) = 0;
  // The peer cannot be reached any more. Its exposes and fetches were reported as failed before; what is sent
  // to it from now on is swallowed.
  virtual void on_peer_lost(ProcessIndex, const Error&) {}
  // The peer sent what no process of this job can mean; `what` goes on after "rank 3 sent ". It was dropped,
  // and its sender waits perhaps for ever, so the job is to end.
  virtual void on_bad_packet(ProcessIndex source, std::string what) = 0;

 protected:
  ~ChannelEvents() = default;
};

// A number that a channel keeps for people: of packets, bytes, ...
struct ChannelCounter {
  std::string_view name;
  std::uint64_t value;
};

class Channel {
 public:
  virtual ~Channel() = default;

  virtual const char* name() const = 0;
  // What it counted since it was made.
  virtual std::vector<ChannelCounter> list_counters() const { return {}; }
  // The largest payload that `try_send` takes in one packet to this peer; at least 1 KiB.
  virtual std::int64_t eager_limit(ProcessIndex peer) const = 0;

  // Copies header and payload out and sends them. False when there is no room now: nothing was done,
  // try again after `progress`. payload.size <= eager_limit; for kinds other than eager and
  // eager_synchronous, also <= 4 KiB (they must arrive in one piece).
  virtual bool try_send(ProcessIndex peer, const MessageHeader& header, const ByteSequence& payload) = 0;

  // Sends a rendezvous header with a token for `bytes`, which must stay valid until on_exposed_done(cookie).
  // False when there is no room now.
  virtual bool try_expose(ProcessIndex peer, const MessageHeader& header, const ByteSequence& bytes,
                          void* cookie) = 0;
  // Receiver: brings the first `into.size` (<= exposed size) bytes; a later progress (never this call)
  // reports on_fetched(cookie). The sender is told that it is done as a whole. into.size may be 0
  // (truncation, cancelled receive). May be called from within ChannelEvents.
  virtual void fetch(ProcessIndex peer, const ExposeToken& token, const ByteSequence& into, void* cookie) = 0;

  // Moves whatever can move; true if anything did. Not re-entrant: events may send, expose and fetch, but
  // must not call progress.
  virtual bool progress(ChannelEvents& events, Nanoseconds now) = 0;
  // When progress wants to be called though nothing arrives (time-outs); never: not by itself.
  virtual Nanoseconds deadline() const { return never; }
  // For who sleeps: arm(), then one more pass; if that moves nothing, nothing arrives until one of these
  // descriptors is readable or deadline() has come. The descriptors stay the same.
  virtual std::vector<int> descriptors() const { return {}; }
  virtual Result<> arm() { return {}; }
  // True when nothing that this process sent is still in this process's hands (MPI_Finalize).
  virtual bool flushed() const = 0;
};

}  // namespace hawser
