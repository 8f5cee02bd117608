// The four schemes, each a small class.
#include <algorithm>
#include <string>

#include "cluster.h"

namespace rail_allocation {
namespace {

using State = InterfaceState;

// Each process takes one rail after the other, whatever it is doing.
class Basic final : public Scheme {
 public:
  explicit Basic(Cluster& cluster) : cluster_(cluster) {}
  void send(Process& process) override { cluster_.transmit(process, {process.next_rail}, {}); }
  void on_idle(int) override {}

 private:
  Cluster& cluster_;
};

// Processes of a node that wait for an idle interface, first come, first served.
class Waiting {
 public:
  explicit Waiting(Cluster& cluster) : of_node_(static_cast<std::size_t>(cluster.workload().nodes)) {}
  void add(Process& process) { of_node_[static_cast<std::size_t>(process.node)].push_back(&process); }
  // Tries each of those that wait now once.
  template <class Try>
  void serve(int node, Try&& try_it) {
    auto& queue = of_node_[static_cast<std::size_t>(node)];
    for (std::size_t count = queue.size(); count > 0 && !queue.empty(); --count) {
      Process* const process = queue.front();
      queue.pop_front();
      try_it(*process);
    }
  }

 private:
  std::vector<std::deque<Process*>> of_node_;
};

// Algorithm 1: over interfaces that neither send nor receive here.
class LocalDynamic final : public Scheme {
 public:
  explicit LocalDynamic(Cluster& cluster) : cluster_(cluster), waiting_(cluster) {}
  void send(Process& process) override {
    std::vector<int> rails = cluster_.idle_rails(process);
    if (rails.empty()) return waiting_.add(process);
    if (!cluster_.workload().striping) rails.resize(1);
    const int from = process.node, to = cluster_.destination_node(process);
    for (const int rail : rails) ++cluster_.interface_of(from, rail).sends;
    cluster_.transmit(process, rails,
                      {.head = [this, to](int rail) { ++cluster_.interface_of(to, rail).receives; },
                       .sent =
                           [this, from](int rail) {
                             --cluster_.interface_of(from, rail).sends;
                             on_idle(from);
                           },
                       .end =
                           [this, to](int rail) {
                             --cluster_.interface_of(to, rail).receives;
                             on_idle(to);
                           }});
  }
  void on_idle(int node) override {
    waiting_.serve(node, [this](Process& process) { send(process); });
  }

 private:
  Cluster& cluster_;
  Waiting waiting_;
};

// Algorithms 2 to 4 and tables 1 and 2: both ends are reserved before a message leaves. With `short_message`
// above 0, algorithm 5: messages up to that size go over an idle interface at once.
class Dynamic final : public Scheme {
 public:
  explicit Dynamic(Cluster& cluster) : cluster_(cluster), waiting_(cluster) {}

  void send(Process& process) override {
    const std::vector<int> rails = cluster_.idle_rails(process);
    if (rails.empty()) return waiting_.add(process);
    if (process.queue.front().flits <= cluster_.workload().short_message)
      return send_at_once(process, rails.front());
    process.granted.clear();
    process.replies = static_cast<int>(rails.size());
    const int to = cluster_.destination_node(process);
    for (const int rail : rails) {
      Interface& own = cluster_.interface_of(process.node, rail);
      own.state = State::reserved;
      own.asks = process.index;
      after([this, &process, to, rail, priority = own.priority] { on_request(to, rail, process, priority); });
    }
  }
  void on_idle(int node) override {
    waiting_.serve(node, [this](Process& process) { send(process); });
  }

 private:
  void after(std::function<void()> action) { cluster_.later(cluster_.workload().control, std::move(action)); }
  void send_at_once(Process& process, int rail) {
    const int from = process.node;
    cluster_.interface_of(from, rail).state = State::sending;
    cluster_.transmit(process, {rail},
                      {.head = {}, .sent = [this, from](int used) { set_free(from, used); }, .end = {}});
  }
  void set_free(int node, int rail) {
    cluster_.interface_of(node, rail).state = State::free;
    on_idle(node);
  }

  // A remote request to send, at the receiver.
  void on_request(int node, int rail, Process& from, int priority) {
    Interface& own = cluster_.interface_of(node, rail);
    bool granted = false;
    if (own.state == State::free && own.idle()) {
      own.state = State::receiving;
      granted = true;
    } else if (own.state == State::reserved) {
      // The paper compares the nodes' numbers for being unlike, which they always are: greater is meant.
      const bool own_wins = own.priority > priority || (own.priority == priority && node > from.node);
      own.priority += own_wins ? -1 : 1;
      granted = !own_wins;
      if (granted) own.state = State::receiving_and_asking;
    }
    after([this, &from, rail, granted] { granted ? on_granted(from, rail) : on_refused(from, rail); });
  }
  void on_granted(Process& process, int rail) {
    Interface& own = cluster_.interface_of(process.node, rail);
    if (own.state == State::reserved) {
      own.state = State::sending;
      process.granted.push_back(rail);
    } else {
      own.state = State::receiving;
      abort(cluster_.destination_node(process), rail);
    }
    on_reply(process);
  }
  void on_refused(Process& process, int rail) {
    Interface& own = cluster_.interface_of(process.node, rail);
    own.state = own.state == State::receiving_and_asking ? State::receiving : State::free;
    on_reply(process);
    if (own.state == State::free) on_idle(process.node);
  }
  // At the receiver: what was granted is not used.
  void abort(int node, int rail) {
    after([this, node, rail] { stop_receiving(node, rail); });
  }
  void stop_receiving(int node, int rail) {
    Interface& own = cluster_.interface_of(node, rail);
    if (own.state == State::receiving_and_asking)
      own.state = State::reserved;
    else
      set_free(node, rail);
  }

  void on_reply(Process& process) {
    if (--process.replies > 0) return;
    if (process.granted.empty()) return send(process);
    const int from = process.node, to = cluster_.destination_node(process);
    std::vector<int> rails = process.granted;
    if (!cluster_.workload().striping && rails.size() > 1) {
      std::swap(rails.front(), *std::min_element(rails.begin(), rails.end(), [&](int a, int b) {
                  return place(process, a) < place(process, b);
                }));
      for (std::size_t i = 1; i < rails.size(); ++i) {
        abort(to, rails[i]);
        cluster_.interface_of(from, rails[i]).state = State::free;
      }
      rails.resize(1);
    }
    const auto end = [this, from, to](int rail) {
      stop_receiving(to, rail);
      after([this, from, rail] { set_free(from, rail); });
    };
    cluster_.transmit(process, rails, {.head = {}, .sent = {}, .end = end});
    on_idle(from);
  }
  // In the order of round robin.
  int place(const Process& process, int rail) const {
    const int rails = cluster_.workload().rails;
    return (rail - process.next_rail + rails) % rails;
  }

  Cluster& cluster_;
  Waiting waiting_;
};

}  // namespace

std::unique_ptr<Scheme> make_scheme(const std::string& name, Cluster& cluster) {
  if (name == "basic") return std::make_unique<Basic>(cluster);
  if (name == "local-dynamic") return std::make_unique<LocalDynamic>(cluster);
  if (name == "dynamic" || name == "hybrid") return std::make_unique<Dynamic>(cluster);
  return nullptr;
}

}  // namespace rail_allocation
