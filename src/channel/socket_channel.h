// SocketChannel: carries messages to processes of other nodes over TCP. The plain fallback where no better
// network is used: simple, bounded in memory, and careful about what it is told. Connections are made on
// demand. Large messages are exposed, and streamed on request.
#pragma once

#include <deque>
#include <map>
#include <memory>
#include <utility>
#include <vector>

#include "base/knobs.h"
#include "channel/exchange.h"
#include "channel/shortage.h"
#include "channel/socket_connection.h"

namespace hawser {

class SocketChannel final : public Transport {
 public:
  // `exchange` must outlive the channel: peers' addresses are asked for when first needed.
  static Result<std::unique_ptr<SocketChannel>> open(ProcessIndex self, std::int32_t job_size,
                                                     AddressExchange& exchange, const Knobs& knobs);
  // Tells the others where this process listens; to be called before a fence.
  Result<> publish();
  const char* name() const override { return "socket"; }
  std::int64_t eager_limit(ProcessIndex) const override { return eager_limit_; }
  bool try_send(ProcessIndex peer, const TransportHeader& header, const ByteSequence& payload) override;
  bool try_expose(ProcessIndex peer, const TransportHeader& header, const ByteSequence& bytes,
                  Completion* end) override;
  void fetch(ProcessIndex peer, const ExposeToken& token, const ByteSequence& into, Completion* end) override;
  bool progress(TransportEvents& events, Nanoseconds now) override;
  Nanoseconds deadline() const override;
  void set_alarm(DeadlineAlarm* alarm) override { alarm_ = alarm; }
  // The next pass looks at all connections.
  Result<> arm(Wake) override {
    quiet_passes_ = 0;
    return {};
  }
  std::vector<int> descriptors() const override { return {ready_.descriptor()}; }
  bool holds_back() override;
  bool flushed() const override;
  void give_up(ProcessIndex peer, const Error& error, TransportEvents& events) override {
    if (!peers_[static_cast<std::size_t>(peer)].lost) lose(peer, error, events);
  }
  // In a forked child: closes its copies of the connections, so that they end when the process itself ends.
  // The channel is of no use afterwards.
  void forget();
  // Says goodbye to those it is connected to.
  ~SocketChannel() override;
  // Connects to this process once nothing has moved for a second, though nothing is to be sent, so that its
  // death is noticed by one process at least: who waits for a message knows only connections that were made.
  void watch(ProcessIndex peer) { watched_ = peer; }
  int connected_peers() const;
  std::vector<ChannelCounter> list_counters() const override;

 private:
  struct Exposed {
    ProcessIndex peer = -1;  // -1: a free place in the table
    ByteSequence bytes;
    Completion* end = nullptr;
    bool pulled = false;
  };
  struct Fetch {
    ProcessIndex peer = -1;  // -1: a free place in the table
    ByteSequence into;
    Completion* end = nullptr;
    std::int64_t arrived = 0;
  };
  // Numbered places that are used again.
  template <class T>
  class Table {
   public:
    std::uint32_t take() {
      if (free_.empty()) {
        items_.emplace_back();
        return size() - 1;
      }
      const std::uint32_t place = free_.back();
      free_.pop_back();
      return place;
    }
    void release(std::uint32_t place) {
      items_[place] = {};
      free_.push_back(place);
    }
    T& operator[](std::uint32_t place) { return items_[place]; }
    std::uint32_t size() const { return static_cast<std::uint32_t>(items_.size()); }
    bool unused() const { return free_.size() == items_.size(); }

   private:
    std::deque<T> items_;  // which stay where they are while events add more
    std::vector<std::uint32_t> free_;
  };
  struct Stream {
    std::uint32_t number;  // in exposed_
    std::uint32_t fetch;   // the receiver's
    std::int64_t position = 0;
    std::int64_t size = 0;
  };
  struct Peer {
    std::unique_ptr<OutgoingConnection> outgoing;
    std::deque<Stream> streams;
    bool due = false;   // is in due_
    bool lost = false;  // cannot be reached (any more)
    bool left = false;  // said goodbye
  };

  // Keys in the ready set: outgoing connections by process, then the listener, then incoming ones.
  static constexpr std::uint64_t listener_key = std::uint64_t{1} << 32;

  SocketChannel(ProcessIndex self, std::int32_t job_size, AddressExchange& exchange, const Knobs& knobs);

  OutgoingConnection* connection_to(ProcessIndex peer);
  std::byte* add(OutgoingConnection& connection, const SocketFrame& frame);
  void note_due(ProcessIndex peer);
  // There is something to do although nothing arrives.
  void ring() {
    if (alarm_ != nullptr) std::exchange(alarm_, nullptr)->ring();
  }
  bool advance_peer(ProcessIndex peer, bool readable, bool writable, TransportEvents& events);
  void connect_to_watched(bool moved, Nanoseconds now);
  void push_streams(Peer& peer);
  void lose(ProcessIndex peer, const Error& error, TransportEvents& events);
  void lose_now(ProcessIndex peer, Error error);

  // socket_door.cpp
  void accept_some(TransportEvents& events);
  void note_full(bool full, TransportEvents& events);
  void watch_unverified();
  void turn_away(std::uint64_t key);
  void listen_again();
  Nanoseconds patience() const;
  bool receive_from(std::uint64_t key, TransportEvents& events);
  bool greet(std::uint64_t key, IncomingConnection& connection);
  Result<bool> receive_frame(IncomingConnection& connection, TransportEvents& events);
  Result<> receive_data(ProcessIndex source, const SocketFrame& frame, const std::byte* body);

  ProcessIndex self_;
  AddressExchange& exchange_;
  SocketAddress own_;
  FileDescriptor listener_;
  ReadySet ready_;

  std::int64_t eager_limit_;
  std::size_t buffer_bytes_;
  std::uint32_t quiet_passes_ = 0;
  ProcessIndex watched_ = -1;        // still to be connected to
  Nanoseconds quiet_since_ = never;  // never: not looked at yet
  std::uint64_t frames_sent_ = 0, frames_received_ = 0;
  std::uint64_t bytes_sent_ = 0, bytes_received_ = 0;  // of their bodies

  std::vector<Peer> peers_;
  DeadlineAlarm* alarm_ = nullptr;
  std::vector<ProcessIndex> due_;                                          // peers with something to write
  std::vector<ProcessIndex> connecting_;                                   // perhaps connected since
  std::map<std::uint64_t, std::unique_ptr<IncomingConnection>> incoming_;  // by key, ascending in time
  std::uint64_t next_key_;
  // Keys of the connections whose hello is not here yet, oldest first.
  std::deque<std::uint64_t> unverified_;
  std::size_t most_unverified_;
  bool listening_ = true;       // the listener is in the ready set
  Nanoseconds listen_at_ = 0;   // not before, if it is not
  Shortage descriptors_short_;  // for connections to be accepted
  Nanoseconds now_ = 0;         // of the pass of progress
  Table<Exposed> exposed_;
  Table<Fetch> fetches_;
  std::deque<Completion*> landed_;                     // fetches of nothing, to be reported
  std::deque<std::pair<ProcessIndex, Error>> losses_;  // noticed outside progress
};

}  // namespace hawser
