// One rail: a quaternary fat tree (a k-ary n-tree of switches with four ports down and four up) between the
// nodes, at the level of circuits. A message takes the channels of its way one after the other, up to two
// messages a channel (virtual channels), waits in the network while it holds those that it has (wormhole),
// and moves when it has all. Whatever moves over a channel, or over the I/O bus of a network interface,
// shares it equally. Time is in cycles: a channel moves one flit a cycle.
#pragma once

#include <cstdint>
#include <deque>
#include <vector>

#include "base/event_queue.h"
#include "base/random.h"

namespace rail_allocation {

using hawser::EventQueue;
using hawser::Random;
using Cycles = hawser::Nanoseconds;

class RailNetwork;

// A message, or a stripe of one, on its way over a rail.
class Transfer : public hawser::Event {
 public:
  Transfer(int from, int to, double size) : source(from), destination(to), flits(size), left_(size) {}
  // The head has arrived; the last flit has left; it has arrived. None may destroy it.
  virtual void on_head() = 0;
  virtual void on_sent() = 0;
  virtual void on_end() = 0;

  const int source, destination;
  const double flits;

 private:
  friend class RailNetwork;
  void fire(Cycles now) override;

  RailNetwork* network_ = nullptr;
  std::vector<int> path_;  // channels
  std::size_t held_ = 0;   // of the path
  bool moves_ = false, sent_ = false;
  double left_;  // flits, at since_
  double rate_ = 0;
  Cycles since_ = 0;
};

class RailNetwork {
 public:
  // `both_ways`: what a bus moves when it is used in both directions, of what it moves in one; 2: full
  // duplex.
  RailNetwork(EventQueue& events, int nodes, double both_ways, Random& random);

  void start(Transfer& transfer);
  // Channels between the ends, there and back.
  int switches(int source, int destination) const;

 private:
  friend class Transfer;
  static constexpr int arity = 4, virtual_channels = 2, buffer_flits = 128;
  static constexpr Cycles switch_cycles = 6;
  struct Channel {
    int holders = 0;
    std::deque<Transfer*> waiting;
  };

  int level(int source, int destination) const;  // of the switch where the way turns
  std::vector<int> choose_path(int source, int destination);
  int load(int channel) const {
    return channels_[static_cast<std::size_t>(channel)].holders +
           static_cast<int>(channels_[static_cast<std::size_t>(channel)].waiting.size());
  }
  void advance(Transfer& transfer);
  void finish(Transfer& transfer);
  void absorb(Transfer& transfer);
  void release(int channel);
  void update_all(const Transfer& around);
  void update(Transfer& transfer);
  std::vector<Transfer*>& bus(int node) { return moving_[channels_.size() + static_cast<std::size_t>(node)]; }
  template <class Use>
  void for_each_resource(const Transfer& transfer, Use&& use) {
    for (const int channel : transfer.path_) use(moving_[static_cast<std::size_t>(channel)]);
    if (!transfer.sent_) use(bus(transfer.source));
    use(bus(transfer.destination));
  }
  double share_of_bus(int node, bool outward);

  EventQueue& events_;
  Random& random_;
  const double both_ways_;
  std::vector<int> powers_;  // of the arity
  std::vector<Channel> channels_;
  std::vector<std::vector<Transfer*>> moving_;  // by channel, then by the bus of each node
};

}  // namespace rail_allocation
