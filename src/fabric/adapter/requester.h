// Requester: the send queue of a connected queue pair (RC, UC). It cuts requests into packets, keeps what is
// not acknowledged, and resends it when told so or when nothing is heard. Requests complete in the order they
// were posted.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <vector>

#include "base/event_queue.h"
#include "fabric/adapter/objects.h"
#include "fabric/network/packet.h"

namespace hawser::fabric {

class QueuePair;

struct SendEntry {
  SendRequest request;  // its pointers are not used
  AddressVector path;   // UD
  std::vector<Segment> segments;
  std::shared_ptr<const std::vector<std::byte>> inline_bytes;
  std::uint64_t length = 0;
  std::uint64_t received = 0;  // bytes of a read's answer that have come
  std::uint32_t first_psn = 0;
  std::uint32_t psn_count = 1;
  bool started = false;  // has PSNs
  bool done = false;     // a read or atomic: answered; an unreliable send: gone
  bool hung = false;     // a fault: will never complete by itself
  CompletionStatus failure = CompletionStatus::success;  // found here before sending

  bool local() const { return is_local(request.opcode); }
  bool expects_data() const {
    return request.opcode == Opcode::rdma_read || request.opcode == Opcode::compare_and_swap ||
           request.opcode == Opcode::fetch_and_add;
  }
};

class Requester {
 public:
  Requester(QueuePair& queue_pair, std::uint32_t capacity);

  Outcome post(const SendRequest& request);
  bool has_work() const;
  Packet* next_packet();  // null: nothing to send now

  void receive_acknowledge(const Packet& packet);
  void receive_response(Packet& packet);  // of a read or atomic

  void start(std::uint32_t psn);  // entering RTS from RTR
  // Everything that is outstanding completes: the oldest with `first`, all others as flushed.
  void flush(CompletionStatus first);
  void reset();          // forgets everything without completions
  void resend_all();     // from the oldest unacknowledged packet: after a migration
  bool drained() const;  // nothing begun and unfinished
  void hang_next() { hang_next_ = true; }

  std::size_t outstanding() const { return static_cast<std::size_t>(tail_ - head_); }
  std::uint64_t posted() const { return tail_; }
  std::uint64_t retired() const { return head_; }
  std::uint64_t retries() const { return retries_; }
  std::uint32_t next_psn() const { return next_psn_; }
  void check_invariants() const;

 private:
  SendEntry& entry(std::uint64_t index) { return ring_[index % ring_.size()]; }
  const SendEntry& entry(std::uint64_t index) const { return ring_[index % ring_.size()]; }
  const SendEntry* sendable() const;
  void begin(SendEntry& entry);
  void execute_local(SendEntry& entry);
  CompletionStatus check_local(const SendEntry& entry) const;
  Packet* build(SendEntry& entry);
  void build_data(SendEntry& entry, Packet& packet);
  void build_datagram(SendEntry& entry, Packet& packet);
  void build_read(SendEntry& entry, Packet& packet);
  void build_atomic(SendEntry& entry, Packet& packet);
  bool load_payload(const SendEntry& entry, Packet& packet);
  std::optional<CompletionStatus> place_response(SendEntry& entry, Packet& packet);
  SendEntry* find_unanswered();
  void response_lost(std::uint32_t psn, std::uint32_t heard);

  void acknowledge_until(std::uint32_t psn);  // everything before `psn` has arrived
  void complete_in_order();
  void complete(SendEntry& entry, CompletionStatus status);
  void go_back(std::uint32_t psn);
  bool use_retry();  // false: there are none left, and the queue pair has failed or migrated
  void progressed();
  void watch();  // starts the time-out if something is outstanding
  Nanoseconds timeout() const;
  void on_timeout(Nanoseconds now);
  void on_pause_end(Nanoseconds now);

  QueuePair& queue_pair_;
  void grow();

  const std::size_t capacity_;
  std::vector<SendEntry> ring_;
  // Indices count requests since the beginning: [head, cursor) sent, the one at cursor from offset on still
  // to be sent, up to tail.
  std::uint64_t head_ = 0, cursor_ = 0, tail_ = 0;
  std::uint64_t cursor_offset_ = 0;
  std::uint32_t next_psn_ = 0;          // for the next request that begins
  std::uint32_t sent_psn_ = 0;          // behind the last packet ever sent
  std::uint32_t unacked_psn_ = 0;       // the oldest unacknowledged packet
  std::uint32_t last_request_psn_ = 0;  // behind the last packet that asked for an acknowledgement
  std::uint32_t data_requests_ = 0;     // reads and atomics begun and not answered
  std::uint32_t heard_psn_ =
      0;  // behind the last packet known to have arrived, though answers before may be missing
  std::uint32_t asked_again_psn_ = 0;               // sent_psn_ when lost_response_psn_ was asked for again
  std::optional<std::uint32_t> lost_response_psn_;  // asked for again already
  bool paused_ = false;                             // the receiver was not ready
  bool hang_next_ = false;
  std::uint8_t retries_left_ = 0;
  std::uint8_t rnr_retries_left_ = 0;
  std::uint64_t retries_ = 0;
  Nanoseconds deadline_ = never;
  MemberEvent<Requester, &Requester::on_timeout> timeout_event_{*this};
  MemberEvent<Requester, &Requester::on_pause_end> pause_event_{*this};
};

}  // namespace hawser::fabric
