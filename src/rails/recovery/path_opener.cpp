#include "rails/recovery/path_opener.h"

#include <algorithm>

#include "rails/recovery/connection_cap.h"

namespace hawser {
namespace {

// Peers at a time: handshakes take the time of messages.
constexpr std::size_t most_at_a_time = 4;
constexpr Nanoseconds look_pause = 100 * microsecond;
// After one came to nothing.
constexpr Nanoseconds rest_after_refusal = 10 * millisecond;

Subchannel* obtain(VirtualChannel& peer, const SubchannelSelector::Wanted& wanted) {
  for (std::uint16_t i = 0;; ++i) {
    Subchannel* const subchannel = peer.obtain(i);
    if (subchannel == nullptr) return nullptr;
    const SubchannelPlace& place = subchannel->place;
    if (place.pair == wanted.pair && place.path == wanted.path && place.engine == wanted.engine)
      return subchannel;
  }
}

bool on_the_way(SubchannelState state) {
  return state == SubchannelState::connecting || state == SubchannelState::accepted ||
         state == SubchannelState::probing;
}

}  // namespace

void PathOpener::want(VirtualChannel& peer) {
  if (context_.now < rests_until_ || openings_.size() == most_at_a_time ||
      std::ranges::any_of(openings_, [&](const Opening& each) { return each.peer == &peer; }))
    return;
  openings_.push_back({&peer});
  due_ = context_.now;
  timers_.run_soon();
}

void PathOpener::progress() {
  if (context_.now < due_) return;
  std::erase_if(openings_, [this](Opening& each) { return over(each); });
  due_ = openings_.empty() ? never : context_.now + look_pause;
}

bool PathOpener::over(Opening& opening) {
  VirtualChannel& peer = *opening.peer;
  for (;;) {
    if (peer.lost()) return true;
    if (opening.subchannel != nullptr) {
      if (on_the_way(opening.subchannel->machine().state())) return false;
      if (!opening.subchannel->in_service()) {
        // What never worked is not tried again by itself.
        neighbours_.machines.on(*opening.subchannel, {.kind = SubchannelEvent::Kind::close});
        return refuse(peer);
      }
    }
    const auto wanted = peer.paths().wanted();
    if (!wanted.has_value() || peer.paths().ready() == 0) return true;
    Subchannel* const subchannel = obtain(peer, *wanted);
    if (subchannel == nullptr) return refuse(peer);
    opening.subchannel = subchannel;
    if (on_the_way(subchannel->machine().state())) return false;  // the peer asked for it
    if (!subchannel->machine().rests() || !subchannel->rail.up() || !neighbours_.cap.has_spare())
      return refuse(peer);
    neighbours_.machines.on(*subchannel, {.kind = SubchannelEvent::Kind::want});
  }
}

bool PathOpener::refuse(VirtualChannel& peer) {
  ++context_.counters.demands_refused;
  peer.paths().on_refused();
  rests_until_ = context_.now + rest_after_refusal;
  return true;
}

bool PathOpener::admits(Subchannel& subchannel, std::uint32_t connection_generation) {
  if (!subchannel.place.on_demand || neighbours_.cap.has_spare()) return true;
  const CloseRequestBody body{subchannel.index, 0, connection_generation};
  neighbours_.control.send_control(subchannel.peer.process(), subchannel.rail.number(),
                                   DatagramKind::path_refused, std::as_bytes(std::span(&body, 1)));
  return false;
}

void PathOpener::on_refused(VirtualChannel& peer, std::span<const std::byte> bytes) {
  CloseRequestBody body;
  if (!read_body(bytes, 0, body))
    return context_.report_short(peer.process(), "a refused path", bytes.size());
  Subchannel* const subchannel = peer.subchannel(body.subchannel);
  if (subchannel == nullptr || !subchannel->place.on_demand ||
      subchannel->machine().state() != SubchannelState::connecting ||
      subchannel->connection_generation() != body.connection_generation) {
    ++context_.counters.dropped_stale;
    return;
  }
  neighbours_.machines.on(*subchannel, {.kind = SubchannelEvent::Kind::close});
  if (due_ == never) return;
  due_ = context_.now;
  timers_.run_soon();
}

}  // namespace hawser
