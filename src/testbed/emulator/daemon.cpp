#include "testbed/emulator/daemon.h"

#include <fcntl.h>
#include <fmt/core.h>
#include <sched.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <nlohmann/json.hpp>

#include "base/quantity.h"
#include "testbed/emulator/inspection.h"
#include "testbed/emulator/mapped_memory.h"

namespace hawser::emulator {
namespace {

// How often nothing may happen before the loop becomes more patient. To sleep and be woken takes twice as
// long as to yield and get the core back, so it yields for some milliseconds first.
constexpr std::uint32_t spins = 100, yields = 1000, spins_when_shared = 12;
constexpr std::uint32_t passes_between_looks = 32;
// A client that polled so lately is still at it, or was until we took its core.
constexpr Nanoseconds just_polled = 50 * microsecond;
constexpr Nanoseconds shortest_sleep = 60 * microsecond;

// Who is ready is known by its address.
std::uint64_t key_of(const void* who) { return reinterpret_cast<std::uintptr_t>(who); }

}  // namespace

Daemon::Daemon(std::string name, FileDescriptor listener, fabric::Topology topology,
               fabric::RoutingTables tables, const fabric::Parameters& parameters, std::string routing)
    : name_(std::move(name)),
      routing_(std::move(routing)),
      origin_(clock_.now()),
      fabric_(events_, dma_, std::move(topology), std::move(tables), parameters),
      listener_(std::move(listener)),
      wake_(eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK)),
      page_file_(make_memory(sizeof(DaemonPage))) {
  if (page_file_.valid()) page_memory_ = map_memory(page_file_, sizeof(DaemonPage));
  page_ = reinterpret_cast<DaemonPage*>(page_memory_.get());
  // Where Linux is too old for that, a client could keep others from waking us.
  if (page_ != nullptr) (void)forbid_writing(page_file_);
  if (auto made = ReadySet::make()) ready_ = std::move(made).value();
  fcntl(listener_.get(), F_SETFL, fcntl(listener_.get(), F_GETFL) | O_NONBLOCK);
  (void)ready_.add(listener_, key_of(&listener_), true, false);
  (void)ready_.add_edges(wake_.get(), key_of(&wake_));  // what is written to it is never read
}

void Daemon::end_with(FileDescriptor lifeline) {
  lifeline_ = std::move(lifeline);
  (void)ready_.add(lifeline_, key_of(&lifeline_), true, false);
}

Daemon::~Daemon() { connections_.clear(); }

void Daemon::run() {
  ask_for_slice(daemon_slice);
  ask_for_exact_timers();
  std::uint32_t idle = 0, passes = 0;
  while (!down_) {
    bool busy = fire_due();
    busy |= take_doorbells();
    tell_clients();
    if (++passes % passes_between_looks == 0 || idle > spins) busy |= look_at_sockets(0);
    if (busy) {
      idle = 0;
    } else if (++idle < spins_when_shared || (idle < spins && !shares_core())) {
      __builtin_ia32_pause();
    } else if (idle < spins + yields && may_yield()) {
      yield();
    } else {
      sleep();
      idle = 0;
    }
  }
}

// Not where clients compute, or poll memory without a call: they would keep the core for milliseconds.
bool Daemon::may_yield() {
  if (crowd_.here(now())) return false;
  const int here = sched_getcpu();
  const Nanoseconds lately = clock_.now() - just_polled;
  bool none = true;
  for (const Connection& each : connections_) {
    if (!each.last_seen_at(here)) continue;
    none = false;
    if (each.polled_since(lately)) return true;
  }
  return none;
}

void Daemon::yield() {
  page_->core.store(sched_getcpu(), std::memory_order_relaxed);
  crowd_.yield(now());
}

