// WindowEngine: the windows of one process, and the active messages between them (window_wire.h): makes
// windows, sends what operations have to say, and takes what arrives to the window it is for. What this
// process does as a target is WindowServer's.
#pragma once

#include <map>
#include <memory>
#include <string>
#include <vector>

#include "channel/channel_set.h"
#include "channel/lane.h"
#include "channel/shared_areas.h"
#include "collective/engine.h"
#include "window/window.h"
#include "window/window_peer.h"
#include "window/window_server.h"

namespace hawser {

class WindowEngine final : public ActiveMessageHandler {
 public:
  explicit WindowEngine(CollectiveEngine& collectives);
  ~WindowEngine();

  // From here on operations can be sent, and come in over the lane.
  // `neighbours` are those that share memory with this process; null: there are none.
  void open(Lane& lane, ProcessIndex self, ChannelSet& channels, Neighbours* neighbours);
  // No window is left that anybody uses.
  void close();

  // The windows of which this process is rank 0 and that the program has not freed, in words; empty: none.
  std::string describe_unfreed() const;

  // Collective over `parent`, an intracommunicator.
  Result<Ref<Window>> create(Communicator& parent, WindowMemory memory);

  // Sends what waited for room. True if anything moved.
  bool progress() {
    return !(waiting_peers_.empty() && waiting_links_.empty() && !server_.busy()) && advance();
  }
  bool any() const { return !windows_.empty(); }
  // Ends requests that wait for processes that have failed.
  void end_failed();
  // True when nothing waits for room.
  bool flushed() const;

  void on_packet(ProcessIndex source, const TransportHeader& header, const std::byte* payload,
                 std::int64_t size) override;
  void on_offer(ProcessIndex source, const TransportHeader& header, const ExposeToken& token,
                std::int64_t size) override;
  EagerSink on_eager_begin(ProcessIndex source, const TransportHeader& header, std::int64_t size) override;

  // --- For this room's other parts.
  CollectiveEngine& collectives() { return collectives_; }
  Progress& waiting() { return collectives_.waiting(); }
  const Trouble& trouble() const { return collectives_.trouble(); }
  // Complete: for operations that were done at once.
  Request& done() { return collectives_.point_to_point().sent(); }
  Window* find(std::uint32_t id) const {
    const auto found = windows_.find(id);
    return found == windows_.end() ? nullptr : found->second;
  }
  void forget(Window& window);
  // Of this process among those of its node, and one of those.
  int place() const { return neighbours_ == nullptr ? -1 : neighbours_->place_of(self_); }
  void wake(int place) {
    if (neighbours_ != nullptr) neighbours_->wake(place);
  }
  WindowLink& link(ProcessIndex process);
  // The process sent what it cannot mean; `what` goes on after "rank 3 sent ".
  void refuse(ProcessIndex source, std::string what) { lane_->on_bad_packet(source, std::move(what)); }

  // As origin.
  static WindowHeader header_to(const WindowPeer& peer, WindowHeader::Kind kind);
  // In order with the operations before it.
  void send_packet(WindowPeer& peer, const WindowHeader& packet);
  // `request` may be null. The operation may be over when this returns.
  void send_operation(WindowPeer& peer, const WindowCall& call, WindowRequest* request);
  // What may be sent of a peer's queue now.
  void push(WindowPeer& peer);
  // The channel is through with an operation's bytes.
  void on_transferred(WindowOperation& operation, Result<> result);
  // Forgets what a peer's queue holds.
  void drop(WindowPeer& peer);

  // As target. Sent now, or when there is room.
  void answer(WindowLink& link, const WindowHeader& header, const void* payload, std::int64_t size);
  void answer(WindowLink& link, const WindowHeader& header, ExposedAnswer& exposed);
  void after_arrival(WindowPeer& peer) { server_.after_arrival(peer); }

 private:
  bool advance();
  bool send_answers(WindowLink& link);
  void enqueue_answer(WindowLink& link, WindowAnswer answer);
  std::size_t most_answers(const WindowLink& link) const;
  void enqueue(WindowPeer& peer, WindowOperation& operation);
  void end(WindowOperation& operation);

  // transmit.cpp. True: all of it is on its way.
  static WindowHeader header_of(const WindowPeer& peer, const WindowCall& call, std::uint32_t number);
  static bool try_send_packet(WindowPeer& peer, const WindowHeader& packet);
  bool transmit(WindowPeer& peer, WindowOperation& operation);
  static bool send_data(WindowPeer& peer, const WindowCall& call, const WindowHeader& header, int type,
                        std::int64_t& sent);
  static bool offer(WindowPeer& peer, WindowOperation& operation, WindowHeader header, int type);
  void after_transmission(WindowOperation& operation);
  // The place of the call's datatype at the other process, which knows it after this; -1: not now.
  int define_type(WindowLink& link, WindowOperation& operation);
  bool send_definition(WindowLink& link, WindowOperation& operation, std::uint32_t place);

  // native.cpp
  bool goes_natively(WindowPeer& peer, const WindowCall& call);
  static bool begin_natively(WindowPeer& peer, WindowOperation& operation);
  void send_instead(WindowOperation& operation);
  void on_token(WindowPeer& peer, const std::byte* payload, std::int64_t size);

  // What the target says. `peer` is the one that `source` and the header name.
  WindowPeer* peer_named(ProcessIndex source, const WindowHeader& header);
  WindowOperation* awaiting(const WindowPeer& peer, const WindowHeader& header);
  void arrived(WindowOperation& operation, std::int64_t bytes);
  void on_data(WindowPeer& peer, const WindowHeader& header, const std::byte* payload, std::int64_t size);
  void on_failed(WindowPeer& peer, const WindowHeader& header, const std::byte* payload, std::int64_t size);
  void on_flushed(WindowPeer& peer, const WindowHeader& header, const std::byte* payload, std::int64_t size);
  void on_granted(WindowPeer& peer);

  CollectiveEngine& collectives_;
  Lane* lane_ = nullptr;
  ChannelSet* channels_ = nullptr;
  Neighbours* neighbours_ = nullptr;
  ProcessIndex self_ = 0;
  std::map<std::uint32_t, Window*> windows_;  // by id
  std::map<ProcessIndex, std::unique_ptr<WindowLink>> links_;
  WindowOperationPool operations_;
  IntrusiveList<WindowPeer, &WindowPeer::waiting> waiting_peers_;
  IntrusiveList<WindowLink, &WindowLink::waiting> waiting_links_;
  std::vector<std::byte> definition_;  // of the datatype that is being sent; kept for its memory
  WindowServer server_{*this};
};

}  // namespace hawser
