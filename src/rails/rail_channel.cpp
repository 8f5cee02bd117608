#include "rails/rail_channel.h"

#include <algorithm>
#include <cstring>
#include <functional>

#include "base/failure.h"
#include "rails/rail_engine.h"

namespace hawser {
namespace {

std::string alternate_text(const Subchannel& subchannel) {
  if (subchannel.alternate == nullptr) return {};
  const PathMigration& machine = subchannel.alternate->machine;
  return fmt::format(", port {} path bits {}, alternate {}", subchannel.route.port,
                     subchannel.route.source_path_bits, migration_phase_name(machine.phase()));
}

}  // namespace

RailChannel::RailChannel(std::unique_ptr<RailEngine> engine)
    : engine_(std::move(engine)), attendance_(*engine_) {}
RailChannel::~RailChannel() = default;

Result<std::unique_ptr<RailChannel>> RailChannel::open(const RailSettings& settings,
                                                       AddressExchange& exchange, rdma::DeviceSource& devices,
                                                       const Knobs& knobs, std::uint64_t seed) {
  auto engine = RailEngine::open(settings, exchange, devices, knobs, seed);
  if (!engine) return engine.take_error();
  return std::unique_ptr<RailChannel>(new RailChannel(std::move(engine).value()));
}

void RailChannel::share_ports(NodePorts& ports, int place) {
  for (const auto& rail : engine_->resources.rails) {
    // Not 0, for ports are counted from 1.
    const std::uint64_t device = std::hash<std::string>()(rail->device().attributes().name);
    rail->traffic.use = PortUse(ports, device * 256 + rail->port(), place);
  }
}

Result<> RailChannel::publish() { return engine_->recovery.publish(); }
LinkRates RailChannel::link_rates() const {
  LinkRates rates;
  for (const RailAddress& rail : engine_->resources.table.rails) {
    rates.together += rail.bytes_per_second;
    rates.one = std::max(rates.one, rail.bytes_per_second);
  }
  rates.packet = engine_->eager.limit_of(engine_->resources.packets.buffer_bytes());
  return rates;
}

DistancesSeen distances_of(const RailChannel& channel) {
  DistancesSeen seen;
  for (VirtualChannel* const peer : channel.engine_->peers.known()) {
    const RailLatencies& latencies = peer->paths().latencies();
    const Nanoseconds round_trip = latencies.least_round_trip();
    if (round_trip > 0) seen.add_peer(round_trip, latencies.differ() ? latencies.least_detour() : 0);
  }
  return seen;
}

bool RailChannel::reaches(ProcessIndex peer) { return engine_->peers.obtain(peer) != nullptr; }

std::vector<int> RailChannel::descriptors() const {
  std::vector<int> found;
  for (const auto& device : engine_->resources.devices)
    if (device->descriptor() >= 0) found.push_back(device->descriptor());
  return found;
}

Result<> RailChannel::arm(Wake wake) {
  engine_->schedule.look_at_all();
  const bool solicited_only = wake == Wake::needs_software && !engine_->awaits_any_completion();
  armed_for_solicited_ = solicited_only;
  for (const auto& rail : engine_->resources.rails)
    if (!rail->dead) HAWSER_TRY(rail->completions().arm(solicited_only));
  // What a dead adapter took back stays in its queues until it is closed.
  for (std::size_t i = 0; i < engine_->resources.devices.size(); ++i)
    if ((engine_->resources.dead_devices >> i & 1) == 0)
      HAWSER_TRY(engine_->resources.devices[i]->arm_datagrams());
  return {};
}

bool RailChannel::awaits_more_than_armed() const {
  return armed_for_solicited_ && engine_->awaits_any_completion();
}

void RailChannel::set_alarm(DeadlineAlarm* alarm) { engine_->context.alarm = alarm; }

// Those that are numbers of something; the times of the last failover are no sums.
std::vector<ChannelCounter> RailChannel::list_counters() const {
  std::vector<ChannelCounter> list;
  for (const CounterName& counter : rail_counter_names())
    if (!counter.name.starts_with("last_")) list.push_back({counter.name, counter.value(counters())});
  return list;
}

const RailCounters& RailChannel::counters() const { return engine_->count(); }

std::int64_t RailChannel::eager_limit(ProcessIndex) const { return engine_->eager.limit(); }

// The peer to send to; null: it is lost, and what is sent to it is swallowed.
bool RailChannel::try_send(ProcessIndex process, const TransportHeader& header, const ByteSequence& payload) {
  VirtualChannel* const peer = engine_->peers.obtain(process);
  HAWSER_ASSERT(peer != nullptr && payload.size <= eager_limit(process));
  if (peer->paths().ready() == 0) [[unlikely]] {
    if (peer->lost()) return true;
    (void)engine_->recovery.start();
  }
  return engine_->eager.try_send(*peer, header, payload);
}

bool RailChannel::try_expose(ProcessIndex process, const TransportHeader& header, const ByteSequence& bytes,
                             Completion* end) {
  VirtualChannel* const peer = engine_->peers.obtain(process);
  HAWSER_ASSERT(peer != nullptr);
  if (!peer->lost() && peer->paths().ready() == 0) engine_->recovery.on_wanted(*peer);
  return engine_->rendezvous.try_expose(*peer, header, bytes, end);
}

void RailChannel::fetch(ProcessIndex process, const ExposeToken& token, const ByteSequence& into,
                        Completion* end) {
  VirtualChannel* const peer = engine_->peers.find(process);
  HAWSER_ASSERT(peer != nullptr);
  engine_->rendezvous.fetch(*peer, token, into, end);
  attendance_.want_transfers();
  // If the program computes now, nobody else begins it.
  engine_->context.wake_sleeper();
  // The sender is told at once that nothing is wanted.
  if (into.size == 0 && engine_->moves_at_once()) attendance_.begin_transfers();
}

RemoteMemory* RailChannel::remote_memory() {
  return engine_->resources.rails.empty() ? nullptr : &engine_->windows;
}

Multicast* RailChannel::multicast() {
  return engine_->resources.rails.empty() ? nullptr : &engine_->recovery.multicast();
}

void RailChannel::give_up(ProcessIndex process, const Error& error, TransportEvents& events) {
  engine_->give_up(process, error, events);
}

bool RailChannel::progress(TransportEvents& events, Nanoseconds now) {
  attendance_.note_pass();
  return engine_->progress(events, now);
}

Nanoseconds RailChannel::deadline() const { return engine_->deadline(); }

bool RailChannel::flushed() const {
  return engine_->rendezvous.flushed() && engine_->windows.flushed() &&
         std::all_of(engine_->peers.known().begin(), engine_->peers.known().end(),
                     [](const VirtualChannel* peer) { return peer->flushed(); });
}

bool RailChannel::quiescent(std::string* why) const {
  const auto not_so = [&](std::string text) {
    if (why != nullptr) *why = std::move(text);
    return false;
  };
  std::size_t receives = 0;
  for (const auto& rail : engine_->resources.rails) {
    receives += static_cast<std::size_t>(rail->posted_receives());
    if (rail->traffic.outstanding != 0 || rail->traffic.bytes_queued != 0)
      return not_so(fmt::format("{} requests and {} bytes outstanding on rail {}", rail->traffic.outstanding,
                                rail->traffic.bytes_queued, rail->number()));
  }
  for (const VirtualChannel* peer : engine_->peers.known()) {
    if (!peer->flushed()) return not_so(fmt::format("packets to {} are in flight", peer->process()));
    if (!peer->lost() && peer->window().under_way() > packet_window / 2)
      return not_so(
          fmt::format("{} packets to {} are not credited", peer->window().under_way(), peer->process()));
  }
  const Rendezvous& rendezvous = engine_->rendezvous;
  if (rendezvous.exposed() != 0 || rendezvous.fetched() != 0)
    return not_so(
        fmt::format("{} exposed and {} fetched transfers", rendezvous.exposed(), rendezvous.fetched()));
  if (!engine_->windows.flushed())
    return not_so(fmt::format("{} one-sided operations", engine_->windows.live()));
  if (!rendezvous.all_keys_told()) return not_so("keys that the peers were not told");
  if (engine_->stripes.read_tokens() != engine_->context.knobs.rail_reads)
    return not_so(fmt::format("{} tokens of reads", engine_->stripes.read_tokens()));
  if (!engine_->resources.registrations->idle())
    return not_so("memory of the application is in use by adapters");
  std::size_t retained = 0;
  for (const VirtualChannel* peer : engine_->peers.known()) retained += peer->packets().retained();
  if (engine_->resources.entries.taken() != retained)
    return not_so(fmt::format("{} entries", engine_->resources.entries.taken()));
  if (engine_->resources.small_packets.taken() + engine_->resources.packets.taken() != receives + retained)
    return not_so(fmt::format("{} small and {} packet buffers, {} of them to receive into",
                              engine_->resources.small_packets.taken(), engine_->resources.packets.taken(),
                              receives));
  return true;
}

std::string RailChannel::describe() const {
  std::string text;
  for (VirtualChannel* peer : engine_->peers.known())
    for (const Subchannel& s : peer->subchannels())
      text += fmt::format(
          "\n  peer {} subchannel {} on rail {} ({}): {}, generation {}, {} under way, due {}{}",
          peer->process(), s.index, s.rail.number(), s.rail.up() ? "up" : "down",
          subchannel_state_name(s.machine().state()), s.connection_generation(), s.traffic.outstanding,
          s.machine().due() == never ? -1 : s.machine().due() - engine_->context.now, alternate_text(s));
  return text;
}

RailChannel::SequenceCounters RailChannel::sequence_counters(ProcessIndex process) const {
  const VirtualChannel* const peer = engine_->peers.find(process);
  if (const RetiredPeer* const retired = engine_->peers.find_retired(process); retired != nullptr)
    return {retired->sent, 0, retired->delivered, retired->delivered, false};
  if (peer == nullptr) return {};
  return {peer->window().sent(), peer->window().under_way(), peer->window().expected(),
          peer->window().acknowledged_to_peer(), peer->lost()};
}

void RailChannel::check_invariants() const { engine_->check_invariants(); }

}  // namespace hawser
