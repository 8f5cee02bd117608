#include "testbed/simulator/simulated_job.h"

#include <fmt/format.h>

#include <algorithm>
#include <new>
#include <utility>

#include "base/assert.h"
#include "process/text_knobs.h"

namespace hawser {
namespace {

// A report of a thousand equal lines helps nobody.
constexpr int lines_of_report = 64;

Knobs knobs_of(const SimulationOptions& options, std::string& complaint) {
  std::vector<std::string> texts;
  for (const auto& [name, value] : options.knobs) texts.push_back(name + "=" + value);
  const std::vector<std::string_view> views(texts.begin(), texts.end());
  Result<Knobs> knobs = parse_knobs(views);
  Result<> checked;
  if (knobs) checked = check_text_knobs(knobs.value());
  if (knobs && checked) {
    // A rank has one processor, which an interrupt takes time of.
    if (knobs.value().progress == "auto") knobs.value().progress = "polling";
    return knobs.value();
  }
  complaint = knobs ? checked.error().text : knobs.error().text;
  return {};
}

void add_retired(RailCounters& sum, const RailCounters& one) {
  sum.peers_retired += one.peers_retired;
  sum.peers_restored += one.peers_restored;
}

void add_on_demand(RailCounters& sum, const RailCounters& one) {
  sum.connections_on_demand += one.connections_on_demand;
  sum.demands_refused += one.demands_refused;
  sum.messages_bundled += one.messages_bundled;
  sum.rails_timed += one.rails_timed;
}

void add(RailCounters& sum, const RailCounters& one) {
  sum.packets_sent += one.packets_sent;
  sum.packets_received += one.packets_received;
  sum.out_of_order += one.out_of_order;
  sum.credit_updates += one.credit_updates;
  sum.connections_made += one.connections_made;
  sum.connections_closed += one.connections_closed;
  sum.connections_beyond_cap += one.connections_beyond_cap;
  sum.packets_by_datagram += one.packets_by_datagram;
  sum.datagrams_repeated += one.datagrams_repeated;
  sum.multicast_sent += one.multicast_sent;
  sum.multicast_received += one.multicast_received;
  sum.multicast_dropped += one.multicast_dropped;
  sum.queue_pairs += one.queue_pairs;
  sum.queue_pairs_most = std::max(sum.queue_pairs_most, one.queue_pairs_most);
  sum.packet_bytes += one.packet_bytes;
  sum.peer_bytes += one.peer_bytes;
  sum.closings_asked += one.closings_asked;
  sum.closings_refused += one.closings_refused;
  sum.closings_agreed += one.closings_agreed;
  sum.no_room += one.no_room;
  sum.stripes_written += one.stripes_written;
  sum.stripes_read += one.stripes_read;
  sum.stripes_put += one.stripes_put;
  sum.confirming_reads += one.confirming_reads;
  sum.read_tokens_waited += one.read_tokens_waited;
  sum.bytes_striped += one.bytes_striped;
  sum.bytes_blocking += one.bytes_blocking;
  sum.bytes_nonblocking += one.bytes_nonblocking;
  sum.bytes_collective += one.bytes_collective;
  sum.bytes_one_sided += one.bytes_one_sided;
  sum.failures += one.failures;
  sum.failed_again += one.failed_again;
  sum.late_failures += one.late_failures;
  sum.errors_completed += one.errors_completed;
  sum.watchdog += one.watchdog;
  sum.port_events += one.port_events;
  sum.drain_time_outs += one.drain_time_outs;
  sum.fences_sent += one.fences_sent;
  sum.fences_answered += one.fences_answered;
  sum.packets_reissued += one.packets_reissued;
  sum.stripes_reissued += one.stripes_reissued;
  sum.bytes_reissued += one.bytes_reissued;
  sum.already_arrived += one.already_arrived;
  sum.taken_back += one.taken_back;
  sum.recoveries += one.recoveries;
  sum.adapters_reopened += one.adapters_reopened;
  sum.probes_failed += one.probes_failed;
  sum.partitions += one.partitions;
  sum.peers_lost += one.peers_lost;
  sum.checksum_errors += one.checksum_errors;
  sum.dropped_stale += one.dropped_stale;
  sum.dropped_duplicate += one.dropped_duplicate;
  sum.dropped_malformed += one.dropped_malformed;
  sum.registration_hits += one.registration_hits;
  sum.registrations_made += one.registrations_made;
  sum.registrations_dropped += one.registrations_dropped;
  sum.registrations_refused += one.registrations_refused;
  sum.packets_for_stripes += one.packets_for_stripes;
  sum.protection_errors += one.protection_errors;
  sum.quarantined += one.quarantined;
  sum.cleared += one.cleared;
  sum.alternates_armed += one.alternates_armed;
  sum.migrations += one.migrations;
  sum.migrations_failed += one.migrations_failed;
  sum.dropped_datagrams += one.dropped_datagrams;
  sum.interrupts_useful += one.interrupts_useful;
  sum.interrupts_useless += one.interrupts_useless;
  sum.interrupts_suppressed += one.interrupts_suppressed;
}

}  // namespace

SimulatedJob::SimulatedJob(const SimulationOptions& options, const Simulation::Body& body)
    : options_(options),
      trace_(options.trace_file, options.processes != nullptr),
      network_(queue_, trace_, options.model, node_of_rank(), options.seed, options.processes != nullptr,
               options.areas),
      queue_memory_(options.processes != nullptr),
      launcher_(*this, node_of_rank()) {
  HAWSER_ASSERT(options.ranks > 0 && options.ranks_per_node > 0);
  if (options.areas) area_memory_ = std::make_unique<AreaMemory>(options.processes != nullptr);
  if (std::string complaint = set_up(); !complaint.empty()) {
    end(SimulationOutcome::Kind::bad_options, std::move(complaint));
    return;
  }
  if (const std::vector<std::int32_t> nodes = node_of_rank(); nodes.back() + 1 < options.ranks)
    for (std::size_t rank = 0; rank < nodes.size(); ++rank)
      node_ports_.push_back(rank > 0 && nodes[rank] == nodes[rank - 1]
                                ? node_ports_.back()
                                : new (queue_memory_.take(sizeof(NodePorts))) NodePorts());
  for (int rank = 0; rank < options.ranks; ++rank) {
    processes_.push_back(std::make_unique<SimulatedProcess>(*this, rank, body));
  }
}

// Answers what is wrong with the options.
std::string SimulatedJob::set_up() {
  if (trace_.failed()) return fmt::format("cannot write the trace file {}", options_.trace_file);
  if (options_.survival && options_.processes != nullptr)
    return "ranks in processes of their own cannot be killed one by one";
  std::string complaint;
  knobs_ = knobs_of(options_, complaint);
  if (!complaint.empty() || !options_.fabric) return complaint;
  auto built =
      SimulatedFabric::build(queue_, trace_, *options_.fabric, options_.ranks, options_.seed,
                             options_.processes != nullptr ? &options_.processes->memory() : nullptr);
  if (!built) return built.error().text;
  fabric_ = std::move(built).value();
  return {};
}

SimulatedJob::~SimulatedJob() {
  for (auto& process : processes_) process->abandon();
}

std::vector<std::int32_t> SimulatedJob::node_of_rank() const {
  const int share = std::max(1, options_.fabric ? options_.fabric->ranks_per_host : options_.ranks_per_node);
  std::vector<std::int32_t> nodes(static_cast<std::size_t>(options_.ranks));
  for (int rank = 0; rank < options_.ranks; ++rank) nodes[rank] = rank / share;
  return nodes;
}

SimulationOutcome SimulatedJob::run() {
  for (auto& process : processes_) process->make_ready();
  const std::uint64_t check_every = fabric_ ? options_.fabric->check_every : 0;
  while (!over_) {
    if (const Nanoseconds limit = time_limit(); queue_.next_time() > limit) {
      if (queue_.empty() || all_finished()) break;
      report_unfinished(fmt::format("the limit of {} ns of virtual time is reached", limit));
      end(SimulationOutcome::Kind::time_limit, std::move(outcome_.report));
      break;
    }
    if (!queue_.fire_next()) break;
    if (options_.observer != nullptr) observe(false);
    if (check_every > 0 && queue_.fired() % check_every == 0) fabric_->fabric().check_invariants();
  }
  outcome_.finish_time = last_finish_;
  outcome_.killed = launcher_.killed();
  if (options_.observer != nullptr) observe(true);
  if (fabric_) {
    fabric_->count_payload(outcome_.payload_bytes, outcome_.repeated_bytes);
    outcome_.incidents = fabric_->incidents_begun();
    outcome_.time_after_incidents = std::max<Nanoseconds>(0, last_finish_ - fabric_->last_end());
    fabric_->fabric().check_invariants();
    trace_.join(fabric_->fabric().trace().hash());
    if (std::string refusal = fabric_->refusal(); !refusal.empty())
      end(SimulationOutcome::Kind::bad_options, std::move(refusal));
  }
  if (!over_) {
    int unfinished = 0;
    for (const auto& process : processes_) unfinished += !process->finished();
    if (unfinished > 0) {
      report_unfinished(
          fmt::format("deadlock: {} of {} ranks wait for what will not come", unfinished, options_.ranks));
      end(SimulationOutcome::Kind::deadlock, std::move(outcome_.report));
    }
  }
  if (trace_.failed())
    end(SimulationOutcome::Kind::bad_options,
        fmt::format("cannot write the trace file {}", options_.trace_file));
  outcome_.trace_hash = trace_.hash();
  outcome_.virtual_time = queue_.now();
  outcome_.events = queue_.fired();
  outcome_.messages = network_.messages();
  outcome_.bytes = network_.bytes();
  return std::move(outcome_);
}

void SimulatedJob::observe(bool over) {
  constexpr std::uint64_t events_between = 65'536;
  SimulationObserver& observer = *options_.observer;
  if (!over && queue_.now() < observer.next_time && queue_.fired() % events_between != 0) return;
  SimulationView view{.now = queue_.now(), .events = queue_.fired(), .over = over};
  for (const auto& process : processes_) view.finished += process->finished();
  if (fabric_) view.fabric = &fabric_->fabric();
  observer.observe(view);
}

Nanoseconds SimulatedJob::time_limit() const {
  return fabric_ ? std::min(options_.time_limit, fabric_->limit()) : options_.time_limit;
}

bool SimulatedJob::all_finished() const {
  return std::ranges::all_of(processes_, [](const auto& process) { return process->finished(); });
}

// Whether nothing but ranks' own time-outs can bring anything: for those that poll.
bool SimulatedJob::nothing_on_the_way() {
  if (network_.in_flight() > 0) return false;
  if (fabric_ == nullptr) return true;
  return std::exchange(activity_seen_, fabric_->activity()) == fabric_->activity();
}

// The first reason stays. From a fiber: it still runs until it parks.
void SimulatedJob::end(SimulationOutcome::Kind kind, std::string report) {
  if (over_) return;
  over_ = true;
  outcome_.kind = kind;
  outcome_.report = std::move(report);
  if (kind == SimulationOutcome::Kind::livelock) {
    report_unfinished(fmt::format("livelock: ranks poll, and nothing is on its way; {}", outcome_.report));
  }
}

void SimulatedJob::report_unfinished(std::string headline) {
  outcome_.report = std::move(headline);
  int lines = 0;
  for (const auto& process : processes_) {
    if (process->finished()) continue;
    if (++lines > lines_of_report) {
      outcome_.report += "\n  ...";
      break;
    }
    outcome_.report += "\n  " + process->describe();
  }
}

std::string SimulatedJob::disagreement() const {
  for (const auto& sender : processes_)
    if (std::string found = disagreement(*sender); !found.empty()) return found;
  return {};
}

std::string SimulatedJob::disagreement(const SimulatedProcess& sender) const {
  for (const auto& receiver : processes_) {
    if (&sender == receiver.get() || sender.rails_ == nullptr || receiver->rails_ == nullptr) continue;
    const RailChannel::SequenceCounters there = sender.rails_->rails().sequence_counters(receiver->rank());
    const RailChannel::SequenceCounters here = receiver->rails_->rails().sequence_counters(sender.rank());
    if (there.lost || here.lost) continue;
    if (there.sent == here.delivered && there.under_way <= here.delivered - here.acknowledged_to_peer)
      continue;
    return fmt::format(
        "rank {} sent {} packets to rank {}, which delivered {} and told of {}; {} are under way",
        sender.rank(), there.sent, receiver->rank(), here.delivered, here.acknowledged_to_peer,
        there.under_way);
  }
  return {};
}

void SimulatedJob::count(const RailCounters& counters) {
  add(outcome_.rails, counters);
  add_on_demand(outcome_.rails, counters);
  add_retired(outcome_.rails, counters);
}

}  // namespace hawser
