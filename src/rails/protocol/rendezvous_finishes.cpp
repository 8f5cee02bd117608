// Rendezvous by read, without the receiver's software at its end: behind the reads of a transfer go finishes
// that leave when the bytes are there (StripeEngine), and the sender is done when they make up all bytes.
//
// A finish belongs to its connection, and may be lost with it, also when the receiver's adapter knows nothing
// of that. Therefore, after a failure, the sender asks about everything that the peer may read: who has a
// fetch of it sends a done at its end, and who has none any more sends it at once. What the sender counted
// was read: the receiver does not read it again (Failover), for its owner may use it already.
#include "base/failure.h"
#include "rails/protocol/rendezvous.h"

namespace hawser {

bool Rendezvous::takes_finishes(const Fetch& fetch) const {
  return finishes_ && fetch.takes_finishes && !fetch.checked && fetch.size == fetch.offered;
}

void Rendezvous::on_read_finish(VirtualChannel& peer, std::span<const std::byte> packet) {
  ReadFinishBody body;
  if (!read_body(packet, sizeof(PacketHeader), body))
    return context_.report_short(peer.process(), "a read finish", packet.size());
  Exposure* const exposure = exposures_.find(body.exposed, peer);
  if (exposure == nullptr || exposure->state != RendezvousTransfer::State::offered) {
    ++context_.counters.dropped_stale;
    return;
  }
  if (!exposure->readable || body.size < 1 || body.size > exposure->size - exposure->read)
    return context_.report_malformed(
        peer.process(),
        fmt::format("a read finish of {} bytes, of a message of {} bytes of which {} were read", body.size,
                    exposure->size, exposure->read));
  exposure->read += body.size;
  if (exposure->read == exposure->size) end_exposure(*exposure);
}

void Rendezvous::ask_for_ends(VirtualChannel& peer) {
  if (!finishes_) return;
  exposures_.visit([&](Exposure& exposure) {
    if (&exposure.peer() == &peer && exposure.readable && exposure.size > 0 &&
        exposure.state == RendezvousTransfer::State::offered)
      untold_.push_back({true, exposure.name, true});
  });
}

void Rendezvous::on_asked(VirtualChannel& peer, const TransferName& exposed) {
  bool found = false;
  fetches_.visit([&](Fetch& fetch) {
    if (&fetch.peer() != &peer || !(fetch.other == exposed)) return;
    found = true;
    stripes_.forget_finishes(fetch);
    fetch.takes_finishes = false;
  });
  if (!found) ends_.push_back({&peer, exposed});
}

bool Rendezvous::tell_ends() {
  bool any = false;
  for (std::size_t count = ends_.size(); count > 0; --count) {
    const End end = ends_.front();
    ends_.pop_front();
    const DoneBody body{end.exposed};
    if (end.peer->room() &&
        end.peer->send(PacketKind::done, TrafficClass::nonblocking, std::as_bytes(std::span(&body, 1)), {}))
      any = true;
    else
      ends_.push_back(end);
  }
  return any;
}

}  // namespace hawser
