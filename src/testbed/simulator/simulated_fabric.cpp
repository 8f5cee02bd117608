#include "testbed/simulator/simulated_fabric.h"

#include <fmt/format.h>

#include <algorithm>
#include <string_view>
#include <utility>

#include "base/enum_names.h"
#include "base/failure.h"
#include "fabric/topology/makers.h"
#include "fabric/topology/topology_text.h"

namespace hawser {
namespace {

// What stands for a queue pair in a command, and its type.
struct PairWord {
  std::string_view word;
  fabric::QpType type;
};
constexpr PairWord pair_words[] = {{"{rc}", fabric::QpType::rc}, {"{ud}", fabric::QpType::ud}};

Result<fabric::Topology> topology_of(const FabricOptions& options, int hosts) {
  if (!fabric::is_maker(options.topology)) return fabric::parse_topology(options.topology, "topology");
  return fabric::make_topology(options.topology,
                               {.hosts = std::max(hosts, 2), .rails = options.rails, .ports = options.ports});
}

Result<LaidOutFabric> lay_out(const FabricOptions& options, int hosts, std::uint64_t seed) {
  if (options.laid_out != nullptr) {
    LaidOutFabric copy = *options.laid_out;
    copy.parameters.seed = seed;
    return copy;
  }
  auto topology = topology_of(options, hosts);
  if (!topology) return topology.take_error();
  fabric::Parameters parameters;
  parameters.seed = seed;
  HAWSER_TRY(fabric::parse_parameters(options.parameters, "parameters", topology.value(), parameters));
  auto tables =
      fabric::build_routes(topology.value(), parameters.lmc, {.shuffle_seed = parameters.shuffle_seed});
  if (!tables) return tables.take_error();
  return LaidOutFabric{std::move(topology).value(), std::move(parameters), std::move(tables).value()};
}

const char* verb_of(fabric::TraceKind kind) {
  static constexpr EnumTexts<fabric::TraceKind> texts{
      {{fabric::TraceKind::packet_sent, "packet-sent"},
       {fabric::TraceKind::packet_delivered, "packet-delivered"},
       {fabric::TraceKind::packet_dropped, "packet-dropped"},
       {fabric::TraceKind::completion, "completion"},
       {fabric::TraceKind::async_event, "event"},
       {fabric::TraceKind::fault, "fault"}}};
  return texts(kind);
}

}  // namespace

class SimulatedFabric::ActiveIncident final : public Event {
 public:
  ActiveIncident(SimulatedFabric& owner, const Incident& incident) : owner_(owner), incident_(incident) {}
  const Incident& incident() const { return incident_; }
  bool waits() const { return state_ == State::waits; }

  void fire(Nanoseconds now) override {
    if (state_ == State::waits) {
      state_ = State::under_way;
      owner_.on_begin();
      owner_.carry_out(incident_.begin);
      owner_.queue_.schedule(*this, now + incident_.lasts);
    } else {
      state_ = State::over;
      owner_.carry_out(incident_.end);
      owner_.on_end();
    }
  }

