// Network: cables and switches in time. Lossless as InfiniBand is: a packet leaves a port only when the input
// buffer at the other end has room on its virtual lane (credits), waits in the input buffer it is in until
// then, and holds up what is behind it. Switches cut through: they pass a packet's head on before its tail
// has come. The network carries packets and knows nothing of queue pairs.
//
// A packet of several MTUs (a coarse chunk) stands for a train of packets. It crosses a cable as one while
// nobody is in its way; others pass between its packets (trains.cpp).
//
// When no rate is limited (Parameters::unlimited) a packet crosses in one event, whatever its size.
//
// Losses come only from faults: a cable that is or goes down, loss, a black hole, a dead switch, no route.
#pragma once

#include <algorithm>
#include <deque>
#include <memory>
#include <unordered_map>
#include <vector>

#include "base/event_queue.h"
#include "base/random.h"
#include "fabric/network/multicast.h"
#include "fabric/network/packet.h"
#include "fabric/network/serializer.h"
#include "fabric/parameters.h"
#include "fabric/topology/routing.h"
#include "fabric/topology/topology.h"
#include "fabric/trace.h"

namespace hawser::fabric {

// Who takes packets off the network at a port: an adapter.
class PacketSink {
 public:
  virtual ~PacketSink() = default;
  // The whole packet is in the port's input buffer. The sink owns it and gives it back with consume().
  virtual void arrive(Packet& packet) = 0;
  // The packet that was submitted through this source's queue has left, so that the next may be submitted.
  // `stream` is the packet's.
  virtual void source_has_room(int source, std::uint32_t stream) = 0;
  // A train has begun to leave: packets of other streams may leave between its own.
  virtual void train_leaves(int source) = 0;
};

struct Train;

// A first-in first-out buffer before the crossbar: of a switch's input port and lane, or of an outlet of an
// adapter's engine.
struct InputQueue {
  PacketFifo fifo;
  PortIndex port = no_port_index;  // whose input buffer it is; of an outlet: the port it sends by
  std::uint8_t lane = 0;
  int source = -1;  // the outlet's number; -1: a switch's input
  // A packet that is in line for its output, or for several (multicast), keeps its room and holds up what is
  // behind it until it has left by all of them.
  std::uint32_t pending = 0;            // outputs not left by yet; 0: nothing is presented
  std::uint32_t unstarted = 0;          // of these, not begun: the packet is still in front of fifo
  PortIndex held_wire = no_port_index;  // to which the room goes back when pending gets 0; none for outlets
  std::uint32_t held_bytes = 0;
  std::uint32_t held_stream = 0;   // of the packet that is leaving
  bool more = false;               // of that packet is in front of fifo
  std::uint64_t turn_at = 0;       // on the clock of the output that the front packet is in line for
  PortIndex line = no_port_index;  // this output
  Train* train = nullptr;          // has left, but not all of it; only packets from between its own follow
};

// A packet of several MTUs on its way over one wire, until its last byte has left. It fires when its last
// byte, which came in late, goes out.
struct Train final : Event {
  explicit Train(Network& owner) : network(owner) {}
  void fire(Nanoseconds now) override;

  Network& network;
  InputQueue* queue = nullptr;  // that it leaves
  Packet* packet = nullptr;     // null: lost
  PortIndex wire = no_port_index;
  std::uint64_t left = 0;      // bytes that are not sent
  std::uint64_t unit = 0;      // bytes of each of its packets
  std::uint64_t begun_at = 0;  // on the wire's clock
  std::uint64_t turn_at = 0;
  PortIndex held_wire = no_port_index;  // where it has room until it has left
  std::uint32_t held_bytes = 0;
  PortIndex source_port = no_port_index;
  std::uint32_t stream = 0;
  Train* behind = nullptr;  // the same packet on the wire before, while that still sends
  Train* ahead = nullptr;   // and on the wire after
  Nanoseconds tail = 0;     // when the last byte has come in; an estimate while there is one behind
};

struct LinkCounters {
  std::uint64_t packets = 0, bytes = 0, dropped = 0, marked = 0, credit_waits = 0;
};

class Network {
 public:
  // Packets of a train that go together when others wait: times are off by so much at the most, and a packet
  // of an MTU costs as many events again.
  static constexpr std::uint32_t packets_per_turn = 4;
  // Packets of an MTU that an adapter's engine sends of one queue pair, then of the next that has work.
  static constexpr std::uint32_t packets_per_service = 16;

  // All must outlive the network. `tables` may change between events.
  Network(EventQueue& events, const Topology& topology, const RoutingTables& tables,
          const Parameters& parameters, Random& random, Trace& trace);
  ~Network();

