// Rendezvous when an adapter dies and is opened again: memory of transfers under way is registered anew, and
// peers are told the keys of what was announced to them.
#include "rails/protocol/rendezvous.h"

namespace hawser {

void Rendezvous::on_device_closed(std::size_t device) {
  exposures_.visit([&](Exposure& exposure) { exposure.local().forget_device(device); });
  fetches_.visit([&](Fetch& fetch) { fetch.local().forget_device(device); });
}

void Rendezvous::on_device_opened(std::size_t device) {
  const auto renewed = [&](RendezvousTransfer& transfer) {
    const Registration::Renewal renewal = transfer.local().renew_device(*resources_.devices[device], device);
    context_.counters.registrations_refused += renewal == Registration::Renewal::refused;
    return renewal == Registration::Renewal::done;
  };
  exposures_.visit([&](Exposure& exposure) {
    if (renewed(exposure) && exposure.readable) untold_.push_back({true, exposure.name});
  });
  fetches_.visit([&](Fetch& fetch) {
    if (renewed(fetch) && !fetch.readable && fetch.state == RendezvousTransfer::State::moving)
      untold_.push_back({false, fetch.name});
  });
}

// As far as there is room; true if any were told.
bool Rendezvous::tell_keys() {
  bool any = false;
  for (std::size_t count = untold_.size(); count > 0; --count) {
    const Untold untold = untold_.front();
    untold_.pop_front();
    if (tell_key(untold))
      any = true;
    else
      untold_.push_back(untold);
  }
  return any;
}

// True: told, or there is nothing to tell any more.
bool Rendezvous::tell_key(const Untold& untold) {
  RendezvousTransfer* const transfer = untold.exposed
                                           ? static_cast<RendezvousTransfer*>(exposures_.find(untold.name))
                                           : fetches_.find(untold.name);
  if (transfer == nullptr || (!transfer->local().made() && !untold.asks)) return true;
  KeysBody body;
  body.exposed = untold.exposed ? transfer->name : transfer->other;
  body.written = !untold.exposed;
  body.asks = untold.asks;
  body.bytes = resources_.reachable(transfer->local());
  VirtualChannel& peer = transfer->peer();
  return peer.room() &&
         peer.send(PacketKind::keys, transfer->traffic(), std::as_bytes(std::span(&body, 1)), {});
}

void Rendezvous::on_keys(VirtualChannel& peer, std::span<const std::byte> packet) {
  KeysBody body;
  if (!read_body(packet, sizeof(PacketHeader), body))
    return context_.report_short(peer.process(), "a key update", packet.size());
  if (body.written != 0) {
    Exposure* const exposure = exposures_.find(body.exposed, peer);
    if (exposure != nullptr && !exposure->readable) exposure->set_remote(body.bytes);
    return;
  }
  if (body.asks != 0) return on_asked(peer, body.exposed);
  // The exposed bytes have their owner's name only.
  fetches_.visit([&](Fetch& fetch) {
    if (&fetch.peer() == &peer && fetch.readable && fetch.other == body.exposed) fetch.set_remote(body.bytes);
  });
}

}  // namespace hawser