// Whether somebody else needs this core, perhaps to give us work. A client that waits for it cannot be seen,
// but where it ran last can.
bool Daemon::shares_core() {
  if (crowd_.here(now())) return true;
  const int here = sched_getcpu();
  return std::any_of(connections_.begin(), connections_.end(),
                     [&](const Connection& each) { return each.last_seen_at(here); });
}

void Daemon::tell_clients() {
  for (Connection& connection : connections_) connection.tell_of_completions();
}

// Also brings the model's time up to date, for calls act at it.
bool Daemon::fire_due() {
  const Nanoseconds at = now();
  const Nanoseconds due = events_.next_time();
  if (due <= at) lag_.note(at - due);
  return events_.fire_until(at) > 0;
}

bool Daemon::take_doorbells() {
  bool any = false;
  for (Connection& connection : connections_) any |= connection.take_doorbells();
  return any;
}

// Says that it sleeps, looks once more, and only then sleeps: a client that rings later sees it and wakes us.
void Daemon::sleep() {
  if (until_next_event() < shortest_sleep) {
    sched_yield();
    return;
  }
  page_->asleep.store(1, std::memory_order_seq_cst);
  // Much may have become due since: the core may have been away. Whoever waits for that must hear of it now.
  fire_due();
  if (!take_doorbells()) {
    tell_clients();
    look_at_sockets(until_next_event());
  }
  page_->core.store(sched_getcpu(), std::memory_order_relaxed);
  page_->asleep.store(0, std::memory_order_release);
}

Nanoseconds Daemon::until_next_event() {
  const Nanoseconds next = events_.next_time();
  return next == never ? never : std::max<Nanoseconds>(next - now(), 0);
}

bool Daemon::look_at_sockets(Nanoseconds wait) {
  const std::span<const ReadySet::Ready> found = ready_.wait(wait);
  for (const ReadySet::Ready& ready : found) {
    if (ready.key == key_of(&listener_)) {
      accept_all();
    } else if (ready.key == key_of(&lifeline_)) {
      down_ = true;  // nothing is written to it: this is its other end being closed
    } else if (ready.key != key_of(&wake_)) {
      fire_due();
      auto* const connection = reinterpret_cast<Connection*>(static_cast<std::uintptr_t>(ready.key));
      const bool sending = connection->sending();
      if (!connection->serve())
        connections_.remove_if([&](const Connection& each) { return &each == connection; });
      else if (connection->sending() != sending)  // who does not read is not asked for more
        ready_.change(connection->socket(), ready.key, sending, !sending);
    }
  }
  return !found.empty();
}

void Daemon::accept_all() {
  for (;;) {
    FileDescriptor socket = accept_local(listener_);
    if (!socket.valid()) return;
    connections_.emplace_back(*this, std::move(socket));
    (void)ready_.add(connections_.back().socket(), key_of(&connections_.back()), true, false);
  }
}

