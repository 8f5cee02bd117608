#include "rails/recovery/closer.h"

#include <algorithm>
#include <utility>

#include "base/planted_bug.h"

namespace hawser {

void Closer::close(VirtualChannel& peer) {
  for (Subchannel& subchannel : peer.subchannels())
    machines_.on(subchannel, {.kind = SubchannelEvent::Kind::close});
}

void Closer::note_flow(const Subchannel& subchannel, SubchannelEvent& event) {
  event.flushed = subchannel.flushed() || planted(PlantedBug::send_while_closing);
  event.own_received = subchannel.traffic.received;
  event.own_sent = subchannel.traffic.sent;
}

void Closer::send(Subchannel& subchannel, const SubchannelAction& action) {
  CloseBody body;
  body.subchannel = subchannel.index;
  body.parted = action.kind == SubchannelAction::Kind::send_parted;
  body.connection_generation = action.connection_generation;
  body.sent = action.sent;
  body.received = action.received;
  body.acknowledged = subchannel.peer.window().expected();
  body.rail = subchannel.rail.address();
  control_.send_control(subchannel, DatagramKind::close, std::as_bytes(std::span(&body, 1)), action.turn);
}

void Closer::on_message(VirtualChannel& peer, std::span<const std::byte> bytes) {
  CloseBody body;
  if (!read_body(bytes, 0, body))
    return context_.report_short(peer.process(), "a closing datagram", bytes.size());
  Subchannel* const subchannel = peer.subchannel(body.subchannel);
  if (subchannel == nullptr || !peer.acknowledge(body.acknowledged)) {
    ++context_.counters.dropped_stale;
    return;
  }
  peer.remote().learn(subchannel->remote_rail, body.rail);
  const bool last = subchannel->in_service() && peer.paths().ready() == 1;
  machines_.on(*subchannel, {.kind = body.parted != 0 ? SubchannelEvent::Kind::peer_parted
                                                      : SubchannelEvent::Kind::peer_closes,
                             .connection_generation = body.connection_generation,
                             .received = body.received,
                             .sent = body.sent});
  // The peer closes all; what had failed rests with them.
  if (last && peer.paths().ready() == 0) close(peer);
}

void Closer::park(Subchannel& subchannel, SubchannelState before) {
  if (subchannel.ends.receives_wanted > 0)
    subchannel.rail.remove_receives(std::exchange(subchannel.ends.receives_wanted, 0));
  if (before == SubchannelState::parting) {
    ++context_.counters.connections_closed;
    listener_.on_parked(subchannel.peer);
  }
  // The others may have been made again meanwhile, for something that is to be sent.
  const auto wakes = [](const Subchannel& each) { return each.connected() && !each.machine().closing(); };
  if (std::ranges::any_of(subchannel.peer.subchannels(), wakes)) control_.want(subchannel.peer);
}

}  // namespace hawser
