#include "rails/rail_engine.h"

#include <algorithm>

namespace hawser {

RailEngine::RailEngine(const RailSettings& settings, AddressExchange& exchange, const Knobs& knobs,
                       std::uint64_t seed)
    : context(settings, knobs, seed),
      resources(knobs),
      peers(context, resources, upward),
      timers(context),
      report(context),
      schedule(context),
      stripes(context, resources, upward),
      completions(context, resources, stripes, upward),
      eager(context, resources, upward),
      rendezvous(context, resources, stripes, peers, upward),
      windows(context, resources, stripes, peers, upward),
      recovery({context, resources, peers, timers, report, schedule, completions, stripes, rendezvous,
                windows, upward},
               exchange),
      moves_at_once_(knobs.progress == "interrupt") {
  if (context.status.wanted()) next_show_ = 0;
}

RailEngine::~RailEngine() { peers.destroy_queue_pairs(); }

Result<std::unique_ptr<RailEngine>> RailEngine::open(const RailSettings& settings, AddressExchange& exchange,
                                                     rdma::DeviceSource& devices, const Knobs& knobs,
                                                     std::uint64_t seed) {
  if (auto policy = make_scheduling_policy(knobs.rail_policy, settings.self); !policy)
    return policy.take_error();
  if (auto alternates = parse_alternates(knobs.rail_migration); !alternates) return alternates.take_error();
  if (auto level = parse_service_level(knobs.rail_service_level); !level) return level.take_error();
  std::unique_ptr<RailEngine> engine(new RailEngine(settings, exchange, knobs, seed));
  HAWSER_TRY(engine->resources.open(engine->context, devices));
  for (const auto& rail : engine->resources.rails) engine->schedule.add(*rail);
  return engine;
}

// Also of one that was never talked to, so that nobody tries to connect to it later.
void RailEngine::give_up(ProcessIndex process, const Error& error, TransportEvents& channel_events) {
  VirtualChannel* const peer = peers.obtain(process);
  if (peer == nullptr) return;
  context.events = &channel_events;
  recovery.give_up(*peer, error);
  context.events = nullptr;
}

void RailEngine::read_clock_if_needed() {
  bool needed = false;
  for (const auto& rail : resources.rails) {
    RailTraffic& traffic = rail->traffic;
    if (!traffic.timing()) [[likely]]
      continue;
    needed = true;
    // It failed, or was given up.
    if (traffic.timed != RailTraffic::none_timed && resources.entries.find(traffic.timed) == nullptr)
      traffic.timed = RailTraffic::none_timed;
  }
  if (needed) read_clock(context);
}

bool RailEngine::progress(TransportEvents& channel_events, Nanoseconds now) {
  advance_time(context, now);
  // What came since the last pass took entries.
  if (resources.entries.taken() != taken_at_end_) resources.check_counts();
  if (!recovery.started()) [[unlikely]] {
    // Before the first fence there is nothing to move.
    if (resources.rails.empty() || !recovery.start()) return false;
  }
  context.events = &channel_events;
  bool moved = false;
  read_clock_if_needed();
  // Before what has come is looked at, which takes as long as there is much of it.
  if (resources.open_bundles > 0) peers.send_bundles();
  for (const auto& rail : resources.rails)
    if (schedule.to_be_polled(*rail)) moved |= completions.poll(*rail) > 0;
  if (recovery.multicast().active()) moved |= recovery.multicast().receive();
  if (schedule.begin_look()) {
    moved |= recovery.look();
    if (schedule.looks_at_all()) {
      resources.registrations->give_back_free_memory(now);
      resources.registrations->take_changes();
    }
  }
  moved |= peers.advance();
  moved |= rendezvous.progress();
  moved |= windows.progress();
  moved |= stripes.progress();
  if (recovery.timers_due()) recovery.run_timers();
  if (now >= next_show_) show_weights();
  context.events = nullptr;
  context.presence.waited = false;
  resources.check_counts();
  taken_at_end_ = resources.entries.taken();
  if (context.settings.walk_every > 0 && ++passes_ % context.settings.walk_every == 0) [[unlikely]]
    check_invariants();
  return moved;
}

bool RailEngine::awaits_any_completion() const {
  return stripes.moving() || rendezvous.awaits_room() || windows.moving() || peers.waiting() ||
         resources.packets.held() > 0;
}

Nanoseconds RailEngine::deadline() const {
  if (!recovery.started()) return never;
  return std::min(
      {recovery.next_run(), rendezvous.deadline(), schedule.deadline(), recovery.multicast().user_due()});
}

void RailEngine::check_invariants() const {
  for (const VirtualChannel* peer : peers.known()) peer->check_invariants();
  resources.registrations->check_invariants();
  rendezvous.check_invariants();
  windows.check_invariants();
  for (const auto& rail : resources.rails) {
    std::int32_t outstanding = 0;
    std::int64_t bytes = 0, read = 0, packets = 0;
    for (VirtualChannel* peer : peers.known())
      for (const Subchannel& subchannel : peer->subchannels())
        if (&subchannel.rail == rail.get()) {
          outstanding += subchannel.traffic.outstanding;
          bytes += subchannel.traffic.bytes_queued;
          read += subchannel.traffic.bytes_read;
          packets += subchannel.traffic.packet_bytes;
        }
    HAWSER_ASSERT(outstanding == rail->traffic.outstanding && bytes == rail->traffic.bytes_queued &&
                  read == rail->traffic.bytes_read && packets == rail->traffic.packet_bytes);
  }
}

// Weights and counters, now and then.
void RailEngine::show_weights() {
  next_show_ = context.now + 100 * millisecond;
  for (VirtualChannel* peer : peers.known())
    for (Subchannel& subchannel : peer->subchannels()) {
      if (subchannel.in_service())
        context.status.set_weight(subchannel.status_row, peer->paths().weights().weight(subchannel.index));
    }
  context.status.publish(count());
}

const RailCounters& RailEngine::count() {
  const RegistrationCounters& cache = resources.registrations->counters();
  RailCounters& counters = context.counters;
  counters.registration_hits = cache.hits;
  counters.registrations_made = cache.registrations;
  counters.registrations_dropped = cache.evicted + cache.invalidated;
  const ConnectionCounters datagrams = recovery.datagrams();
  counters.dropped_datagrams = datagrams.dropped_check + datagrams.dropped_malformed;
  counters.queue_pairs = static_cast<std::uint64_t>(resources.queue_pairs);
  counters.packet_bytes = resources.packets.bytes() + resources.small_packets.bytes();
  counters.peer_bytes = peers.bytes();
  return counters;
}

}  // namespace hawser