std::string Daemon::status() const {
  using fabric::TraceKind;
  const fabric::Parameters& parameters = fabric_.parameters();
  const fabric::Trace& trace = fabric_.trace();
  fabric_.check_invariants();
  std::size_t switches = 0;
  for (const auto& node : fabric_.topology().nodes())
    switches += node.kind == fabric::NodeKind::switch_device ? 1 : 0;
  std::string text = fmt::format(
      "fabric {}: {} hosts, {} adapters, {} switches\n"
      "link rate {}, latency {}, LMC {}, {}\n"
      "routing: {}\n"
      "packets: {} sent, {} delivered, {} dropped; {} completions; {} bytes moved\n"
      "service levels: {}; {} packets on another than their path record says; {} path records given\n"
      "network: {}\n"
      "lag behind real time: worst {}, mean {} of {} turns{}\n"
      "faults so far: {}; still to come: {}\n",
      name_, fabric_.topology().hosts().size(), fabric_.topology().nodes().size() - switches, switches,
      parameters.link_rate == 0 ? "unlimited" : format_rate(parameters.link_rate),
      format_duration(parameters.link_latency), parameters.lmc,
      parameters.link_layer == fabric::LinkLayer::ethernet ? "Ethernet" : "InfiniBand", routing_,
      trace.count(TraceKind::packet_sent), trace.count(TraceKind::packet_delivered),
      trace.count(TraceKind::packet_dropped), trace.count(TraceKind::completion), dma_.bytes_moved(),
      parameters.service_levels, fabric_.packets_off_level(), fabric_.manager().answered(),
      fabric_.quiescent() ? "at rest, all credits home" : "packets under way", format_duration(lag_.worst),
      format_duration(lag_.count == 0 ? 0 : lag_.sum / static_cast<Nanoseconds>(lag_.count)), lag_.count,
      lag_.worst > 10 * millisecond ? " (LAGGING)" : "", trace.count(TraceKind::fault),
      fabric_.pending_faults());
  for (const Connection& connection : connections_) {
    if (connection.open()) text += fmt::format("client: {}\n", connection.describe());
    if (connection.lost_events() > 0)
      text += fmt::format("  has not read {} events\n", connection.lost_events());
  }
  for (const auto& line : trace.lines())
    text += fmt::format("{:.6f} {}\n", static_cast<double>(line.time) / second, line.text);
  return text;
}

// For `hawser fabric watch`: describe_links, and what only the daemon knows.
std::string Daemon::links(std::size_t log_lines) {
  auto out = nlohmann::json::parse(describe_links(fabric_, log_lines));
  out["name"] = name_;
  out["origin"] = static_cast<double>(origin_) / static_cast<double>(second);
  out["lag"] = {{"worst", lag_.worst}, {"sum", lag_.sum}, {"turns", lag_.count}};
  out["clients"] = nlohmann::json::array();
  for (const Connection& connection : connections_) {
    if (connection.open()) out["clients"].push_back(connection.describe());
  }
  return out.dump();
}

// `<verb> <rest>`: the words of `hawser fabric`.
CommandAnswer Daemon::command(const std::string& text) {
  const std::size_t space = text.find(' ');
  const std::string verb = text.substr(0, space);
  const std::string rest = space == std::string::npos ? "" : text.substr(space + 1);
  const auto outcome = [](const Result<>& result) {
    return result ? CommandAnswer{} : CommandAnswer{EINVAL, result.error().text};
  };
  if (verb == "status") return {0, status()};
  if (verb == "down") {
    down_ = true;
    return {};
  }
  if (verb == "topology") {
    auto answer = inspect_topology(fabric_, fmt::format("{}: {}", name_, routing_), rest);
    return answer ? CommandAnswer{0, std::move(answer).value()} : CommandAnswer{EINVAL, answer.error().text};
  }
  if (verb == "links") {
    const auto log_lines = parse_count(rest);
    if (!log_lines) return {EINVAL, "links: how many lines of the log?"};
    return {0, links(log_lines.value())};
  }
  if (verb == "fault") return outcome(fabric_.inject(rest));
  if (verb == "schedule") return outcome(fabric_.schedule(rest, "schedule"));
  const auto adapters = [&](std::int32_t host) {
    std::int32_t count = 0;
    while (fabric_.adapter(host, count) != nullptr) ++count;
    return std::to_string(count);
  };
  if (verb == "hosts") {
    std::string text;
    const auto& hosts = fabric_.topology().hosts();
    for (std::size_t i = 0; i < hosts.size(); ++i)
      text += fmt::format("{} {}\n", hosts[i].name, adapters(static_cast<std::int32_t>(i)));
    return {0, text};
  }
  if (verb == "host") {
    if (const auto host = fabric_.topology().find_host(rest)) return {0, adapters(*host)};
    return {EINVAL, fmt::format("there is no host '{}' in fabric '{}'", rest, name_)};
  }
  return {EINVAL, fmt::format("unknown command '{}'", verb)};
}

}  // namespace hawser::emulator
