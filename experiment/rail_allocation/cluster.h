// A cluster of nodes with a network interface on each rail and some processes, which generate messages by
// themselves and hand them to an allocation scheme one at a time (Coll and others 2001, sections 2 to 4).
#pragma once

#include <deque>
#include <functional>
#include <memory>
#include <vector>

#include "rail_network.h"

namespace rail_allocation {

struct Workload {
  int nodes = 32;
  int processes = 4;  // of a node
  int rails = 4;
  double mean_flits = 512;  // of a message: exponentially distributed, as are the gaps between messages
  double load = 0.1;        // offered, of the rate of all rails of a node
  bool striping = false;
  double short_message = 0;  // flits; hybrid
  double both_ways = 0.8;    // of a bus's rate, when it is used in both directions
  Cycles control = 300;      // until a control packet is answered or acted upon: a processor in the interface
};

// What a network interface is doing (table 1 of the paper).
enum class InterfaceState : std::uint8_t { free, receiving, sending, reserved, receiving_and_asking };

struct Interface {
  InterfaceState state = InterfaceState::free;
  int sends = 0, receives = 0;  // under way, of messages without reservation
  int priority = 0;             // against deadlock (algorithm 4)
  int asks = -1;                // the process that reserved it
  bool idle() const { return state == InterfaceState::free && sends == 0 && receives == 0; }
};

struct Message {
  double flits = 0;
  int destination = 0;
  Cycles created = 0;
};

struct Process {
  int index = 0, node = 0;
  std::deque<Message> queue;
  bool busy = false;
  int next_rail = 0;  // round robin
  int stripes = 0;    // that have not arrived
  int replies = 0;    // to requests of the dynamic scheme
  std::vector<int> granted;
};

class Cluster;

// What is done with a message: one of the paper's schemes.
class Scheme {
 public:
  virtual ~Scheme() = default;
  // The process is busy now, until Cluster::sent().
  virtual void send(Process& process) = 0;
  // An interface of this node became idle.
  virtual void on_idle(int node) = 0;
};

// What was measured between the warm-up and the end.
struct Measured {
  std::uint64_t messages = 0;
  double flits = 0, latency = 0;  // sums
};

class Cluster {
 public:
  Cluster(const Workload& workload, std::uint64_t seed);
  ~Cluster();
  Cluster(const Cluster&) = delete;
  Cluster& operator=(const Cluster&) = delete;

  void set_scheme(std::unique_ptr<Scheme> scheme) { scheme_ = std::move(scheme); }
  // Runs to this time; what was measured since the last call.
  Measured run_until(Cycles time);

  const Workload& workload() const { return workload_; }
  Process& process(int index) { return *processes_[static_cast<std::size_t>(index)]; }
  Interface& interface_of(int node, int rail) {
    return interfaces_[static_cast<std::size_t>(node * workload_.rails + rail)];
  }
  int node_of(int process) const { return process / workload_.processes; }
  int destination_node(const Process& process) const { return node_of(process.queue.front().destination); }
  // Idle interfaces of a node, in the order of round robin of this process.
  std::vector<int> idle_rails(const Process& process);

  // Told the rail of a stripe whose head arrived, whose last flit left (before the process is free), or
  // arrived.
  struct Hooks {
    std::function<void(int rail)> head, sent, end;
  };
  // The message's stripes go out over these rails.
  void transmit(Process& process, const std::vector<int>& rails, Hooks hooks);
  void later(Cycles delay, std::function<void()> action);
  void tell_idle(int node) { scheme_->on_idle(node); }

 private:
  class Stripe;
  class Later;
  class Source;
  template <class Kind>
  Kind* own(std::unique_ptr<Kind> event) {
    Kind* const owned = event.get();
    under_way_.push_back(std::move(event));
    return owned;
  }
  // It is destroyed when the event that fires is over.
  void end(const hawser::Event& event);
  void begin_next(Process& process);
  void on_stripe_sent(Process& process);

  const Workload workload_;
  EventQueue events_;
  Random random_;
  std::vector<std::unique_ptr<RailNetwork>> rails_;
  std::vector<Interface> interfaces_;
  std::vector<std::unique_ptr<Process>> processes_;
  std::vector<std::unique_ptr<Source>> sources_;
  std::vector<std::unique_ptr<hawser::Event>> under_way_;
  std::vector<std::unique_ptr<hawser::Event>> over_;  // that ended in the event that fires
  std::unique_ptr<Scheme> scheme_;
  Measured measured_;
};

// basic, local-dynamic, dynamic, hybrid; null: no such scheme.
std::unique_ptr<Scheme> make_scheme(const std::string& name, Cluster& cluster);

}  // namespace rail_allocation
