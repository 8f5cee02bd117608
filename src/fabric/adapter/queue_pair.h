// QueuePair: state, attributes, and the two halves that do the work. The checks of ibv_modify_qp are in
// queue_pair_modify.cpp, path migration is in migration.cpp.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>

#include "base/intrusive_list.h"
#include "fabric/adapter/congestion.h"
#include "fabric/adapter/objects.h"
#include "fabric/adapter/requester.h"
#include "fabric/adapter/responder.h"
#include "fabric/network/packet.h"

namespace hawser::fabric {

class Adapter;
class Context;
class QueuePair;

// What a queue pair sends: packets of each go out in order.
enum class Stream : std::uint8_t { requests, responses };

// A queue pair's place among those that take turns at sending one stream.
struct SendTurn {
  SendTurn(QueuePair& of, Stream what) : queue_pair(of), stream(what) {}
  QueuePair& queue_pair;
  const Stream stream;
  ListLink ready_link;      // in its port's list of those with work
  bool in_service = false;  // a send engine is at it
  std::uint64_t round = 0;  // of its engine's, the last in which it had its turn
};

class QueuePair {
 public:
  struct Configuration {
    QpType type = QpType::rc;
    ProtectionDomain* domain = nullptr;
    CompletionQueue* send_queue = nullptr;     // completions of sends
    CompletionQueue* receive_queue = nullptr;  // of receives
    SharedReceiveQueue* shared_receive_queue = nullptr;
    QpCapabilities capabilities;
    std::uint32_t xrc_domain = 0;  // of xrc_recv, which needs none of the above
    bool signal_all = false;
    std::uint64_t cookie = 0;  // the owner's, to find its object in events
  };

  QueuePair(Adapter& adapter, Context& context, std::uint32_t number, const Configuration& configuration);
  ~QueuePair();

  // Changes what `mask` names, all or nothing. EINVAL: not from this state, or a wrong value.
  Outcome modify(const QpAttributes& attributes, std::uint32_t mask);
  // EINVAL in states that do not take sends, ENOMEM when the queue is full. In ERR: completes as flushed.
  Outcome post_send(const SendRequest& request);
  Outcome post_receive(const ReceiveRequest& request);
  Outcome attach_multicast(const Gid& gid, Lid lid);
  Outcome detach_multicast(const Gid& gid, Lid lid);

  std::uint32_t number() const { return number_; }
  const Configuration& configuration() const { return configuration_; }
  const QpAttributes& attributes() const { return attributes_; }
  QpState state() const { return attributes_.state; }
  bool draining() const { return state() == QpState::sqd && !requester_.drained(); }
  Context& context() const { return *context_; }
  Adapter& adapter() const { return adapter_; }
  Requester& requester() { return requester_; }
  Responder& responder() { return responder_; }
  const Requester& requester() const { return requester_; }
  // Of its own; with a shared receive queue it stays empty. Flushed when the queue pair enters ERR.
  const ReceiveQueue& receives() const { return receives_; }
  void flush_receives();

  // XRC targets: who else has it open. One of them gets it when its owner gives it up.
  std::vector<Context*>& openers() { return openers_; }
  void move_to(Context& opener);

  // ---- for the adapter ----
  void receive(Packet& packet);  // the packet stays the caller's
  bool has_work() const;
  bool has_work(Stream stream) const;
  bool has_urgent()
      const;  // an acknowledgement, or the like, is to go out: small, and the other end waits for it
  // Null: nothing to send now. `most`: of its MTUs in one packet.
  Packet* next_packet(Stream stream, std::uint32_t most = UINT32_MAX);
  Packet* next_packet();  // of either
  Packet* next_urgent();
  int port() const { return attributes_.path.port; }
  void kick();  // looks for work, as after a pause of the adapter
  void kill();  // a fault: fatal error and event
  // What is on its way from a region takes its bytes with it: the client may use that memory otherwise.
  void detach_packets(const MemoryRegion& region);
  void check_invariants() const;

  ListLink urgent_link;  // in its port's list of queue pairs with urgent answers
  int engine = 0;        // which send engine has packets of it, and how many: only that one may take more,
  int in_pipeline = 0;   // or they could overtake each other
  int read_responses_leaving = 0;  // of these
  SendTurn requests{*this, Stream::requests};
  SendTurn responses{*this, Stream::responses};
  SendTurn& turn(Stream stream) { return stream == Stream::requests ? requests : responses; }
  int receive_engine = 0;
  CongestionControl congestion;
  void on_pace(Nanoseconds) { kick(); }
  MemberEvent<QueuePair, &QueuePair::on_pace> pace_event{*this};  // it may send again

  struct Multicast {
    Gid gid;
    Lid lid;
  };
  const std::vector<Multicast>& multicast() const { return multicast_; }

 private:
  bool may_request() const;
  friend class Requester;
  friend class Responder;
  friend class Migration;

  Outcome check_values(const QpAttributes& attributes, std::uint32_t mask) const;
  Outcome check_path(const AddressVector& path, int port) const;
  void apply(const QpAttributes& attributes, std::uint32_t mask);
  void change_state(QpState to);
  // The send side failed with `status` on its oldest request (success: no request is to blame).
  void fail(CompletionStatus status);
  void enter_error(CompletionStatus first_send);
  void enter_send_error(CompletionStatus first_send);
  void detach_packets();  // packets in flight stop referring to the client's memory
  void detach_packet(Packet& packet);
  void raise(AsyncEventType type);
  void deliver_send(const Completion& completion);
  void deliver_receive(const Completion& completion, SharedReceiveQueue* shared,
                       const CarriedData& carried = {});
  QpType type_of_peer() const;
  void deliver(CompletionQueue& queue, const Completion& completion, const CarriedData& carried);
  Packet* finish(Packet* packet);  // what all packets need before they leave
  void address(Packet& packet);    // fills in where it goes
  std::uint64_t chunk_bytes() const;
  std::uint32_t mtu() const;  // of the path; a datagram's is the port's
  void note_migration_bit(const Packet& packet);
  void migrate();
  bool migrate_on_failure();
  void check_drained();

  Adapter& adapter_;
  Context* context_;
  std::vector<Context*> openers_;
  const std::uint32_t number_;
  const Configuration configuration_;
  QpAttributes attributes_;
  bool established_ = false;  // COMM_EST was raised
  bool drained_told_ = false;
  std::uint32_t most_mtus_ = UINT32_MAX;  // in the packet that is being made
  Requester requester_;
  Responder responder_;
  ReceiveQueue receives_;
  InFlightList in_flight_;  // packets that refer to memory of this client
  std::vector<Multicast> multicast_;
};

}  // namespace hawser::fabric