  PortIndex index(PortName port) const {
    return first_port_[static_cast<std::size_t>(port.node)] + static_cast<PortIndex>(port.port);
  }
  PortName name(PortIndex port) const { return names_[port]; }
  void attach(PortIndex port, PacketSink& sink) { wires_[port].sink = &sink; }

  Packet* allocate();
  // A copy that shares payload in memory; not in the sender's list of packets in flight.
  Packet* clone(const Packet& packet);
  void free(Packet& packet);

  // Whether packets may be given to send() at once and without limit; else through submit(), each outlet's
  // when it has room.
  bool fast() const { return fast_; }
  void send(PortIndex from, Packet& packet);
  // queue.source and queue.port are the outlet's; at most two packets at a time.
  void submit(InputQueue& queue, Packet& packet);
  // Hands a packet to the port it would leave by: a message from an adapter to itself.
  void loop_back(PortIndex port, Packet& packet);
  // The sink is done with a packet that arrived: its room is free, the packet returns to the pool.
  void consume(Packet& packet);

  // ---- state and faults; all act at once ----
  bool usable(PortIndex port) const { return wires_[port].up; }  // cable there and up, both ends alive
  void set_cable(PortIndex port, bool up);                       // both directions
  void set_node_alive(std::int32_t node, bool alive);
  // The largest packet that the buffers bear: several of them have room beside what is on its way.
  std::uint64_t largest_chunk() const { return largest_chunk_; }
  bool node_alive(std::int32_t node) const { return alive_[static_cast<std::size_t>(node)]; }
  void set_rate(PortIndex port, double rate);  // both directions
  double rate(PortIndex port) const { return wires_[port].rate; }
  void set_loss(PortIndex port, double share);        // both directions
  void set_black_hole(PortIndex out, bool on);        // packets that leave by this port vanish
  void set_delay(PortIndex port, Nanoseconds extra);  // both directions
  void tables_changed();                              // multicast trees follow the cables

  MulticastTrees& multicast() { return multicast_; }
  const LinkCounters& counters(PortIndex out) const { return wires_[out].counters; }
  std::size_t packets_alive() const { return alive_packets_; }

  // Room that is lent for packets equals room that is used, on every cable and lane. Asserts.
  void check_invariants() const;
  // Nothing on any cable or in any buffer, and all room back once `now` is past the last return.
  bool quiescent(Nanoseconds now) const;

 private:
  friend struct Packet;

  struct CreditReturn {
    Nanoseconds time;
    std::uint64_t bytes;
  };
  struct Lane {
    std::uint64_t credits = 0;         // bytes free at the other end, as far as known here
    std::deque<CreditReturn> returns;  // on their way back, earliest first
    std::uint64_t returning = 0;
    std::uint64_t in_flight = 0;      // bytes on the cable
    std::uint64_t occupied = 0;       // bytes in the buffer at the other end
    std::deque<InputQueue*> waiting;  // inputs whose front packet wants this output
    std::uint64_t waiting_bytes = 0;
  };
  // One direction of a cable, at its sending end. Every port has one.
  struct Wire {
    Network* network = nullptr;
    PortIndex self = no_port_index;
    PortIndex to = no_port_index;  // no_port_index: nothing is plugged in
    PacketSink* sink = nullptr;    // an adapter's port: who takes what arrives here
    bool cable_up = false;
    bool up = false;  // cable_up, and both ends are alive
    bool black_hole = false;
    std::uint32_t epoch = 0;  // counts the times it went down
    double rate = 0;
    double loss = 0;
    Nanoseconds latency = 0;
    Nanoseconds extra = 0;
    Serializer link;
    std::uint64_t capacity = 0;  // of the buffer at the other end, per lane
    std::vector<Lane> lanes;
    std::size_t next_lane = 0;
    InputQueue* current = nullptr;  // whose front packet, or train, is crossing
    Train* train = nullptr;         // that has bytes to send; other packets go between its own
    std::uint32_t unfinished = 0;   // trains of which something is still to come out
    bool train_runs = false;        // what is crossing is the train
    bool in_turn = false;           // ... and only its turn of it
    std::uint64_t clock = 0;        // how many packets everyone who wants the wire could have sent (pick)
    Nanoseconds run_start = 0;      // of what the train sends now
    std::uint64_t run_bytes = 0;
    Serializer before_run;
    LinkCounters counters;
    void on_done(Nanoseconds now) { network->crossing_done(*this, now); }
    void on_credit(Nanoseconds) { network->pump(*this); }
    MemberEvent<Wire, &Wire::on_done> done{*this};
    MemberEvent<Wire, &Wire::on_credit> credit{*this};
  };

