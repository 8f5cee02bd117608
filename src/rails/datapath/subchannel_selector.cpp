#include "rails/datapath/subchannel_selector.h"

#include <algorithm>
#include <bit>
#include <utility>

#include "base/assert.h"

namespace hawser {
namespace {

Load load_of(const WorkEntry& stripe) {
  return stripe.kind == WorkEntry::Kind::read ? Load::read : Load::written;
}

}  // namespace

SubchannelSelector::SubchannelSelector(const RailContext& context, ProcessIndex peer,
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
  at_once_ += !place.on_demand;
  several_ = policy_->prefers() && (several_ || place.paths * context_.ways.engines > 1);
  restless_ = several_;
}

void SubchannelSelector::on_ready(const Subchannel& subchannel) {
  ++ready_;
  choice_.subchannel = nullptr;
  if (!subchannel.place.on_demand || spreads_.empty()) return;
  spread_of(subchannel).on_open(subchannel.place.path, subchannel.place.engine);
  look_for_wanted();
}

void SubchannelSelector::on_not_ready(const Subchannel& subchannel) {
  --ready_;
  choice_.subchannel = nullptr;
  if (!subchannel.place.on_demand || spreads_.empty()) return;
  spread_of(subchannel).on_closed(subchannel.place.path, subchannel.place.engine);
}

void SubchannelSelector::make_spreads() {
  // Peers and processes draw unlike numbers, the same ones in each run.
  const auto self = static_cast<std::uint64_t>(context_.settings.self);
  const auto seed = (self << 32 | static_cast<std::uint64_t>(peer_)) * 64;
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
    spreads_.emplace_back(place.paths, ways.engines, views_[subchannel.index].nominal, seed + place.pair,
                          open, context_.settings.restless_paths);
  }
  for (const Subchannel& subchannel : subchannels_)
    if (subchannel.place.on_demand && subchannel.in_service())
      spreads_[subchannel.place.pair].on_open(subchannel.place.path, subchannel.place.engine);
}

void SubchannelSelector::on_stripe_done(const Subchannel& subchannel, const WorkEntry& entry) {
  const PollTimes& polling = subchannel.rail.polling;
  weights_.on_stripe_done(subchannel.index, entry.size, entry.before.queued, entry.posted, context_.now,
                          polling.polled_before());
  if (!several()) return;
  // Who waits is there as soon as something is done, or as soon as it has a core.
  const Nanoseconds not_before = context_.waited ? context_.now : polling.polled_before();
  RailTraffic& traffic = subchannel.rail.traffic;
  PathSpread& spread = spread_of(subchannel);
  spread.on_done({entry.size, entry.before.spread, traffic.bytes_queued, not_before, context_.now,
                  subchannel.place.engine},
                 traffic.spread);
  restless_ = spread.restless();
  look_for_wanted();
}

void SubchannelSelector::look_for_wanted() {
  wants_more_ = false;
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
  for (Subchannel& subchannel : subchannels_) {
    SubchannelView& view = views_[subchannel.index];
    view.usable = subchannel.in_service() && subchannel.room_for(requests, depth_) &&
                  !(avoids && subchannel.machine().suspected());
    view.packets_on_it = subchannel.traffic.packet_bytes;
    if (!view.usable) continue;
    view.preferred = prefers(subchannel);
    view.bytes_per_second = weights_.weight(subchannel.index);
    const WorkEntry* const oldest = subchannel.traffic.in_flight.front();
    view.bytes_queued = subchannel.rail.traffic.queued().of(load);
    view.bytes_on_it = subchannel.traffic.queued().of(load);
    view.packet_rate = static_cast<double>(second) /
                       static_cast<double>(subchannel.traffic.packet_flow.ns_per_byte(context_.now));
    view.packet_wait = std::max<Nanoseconds>(packet_wait(subchannel), 0);
    if (oldest != nullptr && !counts_as_packet(*oldest) && !subchannel.rail.polling.may_have_backlog()) {
      const Nanoseconds polled = subchannel.rail.polling.polled();
      view.bytes_per_second = weights_.weight(subchannel.index, oldest->size, oldest->posted, polled);
      if (load == Load::both || load == load_of(*oldest)) {
        const std::int64_t moved = weights_.moved(subchannel.index, oldest->size, oldest->posted, polled);
        view.bytes_queued -= moved;
        view.bytes_on_it -= moved;
      }
    }
    view.probe = weights_.wants_probe(subchannel.index, context_.now);
    view.requests_queued = subchannel.traffic.outstanding;
  }
  return views_;
}

Subchannel* SubchannelSelector::choose_anew(std::int64_t bytes, TrafficClass traffic) {
  choice_.subchannel = nullptr;
  if (ready_ == 0) return nullptr;
  const auto usable = views(1);
  const auto count =
      std::count_if(usable.begin(), usable.end(), [](const SubchannelView& view) { return view.usable; });
  if (count == 0) return nullptr;
  const int chosen = policy_->choose(bytes, traffic, usable);
  if (chosen < 0) return nullptr;
  Subchannel& subchannel = subchannels_[static_cast<std::size_t>(chosen)];
  // Others that have no room now would be the choice as soon as they have.
  if (count == ready_ - (suspected_ < ready_ ? suspected_ : 0))
    choice_ = {&subchannel, policy_->hold(chosen, bytes, usable), weights_.changes(), traffic};
  --choice_.hold.packets;
  return &subchannel;
}

}  // namespace hawser
