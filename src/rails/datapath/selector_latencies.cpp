// SubchannelSelector: what it knows of how far rails are, and what that changes.
#include <algorithm>

#include "rails/datapath/subchannel_selector.h"

namespace hawser {
namespace {

// So many packets follow others over a farther rail before it is looked at again whether a nearer one is
// idle.
constexpr std::int32_t longest_hold_far = 16;
// Longer packets do not tell how far a rail is.
constexpr std::int64_t shortest_packets = 256;
constexpr Nanoseconds links_of_way = 2;

}  // namespace

bool SubchannelSelector::lacks_latency(const Subchannel& subchannel) const {
  const RailTraffic& rail = subchannel.rail.traffic;
  return stands_for_rail(subchannel) && subchannel.in_service() && latencies_.lacks(subchannel.place.pair) &&
         rail.timed == RailTraffic::none_timed && nearly_idle(rail, context_.now);
}

// What waits on a near rail may be there earlier over a farther one. Where other processes of the node use
// the rails, too, and none sees what the others send, a message takes the nearest rail only if it would be
// there earlier even behind one of each of them.
void SubchannelSelector::look_at_latencies(std::int64_t bytes, std::span<SubchannelView> usable) const {
  if (!latencies_.differ()) return;
  const std::int64_t others = std::max(context_.settings.processes_here - 1, 0);
  const auto behind = static_cast<double>(others * bytes) * static_cast<double>(second);
  for (SubchannelView& view : usable) {
    const Nanoseconds farther = latencies_.farther(view.rail);
    if (static_cast<double>(farther) * view.nominal > behind) view.latency += farther;
  }
  if (!waits_for_receiver(bytes)) return;
  const auto near = [this](const SubchannelView& view) {
    return view.usable && view.bytes_queued == 0 && latencies_.farther(view.rail) == 0;
  };
  if (std::none_of(usable.begin(), usable.end(), near)) return;
  for (SubchannelView& view : usable) view.usable = view.usable && latencies_.farther(view.rail) == 0;
}

// Packets that each move in less time than the receiver takes for one are not there earlier over two rails.
bool SubchannelSelector::waits_for_receiver(std::int64_t bytes) const {
  const double ns_per_byte = static_cast<double>(second) / views_.front().nominal;
  return static_cast<double>(bytes) * ns_per_byte < static_cast<double>(time_of_completion);
}

std::int32_t SubchannelSelector::outstanding_of_all() const {
  std::int32_t outstanding = 0;
  for (const Subchannel& each : subchannels_) outstanding += each.traffic.outstanding;
  return outstanding;
}

void SubchannelSelector::add_distances(std::span<SubchannelView> usable, int ways) const {
  if (latencies_.differ()) [[unlikely]]
    for (SubchannelView& view : usable) view.latency += ways * latencies_.farther(view.rail);
}

// A packet that waits longer than another rail is farther goes there.
void SubchannelSelector::limit_hold(const Subchannel& chosen, std::int64_t bytes) {
  if (!latencies_.differ()) return;
  if (latencies_.farther(chosen.place.pair) > 0)
    choice_.hold.packets = std::min(choice_.hold.packets, longest_hold_far);
  else if (context_.settings.processes_here > 1)
    choice_.hold.most_bytes = std::min(choice_.hold.most_bytes, bytes);
  if (waits_for_receiver(bytes))
    choice_.hold.most_bytes = std::min(choice_.hold.most_bytes, bytes);
  else
    choice_.hold.most_wait = std::min(choice_.hold.most_wait, latencies_.least_detour());
}

// Peers that are sent no small packets, or few that others delayed: what goes to others of the port says
// roughly how far they are, until packets that carry nothing have told it.
PeerTimes SubchannelSelector::times_beside(const Subchannel& subchannel) const {
  PeerTimes peer;
  for (const Subchannel& each : subchannels_) {
    const PacketTimes& times = packet_times_[each.index];
    peer.add_latency(times.latency(), times.knows_latency());
    if (stands_for_rail(each) && each.in_service()) peer.add_rate(times.rate(views_[each.index].nominal));
  }
  const Nanoseconds round_trip = latencies_.least_round_trip();
  peer.add_latency(round_trip, round_trip > 0);
  for (const Subchannel& each : subchannels_) peer.limit_latency(each.rail.traffic.latency.least());
  if (latencies_.differ()) peer.lengthen(2 * latencies_.farther(subchannel.place.pair));
  return peer;
}

// From which size on its packets are timed.
void SubchannelSelector::choose_timed(Subchannel& subchannel) {
  subchannel.traffic.timed_from = times_only_rail(subchannel) ? 0
                                  : rails_ || paths_          ? times_of(subchannel).timed_from()
                                                              : UINT32_MAX;
}

// The small packets of long messages do, too: where there are no others, no rail may ever be idle for long.
// All small ones tell of a rail alone.
bool SubchannelSelector::tells_latency(const Subchannel& subchannel, const WorkEntry& entry) const {
  if (!stands_for_rail(subchannel) || !subchannel.rail.traffic.when_timed.alone) return false;
  if (times_latency(entry)) return true;
  return entry.bytes <= shortest_packets && latencies_.rails() > 0 &&
         latencies_.lacks(subchannel.place.pair) &&
         (latencies_.rails() == 1 || belongs_to_long(entry.packet_kind));
}

void SubchannelSelector::note_latency(const Subchannel& subchannel, const WorkEntry& entry,
                                      Nanoseconds least) {
  const std::size_t rail = subchannel.place.pair;
  const RailTraffic& traffic = subchannel.rail.traffic;
  const auto moving = [&traffic](std::int64_t bytes) {
    return links_of_way * static_cast<Nanoseconds>(static_cast<double>(bytes) * traffic.ns_per_byte);
  };
  const Nanoseconds longer = moving(entry.bytes - static_cast<std::int64_t>(sizeof(PacketHeader)));
  const Nanoseconds most = std::max<Nanoseconds>(context_.now - entry.posted - longer, 1);
  // Its answer may have waited behind what came, on each link of the way, or behind the answers to small
  // gets.
  const Nanoseconds delayed =
      moving(traffic.packets.arrived - traffic.when_timed.arrived + traffic.when_timed.packet_bytes);
  const bool differed = latencies_.differ();
  if (!latencies_.on_done(rail, least - longer, most, delayed)) return;
  if (differed || latencies_.differ()) choice_.subchannel = nullptr;
  ++context_.counters.rails_timed;
  context_.status.set_round_trip(subchannel.status_row, latencies_.round_trip(rail));
}

}  // namespace hawser