  static constexpr std::size_t longest_path = 64;  // hops; more is a loop in the tables
  bool is_switch(PortIndex port) const { return at_switch_[port]; }
  InputQueue& input(PortIndex port, std::size_t lane) { return inputs_[port * lane_count_ + lane]; }
  void set_up_wire(PortIndex port);
  void fit_buffer(Wire& wire);
  void update_fast();
  void refresh(Wire& wire);
  void drop_waiting(Wire& wire);

  void cross_fast(PortIndex from, Packet& packet, Nanoseconds delay);
  bool leave_fast(Wire& wire, Packet& packet, Nanoseconds& delay);
  void arrived(Packet& packet, Nanoseconds now);
  void drop(Packet& packet, std::uint64_t why);

  void present(InputQueue& queue);
  void outputs_of(const InputQueue& queue, const Packet& packet);
  Packet& take_front(InputQueue& queue);
  void output_gone(InputQueue& queue);
  std::uint8_t adaptive_port(std::int32_t node, const Packet& packet, std::uint8_t port);
  const std::vector<std::uint8_t>& equal_ports(std::int32_t node, Lid lid, std::uint8_t port);
  void pump(Wire& wire);
  bool take_credits(Wire& wire, Lane& lane, std::uint64_t bytes);
  void give_back(Wire& wire, Lane& lane, std::uint64_t bytes);
  void start(Wire& wire, Lane& lane, std::uint32_t units);
  void begin_crossing(Wire& wire, Lane& lane, Packet& crossing, Nanoseconds done, Nanoseconds tail);
  void crossing_done(Wire& wire, Nanoseconds now);
  InputQueue& front_in_line(const Lane& lane) const {
    if (!coarse_ || lane.waiting.size() == 1) return *lane.waiting.front();
    return **std::min_element(
        lane.waiting.begin(), lane.waiting.end(),
        [](const InputQueue* a, const InputQueue* b) { return a->turn_at < b->turn_at; });
  }
  static bool nobody_waits(const Wire& wire) {
    return std::all_of(wire.lanes.begin(), wire.lanes.end(),
                       [](const Lane& lane) { return lane.waiting.empty(); });
  }
  void join_line(Wire& wire, Lane& lane, InputQueue& queue);
  Nanoseconds may_start(const InputQueue& queue, const Packet& packet, const Wire& wire) const;

  // trains.cpp
  friend struct Train;
  static std::uint64_t unit_bytes(const Packet& packet);
  static std::uint64_t bytes_of(const Packet& packet, std::uint32_t units);
  static std::uint32_t turn_of(const Packet& packet, std::uint64_t left);
  std::uint32_t turn(const Wire& wire, const InputQueue* queue) const;
  std::uint64_t turn_of_train(const Wire& wire) const;
  std::uint32_t part_to_start(const Wire& wire, const InputQueue& queue) const;
  bool others_can_start(Wire& wire);
  void split_front(InputQueue& queue, std::uint32_t units);
  void start_train(Wire& wire, Lane& lane, InputQueue& queue);
  void run_train(Wire& wire);
  void interrupt(Wire& wire);
  std::uint64_t sent_of_run(const Wire& wire) const;
  void run_done(Wire& wire);
  void settle(Train& train);
  void complete(Train& train);
  void release_train(Wire& wire);
  static bool may_pass(const Packet& packet, const Train& train);

  EventQueue& events_;
  const Topology& topology_;
  const RoutingTables& tables_;
  const Parameters& parameters_;
  Random& random_;
  Trace& trace_;
  MulticastTrees multicast_;
  bool fast_ = false;
  bool coarse_ = false;  // chunks of more than an MTU
  std::uint64_t largest_chunk_ = UINT64_MAX;
  std::size_t lane_count_ = 1;
  std::vector<PortIndex> first_port_;
  std::vector<PortName> names_;
  std::vector<bool> at_switch_;
  std::vector<bool> alive_;
  std::unique_ptr<Wire[]> wires_;
  std::vector<InputQueue> inputs_;
  std::vector<std::uint8_t> chosen_;  // outputs of the packet being presented
  std::unordered_map<std::uint64_t, std::vector<std::uint8_t>>
      equal_ports_;  // of adaptive routing; looked up only
  std::vector<std::unique_ptr<Packet>> pool_;
  std::vector<std::unique_ptr<Train>> trains_;
  std::vector<Train*> free_trains_;
  Packet* free_ = nullptr;
  std::size_t alive_packets_ = 0;
};

}  // namespace hawser::fabric