 private:
  enum class State : std::uint8_t { waits, under_way, over };
  SimulatedFabric& owner_;
  const Incident& incident_;
  State state_ = State::waits;
};

SimulatedFabric::SimulatedFabric(EventQueue& queue, const FabricOptions& options, Trace& trace,
                                 std::uint64_t seed)
    : queue_(queue), options_(options), trace_(trace), random_(seed ^ 0xfab) {}

SimulatedFabric::~SimulatedFabric() = default;

Result<std::unique_ptr<SimulatedFabric>> SimulatedFabric::build(EventQueue& queue, Trace& trace,
                                                                const FabricOptions& options, int ranks,
                                                                std::uint64_t seed, fabric::DmaPort* memory) {
  if (options.ranks_per_host < 1)
    return failure(ErrorKind::invalid_argument, "ranks per host must be at least 1");
  const int hosts = (ranks + options.ranks_per_host - 1) / options.ranks_per_host;
  auto laid_out = lay_out(options, hosts, seed);
  if (!laid_out) return laid_out.take_error();
  LaidOutFabric plan = std::move(laid_out).value();
  if (static_cast<int>(plan.topology.hosts().size()) < hosts) {
    return failure(ErrorKind::invalid_argument, "{} ranks, {} on a host, need {} hosts; the topology has {}",
                   ranks, options.ranks_per_host, hosts, plan.topology.hosts().size());
  }
  auto made = std::unique_ptr<SimulatedFabric>(new SimulatedFabric(queue, options, trace, seed));
  made->fabric_ = std::make_unique<fabric::Fabric>(queue, memory != nullptr ? *memory : made->local_memory_,
                                                   std::move(plan.topology), std::move(plan.tables),
                                                   std::move(plan.parameters));
  if (trace.writes() || !options.incidents.empty()) made->fabric_->listen(made.get());
  HAWSER_TRY(made->fabric_->schedule(options.faults, "faults"));
  HAWSER_TRY(made->add_incidents());
  if (!options.incidents_after_join) made->let_incidents_begin();
  return made;
}

Result<> SimulatedFabric::check_command(const std::string& command) const {
  std::string text = command;
  for (const PairWord& each : pair_words)
    if (const auto at = text.find(each.word); at != std::string::npos)
      text.replace(at, each.word.size(), "any");
  auto fault = fabric::parse_fault(text, fabric_->topology());
  if (!fault) return fault.take_error();
  return {};
}

Result<> SimulatedFabric::add_incidents() {
  for (const std::string& command : options_.heal) HAWSER_TRY(check_command(command));
  for (const Incident& incident : options_.incidents) {
    for (const std::string& command : incident.begin) HAWSER_TRY(check_command(command));
    for (const std::string& command : incident.end) HAWSER_TRY(check_command(command));
    incidents_.push_back(std::make_unique<ActiveIncident>(*this, incident));
  }
  std::stable_sort(incidents_.begin(), incidents_.end(), [](const auto& a, const auto& b) {
    return a->incident().after_packets < b->incident().after_packets;
  });
  return {};
}

void SimulatedFabric::let_incidents_begin() {
  if (std::exchange(may_begin_, true)) return;
  for (const auto& each : incidents_)
    if (each->incident().at != never) queue_.schedule(*each, queue_.now() + each->incident().at);
}

void SimulatedFabric::count_payload(std::uint64_t& sent, std::uint64_t& repeated) {
  const auto nodes = static_cast<std::int32_t>(fabric_->topology().nodes().size());
  for (std::int32_t node = 0; node < nodes; ++node) {
    const fabric::Adapter* const adapter = fabric_->adapter(node);
    for (int port = 1; adapter != nullptr && adapter->valid_port(port); ++port) {
      sent += adapter->port(port).counters().payload_bytes;
      repeated += adapter->port(port).counters().repeated_bytes;
    }
  }
}

Nanoseconds SimulatedFabric::limit() const {
  if (under_way_ > 0 || options_.patience == never) return never;
  return last_end_ + options_.patience;
}

void SimulatedFabric::on_begin() {
  ++begun_;
  ++under_way_;
}

void SimulatedFabric::on_end() {
  last_end_ = queue_.now();
  if (--under_way_ == 0) carry_out(options_.heal);
}

// Of queue pairs there may be none just then: nothing is hit. Any other refusal is a mistake of who wrote the
// command, and the job must not pass as if the fault had come.
void SimulatedFabric::carry_out(const std::vector<std::string>& commands) {
  for (const std::string& command : commands) {
    const std::string text = with_queue_pair(command);
    if (text.empty()) continue;
    auto done = fabric_->inject(text);
    if (done) continue;
    on_log(queue_.now(), fmt::format("{}: {}", text, done.error().text));
    if (refusal_.empty() && !text.starts_with("qp "))
      refusal_ = fmt::format("the fault '{}' was refused: {}", text, done.error().text);
  }
}

std::string SimulatedFabric::refusal() const {
  return refusal_.empty() ? fabric_->refused_fault() : refusal_;
}

std::string SimulatedFabric::with_queue_pair(const std::string& command) {
  const PairWord* const found = std::ranges::find_if(
      pair_words, [&](const PairWord& each) { return command.find(each.word) != std::string::npos; });
  if (found == std::end(pair_words)) return command;
  const auto at = command.find(found->word);
  std::string text = command;
  const auto fault = fabric::parse_fault(text.replace(at, found->word.size(), "any"), fabric_->topology());
  std::vector<std::uint32_t> numbers;
  for (const auto& [context_number, context] : fabric_->adapter(fault.value().port.node)->contexts()) {
    for (const auto& [number, queue_pair] : context->queue_pairs()) {
      const bool wanted = queue_pair->configuration().type == found->type;
      if (wanted && queue_pair->state() == fabric::QpState::rts) numbers.push_back(number);
    }
  }
  if (numbers.empty()) return {};
  text = command;
  return text.replace(at, found->word.size(), std::to_string(numbers[random_.below(numbers.size())]));
}

void SimulatedFabric::on_note(fabric::TraceKind kind, Nanoseconds now, std::uint64_t a, std::uint64_t b) {
  if (trace_.writes()) trace_.comment(now, fmt::format("{} {:x} {:x}", verb_of(kind), a, b));
  if (kind != fabric::TraceKind::packet_sent || !may_begin_) return;
  ++packets_;
  for (; next_incident_ < incidents_.size(); ++next_incident_) {
    ActiveIncident& next = *incidents_[next_incident_];
    if (next.incident().after_packets > packets_) break;
    // Not now: the fabric is in the middle of something.
    if (next.waits()) queue_.schedule(next, now);
  }
}

void SimulatedFabric::on_log(Nanoseconds now, const std::string& text) { trace_.comment(now, text); }

}  // namespace hawser
