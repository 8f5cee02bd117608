#include "cluster.h"

#include <algorithm>
#include <cmath>
#include <string>
#include <utility>

namespace rail_allocation {

namespace {

double exponential(Random& random, double mean) { return -mean * std::log1p(-random.uniform()); }

}  // namespace

// A process's clock: the next message is created when it fires.
class Cluster::Source final : public hawser::Event {
 public:
  Source(Cluster& cluster, Process& process) : cluster_(cluster), process_(process) {}
  void schedule_next() {
    const Workload& w = cluster_.workload_;
    const double gap = w.mean_flits * w.processes / (w.load * w.rails);
    cluster_.events_.schedule(
        *this, cluster_.events_.now() + 1 + static_cast<Cycles>(exponential(cluster_.random_, gap)));
  }
  void fire(Cycles now) override {
    const Workload& w = cluster_.workload_;
    Message message;
    message.flits = std::ceil(1 + exponential(cluster_.random_, w.mean_flits));
    message.created = now;
    // Any process of another node.
    const auto others = static_cast<std::uint64_t>((w.nodes - 1) * w.processes);
    const int drawn = static_cast<int>(cluster_.random_.below(others));
    message.destination = drawn < process_.node * w.processes ? drawn : drawn + w.processes;
    process_.queue.push_back(message);
    schedule_next();
    if (!process_.busy) cluster_.begin_next(process_);
  }

 private:
  Cluster& cluster_;
  Process& process_;
};

class Cluster::Later final : public hawser::Event {
 public:
  Later(Cluster& cluster, std::function<void()> action) : cluster_(cluster), action_(std::move(action)) {}
  void fire(Cycles) override {
    const std::function<void()> action = std::move(action_);
    cluster_.end(*this);
    action();
  }

 private:
  Cluster& cluster_;
  std::function<void()> action_;
};

// What the stripes of a message have in common.
struct Delivery {
  Cycles created = 0;
  int stripes = 0;  // that have not arrived
};

class Cluster::Stripe final : public Transfer {
 public:
  Stripe(Cluster& cluster, Process& process, int to, double flits, int rail,
         std::shared_ptr<Delivery> delivery, Hooks hooks)
      : Transfer(process.node, to, flits),
        cluster_(cluster),
        process_(process),
        rail_(rail),
        delivery_(std::move(delivery)),
        hooks_(std::move(hooks)) {}
  void on_head() override {
    if (hooks_.head) hooks_.head(rail_);
  }
  void on_sent() override {
    if (hooks_.sent) hooks_.sent(rail_);
    cluster_.on_stripe_sent(process_);
  }
  void on_end() override {
    cluster_.end(*this);
    Measured& measured = cluster_.measured_;
    measured.flits += flits;
    if (--delivery_->stripes == 0) {
      ++measured.messages;
      measured.latency += static_cast<double>(cluster_.events_.now() - delivery_->created);
    }
    if (hooks_.end) hooks_.end(rail_);
  }

 private:
  Cluster& cluster_;
  Process& process_;
  const int rail_;
  const std::shared_ptr<Delivery> delivery_;
  const Hooks hooks_;
};

Cluster::Cluster(const Workload& workload, std::uint64_t seed)
    : workload_(workload),
      random_(seed),
      interfaces_(static_cast<std::size_t>(workload.nodes * workload.rails)) {
  for (int rail = 0; rail < workload.rails; ++rail)
    rails_.push_back(std::make_unique<RailNetwork>(events_, workload.nodes, workload.both_ways, random_));
  for (int i = 0; i < workload.nodes * workload.processes; ++i) {
    auto process = std::make_unique<Process>();
    process->index = i;
    process->node = node_of(i);
    sources_.push_back(std::make_unique<Source>(*this, *process));
    processes_.push_back(std::move(process));
    sources_.back()->schedule_next();
  }
}

Cluster::~Cluster() = default;

Measured Cluster::run_until(Cycles time) {
  while (events_.next_time() <= time) {
    events_.fire_next();
    over_.clear();
  }
  events_.advance_to(time);
  return std::exchange(measured_, {});
}

std::vector<int> Cluster::idle_rails(const Process& process) {
  std::vector<int> idle;
  for (int i = 0; i < workload_.rails; ++i) {
    const int rail = (process.next_rail + i) % workload_.rails;
    if (interface_of(process.node, rail).idle()) idle.push_back(rail);
  }
  return idle;
}

void Cluster::transmit(Process& process, const std::vector<int>& rails, Hooks hooks) {
  const Message message = process.queue.front();
  const int stripes = static_cast<int>(rails.size());
  process.stripes = stripes;
  process.next_rail = (rails.back() + 1) % workload_.rails;
  const double part = std::ceil(message.flits / stripes);
  const auto delivery = std::make_shared<Delivery>(Delivery{message.created, stripes});
  for (const int rail : rails) {
    auto stripe =
        std::make_unique<Stripe>(*this, process, node_of(message.destination), part, rail, delivery, hooks);
    rails_[static_cast<std::size_t>(rail)]->start(*own(std::move(stripe)));
  }
}

void Cluster::end(const hawser::Event& event) {
  const auto found = std::ranges::find(under_way_, &event, &std::unique_ptr<hawser::Event>::get);
  over_.push_back(std::move(*found));
  std::swap(*found, under_way_.back());
  under_way_.pop_back();
}

void Cluster::later(Cycles delay, std::function<void()> action) {
  events_.schedule(*own(std::make_unique<Later>(*this, std::move(action))), events_.now() + delay);
}

void Cluster::on_stripe_sent(Process& process) {
  if (--process.stripes > 0) return;
  process.queue.pop_front();
  process.busy = false;
  begin_next(process);
}

void Cluster::begin_next(Process& process) {
  if (process.queue.empty() || process.busy) return;
  process.busy = true;
  scheme_->send(process);
}

}  // namespace rail_allocation
