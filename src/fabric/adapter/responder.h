// Responder: the receiving side of a queue pair. It takes requests in the order of their PSNs, places data,
// and queues the answers, which the send engine fetches one packet at a time.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <span>
#include <vector>

#include "fabric/adapter/objects.h"
#include "fabric/adapter/psn.h"
#include "fabric/network/packet.h"

namespace hawser::fabric {

class QueuePair;

class Responder {
 public:
  explicit Responder(QueuePair& queue_pair) : queue_pair_(queue_pair) {}
  ~Responder();

  void receive(Packet& packet);           // a request; RC and UC
  void receive_datagram(Packet& packet);  // UD
  bool has_work() const { return !responses_.empty(); }
  bool has_urgent() const {
    return !responses_.empty() && responses_.front().kind != PacketKind::read_response;
  }
  Packet* next_response();

  void start(std::uint32_t psn) { expected_ = psn; }
  // The receive in progress completes as flushed, or with the fault it met. Acknowledgements that were queued
  // still go out.
  void flush();
  void reset();
  void forget(const SharedReceiveQueue& queue);  // XRC: it goes away
  std::uint32_t expected_psn() const { return expected_; }
  void check_invariants() const;

 private:
  struct Response {
    PacketKind kind = PacketKind::acknowledge;
    Syndrome syndrome = Syndrome::positive;
    std::uint32_t psn = 0;
    std::uint32_t psn_count = 1;
    std::uint64_t address = 0;  // of a read: next byte
    std::uint64_t length = 0;   // left
    std::uint64_t offset = 0;   // done
    std::uint32_t rkey = 0;
    const ProtectionDomain* domain = nullptr;  // only compared
    std::uint64_t result = 0;                  // of an atomic
    bool echo = false;
    bool again = false;  // the request came before: the answer may have arrived meanwhile
  };
  struct Remembered {
    std::uint32_t psn = 0;
    std::uint64_t result = 0;
  };

  void accept(Packet& packet);
  Syndrome execute(Packet& packet);
  bool find_target(const Packet& packet);
  Syndrome execute_send(Packet& packet);
  Syndrome execute_write(Packet& packet);
  Syndrome execute_read(Packet& packet);
  Syndrome execute_atomic(Packet& packet);
  bool take_receive();
  // `carried`, if there is one, may take the data instead.
  DmaResult place_in_receive(const Packet& packet, std::uint64_t offset, std::uint64_t skip,
                             CarriedData* carried = nullptr);
  bool may_carry(const Packet& packet) const;
  DmaResult carry(const Packet& packet, const Piece& place, CarriedData& carried);
  void complete_receive(const Packet& packet, CompletionStatus status, std::uint64_t bytes,
                        const CarriedData& carried = {});
  void duplicate(Packet& packet);
  void refuse(Packet& packet, Syndrome syndrome);
  void acknowledge(std::uint32_t psn, bool echo);
  void push(const Response& response);
  void place_datagram(const Packet& packet);
  Packet* next_read_response(Response& response);
  void hold(Packet& packet);
  void release_held();
  void drop_held();
  std::size_t queued_reads() const;
  bool has_resources();
  // Whether data up to this PSN, not included, were sent before; notes that they are now.
  bool sent_before(std::uint32_t end) {
    if (answered_psn_ && psn_distance(end, *answered_psn_) <= 0) return true;
    answered_psn_ = end;
    return false;
  }

  QueuePair& queue_pair_;
  std::uint32_t expected_ = 0;
  bool nak_sent_ = false;   // for expected_: say it once
  std::uint64_t skip_ = 0;  // bytes of the packet in hand that had come before
  ReceiveEntry current_;
  bool has_current_ = false;
  SharedReceiveQueue* shared_ = nullptr;  // of the packet in hand, or of current_
  const ProtectionDomain* domain_ = nullptr;
  bool refusing_ = false;  // a refusal is queued: it and what is before it still go out
  CompletionStatus receive_failure_ = CompletionStatus::success;  // what a refused receive completes with
  // Few at a time, and a deque would take half a kilobyte where there is none.
  std::vector<Response> responses_;
  std::optional<std::uint32_t> answered_psn_;  // behind the last packet of data ever sent
  std::vector<Remembered> atomics_;            // results, for requests that come again
  std::map<std::uint32_t, Packet*> held_;      // adaptive routing: came early; by PSN
};

}  // namespace hawser::fabric
