#include "rails/datapath/subchannel_selector.h"

#include <algorithm>
#include <utility>

namespace hawser {
namespace {

std::vector<std::int64_t> nominal_rates(const std::deque<Subchannel>& subchannels) {
  std::vector<std::int64_t> rates;
  for (const Subchannel& subchannel : subchannels) rates.push_back(subchannel.place.bytes_per_second);
  return rates;
}

Load load_of(const WorkEntry& stripe) {
  return stripe.kind == WorkEntry::Kind::read ? Load::read : Load::written;
}

}  // namespace

SubchannelSelector::SubchannelSelector(const RailContext& context, ProcessIndex peer,
                                       std::deque<Subchannel>& subchannels,
                                       std::unique_ptr<SchedulingPolicy> policy)
    : context_(context),
      subchannels_(subchannels),
      policy_(std::move(policy)),
      weights_(nominal_rates(subchannels)),
      depth_(static_cast<std::int32_t>(context.knobs.rail_send_depth)) {
  for (const Subchannel& subchannel : subchannels) {
    SubchannelView& view = views_.emplace_back();
    view.rail = subchannel.place.pair;
    view.path = subchannel.place.path;
    view.engine = subchannel.place.engine;
    view.nominal = static_cast<double>(subchannel.place.bytes_per_second);
  }
  make_spreads(peer);
}

void SubchannelSelector::make_spreads(ProcessIndex peer) {
  int pairs = 0, paths = 1, engines = 1;
  for (const Subchannel& subchannel : subchannels_) {
    pairs = std::max(pairs, subchannel.place.pair + 1);
    paths = std::max(paths, subchannel.place.path + 1);
    engines = std::max(engines, subchannel.place.engine + 1);
  }
  if (paths * engines < 2 || !policy_->prefers()) return;
  // Peers and processes draw unlike numbers, the same ones in each run.
  const auto self = static_cast<std::uint64_t>(context_.settings.self);
  const auto seed = (self << 32 | static_cast<std::uint64_t>(peer)) * 64;
  for (int pair = 0; pair < pairs; ++pair) {
    const auto of_pair = [pair](const SubchannelView& view) { return view.rail == pair; };
    const auto first = std::find_if(views_.begin(), views_.end(), of_pair);
    spreads_.emplace_back(paths, engines, first->nominal, seed + static_cast<std::uint64_t>(pair));
  }
}

void SubchannelSelector::on_stripe_done(const Subchannel& subchannel, const WorkEntry& entry) {
  const PollTimes& polling = subchannel.rail.polling;
  weights_.on_stripe_done(subchannel.index, entry.size, entry.before.queued, entry.posted, context_.now,
                          polling.polled_before());
  if (!several()) return;
  // Who waits is there as soon as something is done, or as soon as it has a core.
  const Nanoseconds not_before = context_.waited ? context_.now : polling.polled_before();
  RailTraffic& traffic = subchannel.rail.traffic;
  spreads_[subchannel.place.pair].on_done(
      {entry.size, entry.before.spread, traffic.bytes_queued, not_before, context_.now}, traffic.spread);
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
    if (!view.usable) continue;
    view.preferred =
        !several() || spreads_[subchannel.place.pair].takes(subchannel.place.path, subchannel.place.engine);
    view.bytes_per_second = weights_.weight(subchannel.index);
    const WorkEntry* const oldest = subchannel.traffic.in_flight.front();
    view.bytes_queued = subchannel.rail.traffic.queued().of(load);
    view.bytes_on_it = subchannel.traffic.queued().of(load);
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
