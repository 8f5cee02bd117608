// Two subchannel machines, joined by what fails: connections that deliver in order until they break at some
// packet, and datagrams that are lost, repeated and overtake each other. Whatever happens, each message
// arrives once, both ends agree on what did, and they are ready again when the network heals.
#pragma once

#include <fmt/core.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <set>

#include "rails/decision/connection_manager.h"
#include "rails/decision/subchannel_machine_test_support.h"

namespace hawser::machine_test {

// Datagram bodies of fences and reconnect requests, and what the connection carries. `expected` acknowledges
// all messages before.
struct Control {
  std::uint32_t connection_generation = 0, received = 0, expected = 0, sent = 0, parted = 0;
};
struct Packet {
  enum class Kind { data, probe, probe_answer, credit } kind = Kind::data;
  std::uint32_t message = 0;
  std::uint32_t expected = 0;
  std::uint32_t ordinal = 0;
  std::uint32_t connection_generation = 0;
  int from = 0;  // queue pairs
  int to = 0;
};

class Network;

// One end: a machine, and what Failover and Connector do for it, of a queue pair that sends packets only.
class End final : private ConnectionHost {
 public:
  End(Network& network, int self, std::uint64_t seed)
      : network_(network),
        self_(self),
        random_(seed),
        machine_(settings_, health_, random_, self == 0),
        manager_({.self = self, .processes = 2, .rails = 1, .secret = {1, 2}}, *this, random_) {}

  SubchannelMachine& machine() { return machine_; }
  void on(Event event);
  void post(std::uint32_t message) {
    waiting_.push_back(message);
    send_waiting();
  }
  void on_datagram(std::span<const std::byte> bytes) { manager_.on_datagram(0, bytes, now()); }
  // The adapter takes a packet from the link, or an acknowledgement.
  void arrive(const Packet& packet);
  void acknowledge(int queue_pair, std::uint32_t ordinal);
  void poll();
  void lose_polled();  // the adapter dies with what it acknowledged
  void progress();
  Nanoseconds deadline() const { return std::min(manager_.deadline(), machine_.due()); }
  bool idle() const {
    return waiting_.empty() && in_flight_.empty() && polled_.empty() &&
           (machine_.state() == State::ready || machine_.rests());
  }
  std::string describe() const {
    return fmt::format("{}, generation {}, {} waiting, {} in flight, {} delivered",
                       subchannel_state_name(machine_.state()), machine_.connection_generation(),
                       waiting_.size(), in_flight_.size(), delivered_);
  }

  std::uint32_t delivered() const { return delivered_; }
  const std::set<std::pair<State, EventKind>>& seen() const { return seen_; }
  int reissued() const { return reissued_; }
  int taken_back() const { return taken_back_; }

 private:
  bool accept(const SubchannelName& name, const ConnectionEnd& remote, ConnectionEnd& own) override;
  void connected(const SubchannelName& name, const ConnectionEnd& remote) override;
  void abandon(const SubchannelName& name, bool gave_up) override {
    on({.kind = EventKind::abandoned,
        .connection_generation = name.connection_generation,
        .gave_up = gave_up});
  }
  void on_control(ProcessIndex peer, std::uint16_t index, DatagramKind kind,
                  std::span<const std::byte> body) override;
  void on_address(ProcessIndex, std::uint16_t, const ConnectionEnd&) override {}
  void on_malformed(ProcessIndex, std::string what) override { ADD_FAILURE() << what; }
  bool send_datagram(std::uint16_t, ProcessIndex, std::uint16_t, std::span<const std::byte>) override;
  bool rail_up(std::uint16_t) const override { return true; }

  Nanoseconds now() const;
  ConnectionEnd own_end() const {
    ConnectionEnd end;
    end.port.mtu = 4;
    end.queue_pair = static_cast<std::uint32_t>(queue_pair_);
    return end;
  }
  void execute(const SubchannelAction& action, std::vector<Event>& reports);
  void begin(const ConnectionEnd& remote, std::uint32_t connection_generation);
  void transmit(Packet packet);
  void lose_queue_pair();
  void handle(const Packet& packet);
  void take_expected(std::uint32_t expected);
  Event connect();
  void stop(std::vector<Event>& reports);
  Event test();
  void send_probes(std::vector<Event>& reports);
  void send_waiting();
  void drain(bool timed_out);
  void reissue(std::uint32_t received);
  void wait_again(const Packet& packet);
  void control(DatagramKind kind, std::uint32_t connection_generation, std::uint32_t received,
               std::uint32_t sent = 0, bool parted = false);

  Network& network_;
  int self_;
  SubchannelSettings settings_;
  HealthSettings health_;
  Random random_;
  SubchannelMachine machine_;
  ConnectionManager manager_;
  int queue_pair_ = 0;  // 0: none
  int connected_to_ = 0;
  bool dead_ = false;  // in ERROR
  bool cut_ = false;   // something got lost, so that nothing behind it arrives
  bool accepting_ = false;
  std::uint32_t sent_ = 0, received_ = 0, delivered_ = 0;
  std::deque<Packet> in_flight_;
  std::deque<Packet> retained_;  // acknowledged by the peer's adapter only
  std::deque<Packet> polled_;    // acknowledged, and not handled yet
  std::deque<std::uint32_t> waiting_;
  std::map<std::uint32_t, std::uint32_t> drained_;  // generation -> received
  std::set<std::uint32_t> compared_;
  std::set<std::pair<State, EventKind>> seen_;
  int reissued_ = 0, taken_back_ = 0;
};

class Network {
 public:
  explicit Network(std::uint64_t seed) : random(seed) {
    for (int i = 0; i < 2; ++i)
      ends.push_back(std::make_unique<End>(*this, i, seed * 2 + static_cast<std::uint64_t>(i)));
  }

  End& other(int self) { return *ends[static_cast<std::size_t>(1 - self)]; }
  Nanoseconds delay() { return microsecond + static_cast<Nanoseconds>(random.below(300 * microsecond)); }
  void at(Nanoseconds time, std::function<void()> what) { events.emplace(time, std::move(what)); }
  void run_until(Nanoseconds end, bool until_idle = false);
  void incident();

  Random random;
  Nanoseconds now = 0;
  bool broken = false;  // nothing gets through
  double loss = 0, damage = 0, refusals = 0;
  int next_queue_pair = 1;
  std::multimap<Nanoseconds, std::function<void()>> events;
  Nanoseconds last_arrival[2] = {};  // packets of one direction stay in order
  std::vector<std::unique_ptr<End>> ends;
};

}  // namespace hawser::machine_test
