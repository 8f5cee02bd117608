// AdapterPort: addresses and state of one port, and the engines between the queue pairs and the network. Each
// send engine serves queue pairs in turn, one at a time (so one queue pair alone cannot use two engines: V07
// section 2.3.1), fetches packets over the I/O bus at its own rate, and runs at most two packets ahead of the
// link. Each receive engine takes packets of the queue pairs assigned to it.
// An engine has three outlets, which share its rate and the link: for requests, for the data that others
// read, and for acknowledgements. So a request does not wait behind what others read, or a read that is
// asked for later would leave a gap on the way back; and acknowledgements wait neither for a turn nor behind
// data, or time-outs would depend on how many share a port.
#pragma once

#include <array>
#include <cstdint>
#include <deque>
#include <memory>
#include <vector>

#include "base/event_queue.h"
#include "fabric/adapter/queue_pair.h"
#include "fabric/network/network.h"
#include "fabric/network/serializer.h"

namespace hawser::fabric {

class Adapter;

// The way between adapter and memory; half duplex (C01) means one direction at a time.
struct AdapterBus {
  Serializer out, in;
  bool half_duplex = false;
  Serializer& outward() { return out; }
  Serializer& inward() { return half_duplex ? out : in; }
};

struct PortCounters {
  std::uint64_t sent_packets = 0, sent_bytes = 0, received_packets = 0, received_bytes = 0;
  std::uint64_t payload_bytes = 0, repeated_bytes = 0;  // sent; of these, sent before
  std::uint64_t marked = 0;                             // came with a congestion mark
  std::uint64_t unclaimed = 0;                          // for nobody here
  std::uint64_t off_level = 0;  // sent on another service level than the path record says
};

class AdapterPort final : public PacketSink {
 public:
  AdapterPort(Adapter& adapter, int number, AdapterBus& bus);

  int number() const { return number_; }
  PortIndex index() const { return index_; }
  PortName name() const;
  // Cable and both ends are up, and there is an address.
  bool active() const { return active_; }
  Lid lid() const;
  int lmc() const;
  const std::vector<GidEntry>& gids() const { return gids_; }
  // Of the port that an address leads to by a GID, on Ethernet; null: nobody has it, or not by this GID here.
  const PortName* owner_of(const AddressVector& path) const;
  // Ethernet: whether the port that the address leads to answers when it is asked for its Ethernet address.
  bool answers(const AddressVector& path) const;
  const PortCounters& counters() const { return counters_; }

  void kick(QueuePair& queue_pair);  // it has something to send
  // Sends now what an adapter would have sent by the time at which the queue pair can be destroyed. (With
  // rates, what has not left is lost.)
  void send_posted(QueuePair& queue_pair);
  void unqueue(QueuePair& queue_pair);  // out of the line, if it is in it
  void forget(QueuePair& queue_pair);   // it goes away
  void arrive(Packet& packet) override;
  void source_has_room(int source, std::uint32_t stream) override;
  void train_leaves(int source) override;

  // Looks at the cable again; raises PORT_ACTIVE or PORT_ERR when that changed anything.
  void refresh();
  void move_gid(std::size_t from, std::size_t to);         // the entries change places; GID_CHANGE
  void set_gid(std::size_t index, const GidEntry& entry);  // without event
  // With GID_CHANGE; an empty entry takes the address away. False: another port has it.
  bool change_gid(std::size_t index, const GidEntry& entry);

  // Faults on arriving packets, counted down; -1 is for ever.
  int lose_acknowledges = 0;
  int corrupt_payloads = 0;

 private:
  // A packet of it is being fetched, waiting or crossing. It may go away meanwhile: null.
  struct Leaving {
    QueuePair* owner = nullptr;
    std::uint32_t stream = 0;
    bool read_response = false;
  };
  struct Outlet {
    InputQueue queue;
    std::deque<Leaving> pipeline;
    // A packet that is crossing has left the queue, but counts until its tail is out.
    std::uint32_t ahead() const {
      return queue.fifo.size() + (queue.pending != 0 && queue.unstarted == 0 ? 1 : 0);
    }
  };
  struct Engine;
  struct DataOutlet : Outlet {
    DataOutlet(Engine& of, Stream what) : engine(of), stream(what) {}
    Engine& engine;
    const Stream stream;
    SendTurn* serving = nullptr;
    int burst = 0;               // packets left before the next queue pair's turn
    Packet* fetching = nullptr;  // on its way over the bus
    std::uint64_t round = 0;     // of turns; a queue pair has one in each
    bool ready_before = false;   // what is fetched next could have been while the packet before left
    void on_fetched(Nanoseconds) { engine.port->fetched(*this); }
    MemberEvent<DataOutlet, &DataOutlet::on_fetched> fetch_event{*this};
  };
  struct Engine {
    AdapterPort* port = nullptr;
    int number = 0;
    std::array<DataOutlet, 2> data{{{*this, Stream::requests}, {*this, Stream::responses}}};
    Outlet acknowledgements;
    Serializer rate;
    bool running = false;
  };

  void on_doorbell(Nanoseconds now);
  void run_fast();
  void run(Engine& engine);
  void run_acknowledgements(Engine& engine);
  bool run(DataOutlet& outlet);
  void fetched(DataOutlet& outlet);
  void send_fast(Packet& packet);
  Packet* next_packet(DataOutlet& outlet);
  Packet* next_urgent(Engine& engine);
  SendTurn* next_ready(DataOutlet& outlet);
  bool has_room(const DataOutlet& outlet) const;
  bool leaves_as_train(const SendTurn& turn, const DataOutlet& outlet) const;
  Nanoseconds fetch(DataOutlet& outlet, Packet& packet);
  void take_turn(DataOutlet& outlet, SendTurn& turn, Packet& packet);
  void enter_pipeline(const Engine& engine, Outlet& outlet, QueuePair& queue_pair, const Packet& packet);
  bool eligible(const QueuePair& queue_pair, const Engine& engine) const;
  bool enqueue(QueuePair& queue_pair);
  bool enqueue(SendTurn& turn);
  bool held_back(QueuePair& queue_pair);
  void pace(QueuePair& queue_pair, const Packet& packet, DataOutlet& outlet);
  void leave_pipeline(Outlet& outlet, std::uint32_t stream);
  void finish_service(QueuePair& queue_pair);
  void count_sent(const Packet& packet);
  bool off_level(const Packet& packet) const;
  void take(Packet& packet);
  bool meets_fault(Packet& packet);
  bool is_mine(Lid lid) const;
  bool stays_here(Packet& packet);
  void leave(Outlet& outlet, Packet& packet);

  Adapter& adapter_;
  const int number_;
  AdapterBus& bus_;
  PortIndex index_;
  bool active_ = false;
  std::vector<GidEntry> gids_;
  PortCounters counters_;
  std::vector<std::unique_ptr<Engine>> engines_;
  std::vector<Serializer> receive_engines_;
  Serializer loop_;  // messages of the port to itself go at the link's rate
  using ReadyList = IntrusiveList<SendTurn, &SendTurn::ready_link>;
  ReadyList& ready(Stream stream) { return stream == Stream::requests ? ready_requests_ : ready_responses_; }
  ReadyList ready_requests_, ready_responses_;
  IntrusiveList<QueuePair, &QueuePair::urgent_link> urgent_;
  MemberEvent<AdapterPort, &AdapterPort::on_doorbell> doorbell_{*this};
};

}  // namespace hawser::fabric
