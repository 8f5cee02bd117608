// StripeEngine: what differs for puts and gets: keys that may be of an earlier life of an adapter, both
// directions on one connection, and light transfers.
#include <algorithm>
#include <cmath>

#include "base/planted_bug.h"
#include "rails/datapath/stripe_engine.h"

namespace hawser {
namespace {

// Both directions of a link are to be busy (V07 chapter 5). On a connection a get's request waits behind the
// puts that were posted before it, and a put is acknowledged behind the answers to the gets before it. So
// while both are under way, there are as many bytes of the one as of the other, or what the link moves in
// this time, or so many. Less would leave a fast link idle until it is heard of what was done; with more, the
// first gets of many operations begin late, and the last ones go one way alone.
constexpr std::int64_t puts_beside_gets = 65536, gets_beside_puts = 196608, shortest_beside = 16384;
constexpr double seconds_of_puts = 50e-6, seconds_of_gets = 250e-6;
// A light transfer does not take a path on which what is queued takes so much longer than on another one.
constexpr double seconds_worth_changing = 20e-6;

}  // namespace

// Puts and gets come mixed, and load opposite directions. Of two-sided traffic a process posts one kind, and
// the peer, of whose requests nothing is known here, much the same.
Load StripeEngine::load_of(const StripedTransfer& transfer) {
  if (transfer.sides_ == Sides::two) return Load::both;
  return transfer.direction_ == Direction::write ? Load::written : Load::read;
}

// With keys for the adapter that the connection was made with.
bool StripeEngine::has_keys(const StripedTransfer& transfer, const Subchannel& subchannel) {
  const std::uint16_t rail = subchannel.remote_rail;
  if (planted(PlantedBug::dead_key) && transfer.sides_ == Sides::one) return transfer.remote_.keys[rail] != 0;
  return transfer.remote_.keys[rail] != 0 &&
         transfer.remote_.device_generations[rail] == subchannel.ends.remote_device_generation;
}

// Whether the adapter was opened again after those that it has. Those of a rendezvous come by themselves.
bool StripeEngine::lacks_keys(const StripedTransfer& transfer, const Subchannel& subchannel) {
  const int newer =
      subchannel.ends.remote_device_generation - transfer.remote_.device_generations[subchannel.remote_rail];
  return transfer.sides_ == Sides::one && subchannel.in_service() && static_cast<std::int8_t>(newer) > 0;
}

// What is read is asked for first, and what is put is waited for until that is heard of.
std::span<SubchannelView> StripeEngine::views_of(const StripedTransfer& transfer) {
  SubchannelSelector& paths = transfer.peer_->paths();
  const std::span<SubchannelView> views = paths.views(transfer.requests(), load_of(transfer));
  const bool both_ways = transfer.direction_ == Direction::read || transfer.sides_ == Sides::one;
  paths.add_distances(views, both_ways ? 2 : 1);
  return views;
}

// How many bytes may be posted now beside what is under way there: of a one-sided transfer beside those of
// the other direction; 0: none.
std::int64_t StripeEngine::room_beside(const StripedTransfer& transfer, const Subchannel& subchannel,
                                       std::int64_t wanted) {
  const QueuedBytes queued = subchannel.traffic.queued();
  if (!transfer.peer_->paths().admits(subchannel, queued.of(load_of(transfer)))) return 0;
  if (transfer.sides_ != Sides::one) return wanted;
  const std::int64_t written = queued.of(Load::written);
  const bool read = transfer.direction_ == Direction::read;
  const std::int64_t same_way = read ? queued.read : written, other_way = read ? written : queued.read;
  if (other_way == 0) return wanted;
  const auto rate = static_cast<double>(subchannel.place.bytes_per_second);
  const auto of_time = static_cast<std::int64_t>(rate * (read ? seconds_of_gets : seconds_of_puts));
  const std::int64_t room =
      std::max({other_way, of_time, read ? gets_beside_puts : puts_beside_gets}) - same_way;
  return room >= std::min(wanted, shortest_beside) ? std::min(wanted, room) : 0;
}

// It is one range. What waits of it again goes on when some path has room.
bool StripeEngine::post_light(StripedTransfer& transfer) {
  if (!transfer.rest_.empty()) {
    const ByteRange range = transfer.rest_.back();
    if (transfer.direction_ == Direction::read && read_tokens_ == 0) {
      ++context_.counters.read_tokens_waited;
      return false;
    }
    Subchannel* const subchannel = next_in_turn(transfer, range.size);
    if (subchannel == nullptr) return reached_by_adapters(transfer) ? false : give_up(transfer);
    if (!issue(transfer, range, *subchannel)) return false;
    context_.counters.bytes_of(transfer.traffic_) += static_cast<std::uint64_t>(range.size);
    transfer.rest_.pop_back();
  }
  list_of(transfer).remove(&transfer);
  return true;
}

// Among the paths that can carry it, that are about as fast as the fastest of them and on which it need not
// wait much longer than on another one; null: none has room.
Subchannel* StripeEngine::next_in_turn(StripedTransfer& transfer, std::int64_t bytes) {
  VirtualChannel& peer = *transfer.peer_;
  const std::span<const SubchannelView> views = peer.paths().views(1, load_of(transfer));
  double fastest = 0, shortest = INFINITY;
  bool lacks = false;
  const auto usable = [&](const SubchannelView& view, const Subchannel& subchannel) {
    return view.usable && has_keys(transfer, subchannel);
  };
  const auto wait = [](const SubchannelView& view) {
    return static_cast<double>(view.bytes_queued) / view.bytes_per_second;
  };
  for (const Subchannel& subchannel : peer.subchannels()) {
    const SubchannelView& view = views[subchannel.index];
    lacks |= lacks_keys(transfer, subchannel);
    if (!usable(view, subchannel)) continue;
    fastest = std::max(fastest, view.bytes_per_second);
    shortest = std::min(shortest, wait(view));
  }
  if (lacks) [[unlikely]]
    transfer.owner_->on_keys_wanted(transfer);
  const auto fast = [&](const Subchannel& subchannel) {
    const SubchannelView& view = views[subchannel.index];
    return usable(view, subchannel) && view.bytes_per_second >= fastest / 2;
  };
  const auto admits = [bytes](Subchannel& subchannel) {
    return subchannel.traffic.packet_flow.admits(bytes, subchannel.traffic.packet_bytes);
  };
  const RailLatencies& latencies = peer.paths().latencies();
  if (!latencies.differ()) [[likely]]
    return peer.paths().next_in_turn(transfer.direction_, [&](Subchannel& subchannel) {
      return fast(subchannel) && wait(views[subchannel.index]) <= shortest + seconds_worth_changing &&
             admits(subchannel);
    });
  // It is waited for until its answer is there, which stands behind what is under way. It may be earlier over
  // a near rail that has no room yet.
  Subchannel* earliest = nullptr;
  double earliest_done = INFINITY;
  for (Subchannel& subchannel : peer.subchannels()) {
    if (!fast(subchannel)) continue;
    const SubchannelView& view = views[subchannel.index];
    const auto ahead = static_cast<double>(view.bytes_queued + subchannel.rail.traffic.packet_bytes);
    const double done = 2 * static_cast<double>(latencies.farther(view.rail)) +
                        ahead / view.bytes_per_second * static_cast<double>(second);
    if (done >= earliest_done) continue;
    earliest = &subchannel;
    earliest_done = done;
  }
  return earliest != nullptr && admits(*earliest) ? earliest : nullptr;
}

}  // namespace hawser
