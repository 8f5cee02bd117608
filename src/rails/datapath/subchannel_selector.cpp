#include "rails/datapath/subchannel_selector.h"

#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <utility>

#include "base/assert.h"

namespace hawser {
namespace {

// A packet that waits so long behind so much to the same peer is one of many.
constexpr Nanoseconds long_wait = 10 * microsecond;
constexpr std::int64_t many_bytes = 8192;
constexpr std::int64_t short_stripe = 16384;
// Adapters take longer for packets that have to be fetched.
constexpr Nanoseconds path_jitter = 500;
// Of the packets that judge a rail, and of what is between them, at least.
constexpr Nanoseconds time_of_series = 4;
constexpr double nearly_alike = 0.55, timed_as_nominal = 0.8;
// After so many packets it is looked at again what the rails of a peer are worth.
constexpr std::int32_t longest_hold = 1024;

Load load_of(const WorkEntry& stripe) {
  return stripe.kind == WorkEntry::Kind::read ? Load::read : Load::written;
}

// What its port moved for others while a stripe was under way: that may have been ahead of it. Where all
// ranks send to all, the fast rail would seem slow otherwise.
std::int64_t moved_beside(const Subchannel& subchannel, const WorkEntry& stripe) {
  return subchannel.rail.traffic.flow_of(side_of(stripe)).delivered() - stripe.before.port_delivered;
}

// Engines of a path share it, so what each moved of late is a part of what it can: one of them is no slow
// network beside the others.
void share_pace(std::span<SubchannelView> views) {
  for (SubchannelView& view : views)
    for (const SubchannelView& other : views)
      if (view.usable && other.usable && view.rail == other.rail && view.path == other.path)
        view.packet_rate = std::max(view.packet_rate, other.packet_rate);
}

}  // namespace

SubchannelSelector::SubchannelSelector(RailContext& context, ProcessIndex peer,
                                       std::deque<Subchannel>& subchannels,
                                       std::unique_ptr<SchedulingPolicy> policy)
    : context_(context),
      peer_(peer),
      subchannels_(subchannels),
      policy_(std::move(policy)),
      depth_(static_cast<std::int32_t>(context.knobs.rail_send_depth)) {}

void SubchannelSelector::on_made(const Subchannel& subchannel) {
  const SubchannelPlace& place = subchannel.place;
  SubchannelView& view = views_.emplace_back();
  view.rail = place.pair;
  view.path = place.path;
  view.engine = place.engine;
  view.nominal = static_cast<double>(place.bytes_per_second);
  weights_.add(place.bytes_per_second);
  packet_times_.emplace_back();
  // Where a thread goes on while the program computes, each packet more may cost an interrupt.
  const bool times_rails = policy_->prefers() && context_.knobs.progress == "polling";
  if (times_rails && stands_for_rail(subchannel)) latencies_.add_rail();
  several_paths_ = several_paths_ || place.paths > 1;
  rails_ = rails_ || place.pair > 0;
  if (compares_stripes()) weights_.trust_first();
  const bool one_rail =
      std::all_of(views_.begin(), views_.end(), [](const SubchannelView& each) { return each.rail == 0; });
  paths_ = policy_->prefers() && one_rail && (paths_ || place.paths > 1);
  for (Subchannel& each : subchannels_) choose_timed(each);
  at_once_ += !place.on_demand;
  several_ = policy_->prefers() && (several_ || place.paths * context_.ways.engines > 1);
  restless_ = several_;
}

void SubchannelSelector::on_ready(const Subchannel& subchannel) {
  ++ready_;
  choice_.subchannel = nullptr;
  if (subchannel.place.path > 0) leave_rails_to_stripes();
  look_at_engines();
  if (!subchannel.place.on_demand || spreads_.empty()) return;
  spread_of(subchannel).on_open(subchannel.place.path, subchannel.place.engine);
  look_for_wanted();
}

void SubchannelSelector::on_not_ready(const Subchannel& subchannel) {
  --ready_;
  choice_.subchannel = nullptr;
  if (packet_engines_ != nullptr) packet_engines_->drop();
  if (latencies_.rails() > 0 && stands_for_rail(subchannel)) latencies_.forget(subchannel.place.pair);
  choose_timed(subchannels_[subchannel.index]);
  look_at_engines();
  if (!subchannel.place.on_demand || spreads_.empty()) return;
  spread_of(subchannel).on_closed(subchannel.place.path, subchannel.place.engine);
}

// Stripes on several paths say how good each is, and what packets met between them says little of a rail.
void SubchannelSelector::leave_rails_to_stripes() {
  if (!rails_) return;
  rails_ = false;
  for (Subchannel& each : subchannels_) choose_timed(each);
}

// Peers and processes draw unlike numbers, the same ones in each run.
std::uint64_t SubchannelSelector::seed() const {
  const auto self = static_cast<std::uint64_t>(context_.settings.self);
  return (self << 32 | static_cast<std::uint64_t>(peer_)) * 64;
}

void SubchannelSelector::make_spreads() {
  const std::uint64_t first_seed = seed();
  const Ways& ways = context_.ways;
  for (const Subchannel& subchannel : subchannels_) {
    const SubchannelPlace& place = subchannel.place;
    if (place.path != 0 || place.engine != 0) continue;
    HAWSER_ASSERT(place.pair == spreads_.size());
    ConnectionSet open = ~ConnectionSet{0};
    const int connections = place.paths * ways.engines;
    for (int i = 0; i < connections; ++i) {
      const int path = i / ways.engines, engine = i % ways.engines;
      if (ways.on_demand(path, engine)) open &= ~PathSpread::connection(path, engine, ways.engines);
    }
    spreads_.emplace_back(place.paths, ways.engines, views_[subchannel.index].nominal,
                          first_seed + place.pair, open, context_.settings.restless_paths);
  }
  for (const Subchannel& subchannel : subchannels_)
    if (subchannel.place.on_demand && subchannel.in_service())
      spreads_[subchannel.place.pair].on_open(subchannel.place.path, subchannel.place.engine);
}

void SubchannelSelector::on_stripe_done(const Subchannel& subchannel, const WorkEntry& entry) {
  // Who waits is there as soon as something is done, or as soon as it has a core.
  const Nanoseconds polled_before = subchannel.rail.polling.polled_before();
  const Nanoseconds not_before = context_.presence.waited ? context_.now : polled_before;
  // A short one is over before a process that slept looks again, so nothing else would tell of a slow rail.
  const bool is_short = compares_stripes() && entry.size <= short_stripe;
  weights_.on_stripe_done(subchannel.index, entry.size,
                          std::max(entry.before.queued, is_short ? moved_beside(subchannel, entry) : 0),
                          entry.posted, context_.now, is_short ? not_before : polled_before);
  if (!several()) return;
  RailTraffic& traffic = subchannel.rail.traffic;
  PathSpread& spread = spread_of(subchannel);
  const SlowPaths::Course before = spread.slow_course();
  if (context_.open_reads.exposed > 0) spread.on_opposed();
  spread.on_done({entry.size, entry.before.spread, traffic.bytes_queued, not_before, context_.now,
                  subchannel.place.engine, traffic.use.shared(side_of(entry))},
                 traffic.spread);
  if (spread.slow_course() != before) choice_.subchannel = nullptr;
  restless_ = spread.restless();
  look_for_wanted();
}

// Engines of a path share it, and what is known of the first holds for all. Itself where there is no first.
const Subchannel& SubchannelSelector::first_engine_of(const Subchannel& subchannel) const {
  const SubchannelPlace& place = subchannel.place;
  if (place.engine != 0)
    for (const Subchannel& first : subchannels_)
      if (first.place.engine == 0 && first.place.pair == place.pair && first.place.path == place.path)
        return first;
  return subchannel;
}

// What packets that were timed say of it; infinity: no more than the port does. Traffic the other way makes
// some of them late, so rails that are nearly as fast count as alike.
double SubchannelSelector::timed_rate(const Subchannel& subchannel, double fastest) {
  if (!rails_) return INFINITY;
  const double nominal = views_[subchannel.index].nominal;
  const double own = times_of(subchannel).rate(nominal);
  const double rate = own < nearly_alike * fastest ? own : fastest;
  return rate < timed_as_nominal * nominal ? rate : INFINITY;
}

void SubchannelSelector::on_packet_timed(Subchannel& subchannel, const WorkEntry& entry,
                                         Nanoseconds not_before) {
  if (several() && belongs_to_long(entry.packet_kind))
    spread_of(subchannel).on_packet(context_.now - entry.posted);
  if (context_.presence.waited) not_before = context_.now;
  // It may have been there while others were taken, and long before if there are more.
  const PollTimes& polling = subchannel.rail.polling;
  const Nanoseconds taking = polling.may_have_backlog() ? never : time_of_completion * (polling.taken() - 1);
  const Nanoseconds least = std::max<Nanoseconds>(not_before - entry.posted - taking, 0);
  if (tells_latency(subchannel, entry)) note_latency(subchannel, entry, least);
  if (times_only_rail(subchannel)) latencies_.on_posted(0);
  choose_timed(subchannel);
  if (times_latency(entry)) return;
  if (entry.packet_kind == PacketKind::measure)
    weights_.on_measured(subchannel.index, entry.bytes, entry.before.queued, entry.posted, context_.now,
                         not_before);
  if (!rails_ && !paths_) return;
  PacketTimes& times = times_of(subchannel);
  const double nominal = views_[subchannel.index].nominal, before = times.rate(nominal);
  const TimedPacket packet{entry.bytes, entry.before.queued, least, context_.now - entry.posted,
                           subchannel.rail.traffic.when_timed.behind_one};
  subchannel.rail.traffic.latency.add(packet);
  if (times.on_done(packet, nominal, times_beside(subchannel), context_.now))
    doubt_others(subchannel, times.rate(nominal), context_.now - time_of_series * packet.most);
  choose_timed(subchannel);
  if (paths_) judge_path(subchannel, packet);
  if (!rails_) return;
  if (compares_stripes()) weights_.on_packet_done(subchannel.index, entry.bytes, context_.now - entry.posted);
  if (times.rate(nominal) != before) choice_.subchannel = nullptr;
}

// A rail that is no faster than one that was left for it: perhaps others only delayed what told that the
// first is slow. One that is known to be faster needs no trial.
void SubchannelSelector::doubt_others(const Subchannel& judged, double rate, Nanoseconds not_used_since) {
  for (const Subchannel& each : subchannels_) {
    if (each.place.pair == judged.place.pair || !stands_for_rail(each) || !each.in_service()) continue;
    const double other = times_of(each).rate(views_[each.index].nominal);
    if (other >= rate && rate >= nearly_alike * other) times_of(each).doubt(context_.now, not_used_since);
  }
}

// Whether the path is so slow that others should be tried.
void SubchannelSelector::judge_path(const Subchannel& subchannel, const TimedPacket& packet) {
  if (!PacketTimes::tells_of_path(packet)) return;
  const Nanoseconds latency = subchannel.rail.traffic.latency.at_most() + path_jitter;
  const Nanoseconds idle = latency + latency / 4 + path_jitter;
  const double rate = PacketTimes::most(packet, idle) / views_[subchannel.index].nominal;
  if (spreads_.empty() && rate >= SlowPaths::plainly_slow) return;
  PathSpread& spread = spread_of(subchannel);
  const SlowPaths::Course before = spread.slow_course();
  spread.on_short(subchannel.place.path, rate, context_.now);
  if (spread.slow_course() == before) return;
  choice_.subchannel = nullptr;
  look_for_wanted();
}

// Unless none else has room.
void SubchannelSelector::keep_off_slow_paths(std::span<SubchannelView> usable) const {
  if (!paths_ || spreads_.empty() || !spreads_.front().avoids_any()) return;
  const auto good = [&spread = spreads_.front()](const SubchannelView& view) {
    return view.usable && !spread.avoids(view.path);
  };
  if (std::none_of(usable.begin(), usable.end(), good)) return;
  for (SubchannelView& view : usable) view.usable = good(view);
}

void SubchannelSelector::look_for_wanted() {
  wants_more_ = false;
  if (packet_engines_ != nullptr)
    for (PathSpread& spread : spreads_) spread.want_for_packets(packet_engines_->wanted());
  for (const PathSpread& spread : spreads_) wants_more_ |= spread.wanted() != 0;
}

std::optional<SubchannelSelector::Wanted> SubchannelSelector::wanted() const {
  for (std::size_t pair = 0; pair < spreads_.size(); ++pair)
    if (const ConnectionSet wanted = spreads_[pair].wanted(); wanted != 0) {
      const int number = std::countr_zero(wanted), engines = context_.ways.engines;
      return Wanted{static_cast<int>(pair), number / engines, number % engines};
    }
  return std::nullopt;
}

void SubchannelSelector::on_refused() {
  for (PathSpread& spread : spreads_)
    if (spread.wanted() != 0) spread.on_refused();
  if (packet_engines_ != nullptr) packet_engines_->on_refused();
  look_for_wanted();
}

// Small messages before the first large one take the first connection of each pair, as PathSpread begins.
bool SubchannelSelector::prefers(const Subchannel& subchannel) const {
  const SubchannelPlace& place = subchannel.place;
  if (spreads_.empty()) return !several() || (place.path == 0 && place.engine == 0);
  return spreads_[place.pair].takes(place.path, place.engine);
}

bool SubchannelSelector::reads() const {
  return std::all_of(subchannels_.begin(), subchannels_.end(), [](const Subchannel& subchannel) {
    return subchannel.rail.device().attributes().outstanding_reads > 0;
  });
}

std::span<SubchannelView> SubchannelSelector::views(std::int32_t requests, Load load) {
  const bool avoids = suspected_ > 0 && suspected_ < ready_;
  double fastest = 0;  // of packets that were timed
  for (const Subchannel& subchannel : subchannels_)
    if (rails_ && subchannel.in_service())
      fastest = std::max(fastest, times_of(subchannel).rate(views_[subchannel.index].nominal));
  for (Subchannel& subchannel : subchannels_) {
    SubchannelView& view = views_[subchannel.index];
    view.usable = subchannel.in_service() && subchannel.room_for(requests, depth_) &&
                  !(avoids && subchannel.machine().suspected());
    view.packets_on_it = subchannel.traffic.packet_bytes;
    view.latency = SubchannelView{}.latency;
    view.moved = 0;
    if (!view.usable) continue;
    view.preferred = prefers(subchannel);
    view.bytes_per_second = weights_.weight(subchannel.index);
    const WorkEntry* const oldest = subchannel.traffic.in_flight.front();
    view.bytes_queued = subchannel.rail.traffic.queued().of(load);
    view.bytes_on_it = subchannel.traffic.queued().of(load);
    const double timed = timed_rate(subchannel, fastest);
    view.packet_rate =
        std::min(timed, static_cast<double>(second) /
                            static_cast<double>(subchannel.traffic.packet_flow.ns_per_byte(context_.now)));
    const double behind = static_cast<double>(view.packets_on_it) / timed * static_cast<double>(second);
    view.packet_wait = std::max({packet_wait(subchannel), static_cast<Nanoseconds>(behind), Nanoseconds{0}});
    if (oldest != nullptr && !counts_as_packet(*oldest) && !subchannel.rail.polling.may_have_backlog()) {
      const Nanoseconds polled = subchannel.rail.polling.polled();
      view.bytes_per_second = weights_.weight(subchannel.index, oldest->size, oldest->posted, polled);
      if (load == Load::both || load == load_of(*oldest)) {
        view.moved = weights_.moved(subchannel.index, oldest->size, oldest->posted, polled);
        view.bytes_queued -= view.moved;
        view.bytes_on_it -= view.moved;
      }
    }
    view.requests_queued = subchannel.traffic.outstanding;
  }
  if (several_) share_moved();
  return views_;
}

// What has moved on one connection of a rail is queued before none of the others either.
void SubchannelSelector::share_moved() {
  for (const Subchannel& moved : subchannels_) {
    const std::int64_t bytes = views_[moved.index].moved;
    if (bytes == 0) continue;
    for (const Subchannel& each : subchannels_)
      if (&each != &moved && &each.rail == &moved.rail && views_[each.index].usable)
        views_[each.index].bytes_queued -= bytes;
  }
}

Subchannel* SubchannelSelector::choose_anew(std::int64_t bytes, TrafficClass traffic) {
  const Subchannel* const before = std::exchange(choice_.subchannel, nullptr);
  if (ready_ == 0) return nullptr;
  // How long packets wait is compared with distances of microseconds.
  if (latencies_.differ()) [[unlikely]]
    read_clock(context_);
  const auto usable = views(1);
  const auto count =
      std::count_if(usable.begin(), usable.end(), [](const SubchannelView& view) { return view.usable; });
  if (count == 0) return nullptr;
  keep_to_engines(usable);
  keep_off_slow_paths(usable);
  look_at_latencies(bytes, usable);
  const int chosen = policy_->choose(bytes, traffic, usable);
  if (chosen < 0) return nullptr;
  if (Subchannel* const other = rails_ ? on_trial(bytes, usable) : nullptr; other != nullptr) return other;
  Subchannel& subchannel = subchannels_[static_cast<std::size_t>(chosen)];
  // What leaves a near rail because much waits there must not wait for the window of one that was idle.
  if (latencies_.differ() && before != nullptr)
    subchannel.traffic.packet_flow.widen_as(before->traffic.packet_flow);
  // Others that have no room now would be the choice as soon as they have.
  if (count == ready_ - (suspected_ < ready_ ? suspected_ : 0))
    choice_ = {&subchannel, policy_->hold(chosen, bytes, usable), weights_.changes(), traffic};
  if (rails_ || paths_) {
    choice_.hold.packets = std::min(choice_.hold.packets, longest_hold);
    PacketTimes& times = times_of(subchannel);
    times.look(context_.now);
    choose_timed(subchannel);
  }
  limit_hold(subchannel, bytes);
  --choice_.hold.packets;
  if (judges_engines()) note_packet(subchannel);
  return &subchannel;
}

// One that was slow when it was used last, and is idle; null: there is none.
Subchannel* SubchannelSelector::on_trial(std::int64_t bytes, std::span<const SubchannelView> usable) {
  for (Subchannel& each : subchannels_) {
    const SubchannelView& view = usable[each.index];
    PacketTimes& times = times_of(each);
    if (!view.usable || view.requests_queued > 0 || !times.wants_trial(bytes, context_.now)) continue;
    times.begin_trial(context_.now);
    choose_timed(each);
    return &each;
  }
  return nullptr;
}

// Other processes of the node use the other engines, and who has two connections of a port gets more of it,
// at their expense. Who asked for a number of engines has them.
bool SubchannelSelector::judges_engines() const {
  return several() && context_.ways.engines_on_demand && context_.settings.processes_here == 1;
}

// Packets among themselves do not take an engine that was opened for stripes, or for a trial, unless it is
// faster for them. What goes beside stripes had better not wait behind them.
void SubchannelSelector::keep_to_engines(std::span<SubchannelView> usable) const {
  if (packet_engines_ == nullptr) return;
  const int used = packet_engines_->used();
  bool some = false, stripes = false;
  for (const SubchannelView& view : usable) {
    some |= view.usable && view.engine < used;
    stripes |= view.usable && view.bytes_queued > 0;
  }
  if (!some || stripes) return;
  for (SubchannelView& view : usable) view.usable = view.usable && view.engine < used;
  if (used > 1) share_pace(usable);
}

// A packet goes that way.
void SubchannelSelector::note_packet(const Subchannel& subchannel) {
  const bool measures = measures_packets();
  const bool restless = context_.settings.restless_paths != 0;
  if (!measures && packet_wait(subchannel) < long_wait && !restless) return;
  const PacketLoad load = packet_load();
  if (!measures) {
    if ((!load.alone || load.under_way < many_bytes) && !restless) return;
    if (packet_engines_ == nullptr) {
      packet_engines_ =
          std::make_unique<PacketEngines>(context_.ways.engines, context_.settings.restless_paths, seed());
      look_at_engines();
    }
    packet_engines_->begin();
    for (const Subchannel& each : subchannels_)
      if (each.traffic.packet_bytes > 0) packet_engines_->on_chosen(each.place.pair, true);
  }
  packet_engines_->on_chosen(subchannel.place.pair, load.alone);
}

PacketLoad SubchannelSelector::packet_load() const {
  PacketLoad load;
  std::int64_t own = 0, all = 0;
  for (const Subchannel& each : subchannels_) {
    const SubchannelTraffic& traffic = each.traffic;
    load.under_way += traffic.packet_bytes;
    load.delivered += traffic.packet_flow.delivered();
    own += traffic.outstanding;
    load.alone = load.alone && traffic.bytes_queued == 0;
    if (each.place.path == 0 && each.place.engine == 0) all += each.rail.traffic.outstanding;
  }
  load.alone = load.alone && own == all;
  return load;
}

bool SubchannelSelector::on_packet_done(const Subchannel& subchannel, Nanoseconds not_before) {
  if (!packet_engines_->count_done(subchannel.traffic.packet_bytes == 0)) return false;
  PacketEngines::Done done{.load = packet_load(), .now = context_.now, .not_before = not_before};
  const std::uint64_t rails = packet_engines_->rails();
  for (const Subchannel& each : subchannels_)
    if (each.place.path == 0 && each.place.engine == 0 && (rails >> (each.place.pair & 63) & 1) != 0)
      done.ports += views_[each.index].nominal;
  const int before = packet_engines_->used();
  if (!packet_engines_->on_done(done, subchannels_.front().rail.traffic.packet_engines)) return false;
  if (packet_engines_->used() > before) begin_engines();
  choice_.subchannel = nullptr;
  if (spreads_.empty()) make_spreads();
  look_for_wanted();
  return wants_more_;
}

// How many are open on all rails that work.
void SubchannelSelector::look_at_engines() {
  if (packet_engines_ == nullptr) return;
  std::uint64_t rails = 0;
  std::array<std::uint64_t, most_engines> open = {};  // by engine, a bit for each rail
  for (const Subchannel& each : subchannels_) {
    if (each.place.path != 0 || !each.in_service()) continue;
    const std::uint64_t rail = std::uint64_t{1} << (each.place.pair & 63);
    open[each.place.engine] |= rail;
    if (each.place.engine == 0) rails |= rail;
  }
  int engines = 1;
  while (engines < most_engines && rails != 0 && (open[static_cast<std::size_t>(engines)] & rails) == rails)
    ++engines;
  const int before = packet_engines_->used();
  packet_engines_->on_open(engines);
  if (packet_engines_->used() > before) begin_engines();
}

// One that had to find out what the first engine of its path knows would be waited for.
void SubchannelSelector::begin_engines() {
  for (Subchannel& each : subchannels_) {
    if (each.place.engine == 0 || each.place.engine >= packet_engines_->used()) continue;
    if (const Subchannel& first = first_engine_of(each); &first != &each)
      each.traffic.packet_flow.begin_as(first.traffic.packet_flow);
  }
}

}  // namespace hawser
