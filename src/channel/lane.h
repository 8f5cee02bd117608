// Lane: one way of a process into the network, with all that belongs to it alone: transports (with their own
// rings, connections and queue pairs), the rooms that take what arrives over them (so also the matching of
// messages), and one lock. What MPICH calls a virtual communication interface.
//
//   communicators ──by context id──> lane 0: lock, matching, transports ──> lane 0 of the peer
//                                    lane 1: lock, matching, transports ──> lane 1 of the peer
//
// Lanes share nothing, so threads on different lanes never wait for each other. A communicator lives on one
// lane, the same in all its processes, so that its messages keep their order and MPI_ANY_SOURCE looks in one
// place. The process's own lane is that of everything; its lock is the process's. Further ones, for messages
// of programs with several threads, are made by message/message_lane.h.
//
// Which calls need the lock: all of a Lane, of its transports and of the handlers registered here, whoever
// makes them: a thread of the application, or an event thread that the library may have beside them.
// Exceptions are what may be read without it: Transport::descriptors(), for who sleeps on them, once the
// transport is made. Calls back into a room (ActiveMessageHandler, Completion) come with the lock held.
#pragma once

#include <array>
#include <functional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "channel/transport.h"

namespace hawser {

class Lane final : public TransportEvents {
 public:
  // The handler must outlive what arrives; null: nobody takes such messages (any more).
  void set_handler(HandlerId id, ActiveMessageHandler* handler) {
    handlers_[static_cast<std::size_t>(id)] = handler;
  }

  // What the first peer that sent nonsense sent; empty while none has. `end_job` is called with it at once.
  const std::string& bad_packet() const { return bad_packet_; }
  void at_bad_packet(std::function<void(const std::string&)> end_job) { end_job_ = std::move(end_job); }

  void at_notice(std::function<void(const std::string&)> tell_user) { tell_user_ = std::move(tell_user); }

  void on_packet(ProcessIndex source, const TransportHeader& header, const std::byte* payload,
                 std::int64_t size) override;
  void on_offer(ProcessIndex source, const TransportHeader& header, const ExposeToken& token,
                std::int64_t size) override;
  EagerSink on_eager_begin(ProcessIndex source, const TransportHeader& header, std::int64_t size) override;
  void on_peer_lost(ProcessIndex peer, const Error& error) override;
  void on_bad_packet(ProcessIndex source, std::string what) override;
  void on_notice(const std::string& text) override {
    if (tell_user_) tell_user_(text);
  }
  // Processes that cannot be reached, in the order of the reports; taking them forgets them.
  struct Loss {
    ProcessIndex process;
    std::string why;
  };
  bool any_losses() const { return !losses_.empty(); }
  std::vector<Loss> take_losses() { return std::exchange(losses_, {}); }

 private:
  // Null: the number is no handler's, which was reported.
  ActiveMessageHandler* handler_of(ProcessIndex source, const TransportHeader& header);

  std::array<ActiveMessageHandler*, handler_ids> handlers_ = {};
  std::vector<Loss> losses_;
  std::set<ProcessIndex> lost_;
  std::string bad_packet_;
  std::function<void(const std::string&)> end_job_, tell_user_;
};

}  // namespace hawser
