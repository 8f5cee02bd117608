// Rendezvous without the adapters: where the system lets too little memory be registered (RLIMIT_MEMLOCK), at
// either end, the bytes go in sequenced packets, which are registered from the start. The end that is to
// receive says so by a reply without keys.
#include <algorithm>
#include <cstring>

#include "rails/protocol/rendezvous.h"

namespace hawser {
namespace {

// Of the window; the rest is for messages that come meanwhile.
constexpr std::uint32_t most_under_way = packet_window * 3 / 4;

}  // namespace

// Where the bytes lie for packets: in their place, or if they are not in one piece in a buffer of their own.
void Rendezvous::lay_out(Transfer& transfer) {
  Registration& registration = transfer.registration;
  registration.clear();
  registration.refused = true;
  registration.address = transfer.bytes.data;
  if (!transfer.copied()) return;
  registration.packed.reset(new std::byte[static_cast<std::size_t>(transfer.size)]);
  registration.address = registration.packed.get();
}

// Whether some connection that is ready has its keys at both ends, or will have new ones.
bool Rendezvous::reached_by_adapters(const Transfer& transfer) const {
  bool any_ready = false;
  for (const Subchannel& subchannel : transfer.peer->subchannels()) {
    if (!subchannel.in_service()) continue;
    any_ready = true;
    if (transfer.registration.usable(subchannel.rail.device_number()) &&
        transfer.remote.keys[subchannel.remote_rail] != 0)
      return true;
  }
  return !any_ready;
}

// Of a transfer that waits to be posted.
bool Rendezvous::move_in_packets(Transfer& transfer, Direction direction) {
  if (direction == Direction::read) {
    if (transfer.in_flight > 0) return false;  // what is being read must not land later
    ask_for_packets(transfer);
    return true;
  }
  const bool moved = send_packets(transfer);
  if (transfer.remaining.empty()) to_write_.remove(&transfer);
  return moved;
}

// The end that cannot read asks the other one to send, from the beginning.
void Rendezvous::ask_for_packets(Transfer& fetch) {
  to_read_.remove(&fetch);
  fetch.remaining.clear();
  fetch.readable = fetch.checked = false;  // packets have checksums of their own
  fetch.done = 0;
  fetch.size = fetch.bytes.size;
  fetch.registration.clear();
  fetch.state = Transfer::State::answering;
  to_answer_.push_back(&fetch);
}

bool Rendezvous::send_packets(Transfer& exposure) {
  if (!exposure.registration.made()) {
    lay_out(exposure);
    if (!exposure.bytes.contiguous())
      exposure.bytes.packer->pack(0, exposure.registration.address, exposure.size);
  }
  VirtualChannel& peer = *exposure.peer;
  const auto most = static_cast<std::int64_t>(resources_.packets.buffer_bytes() - context_.trailer() -
                                              sizeof(PacketHeader) - sizeof(DataBody));
  bool moved = false;
  while (!exposure.remaining.empty() && peer.under_way() < most_under_way) {
    ByteRange& range = exposure.remaining.back();
    const std::int64_t size = std::min(range.size, most);
    const DataBody body{exposure.other, range.offset};
    const ByteSequence bytes{exposure.registration.address + range.offset, size, nullptr};
    if (!peer.send(PacketKind::data, exposure.traffic, std::as_bytes(std::span(&body, 1)), bytes)) break;
    moved = true;
    ++context_.counters.packets_for_stripes;
    exposure.done += size;
    range.offset += size;
    range.size -= size;
    if (range.size == 0) exposure.remaining.pop_back();
  }
  return moved;
}

void Rendezvous::on_data(VirtualChannel& peer, std::span<const std::byte> packet) {
  DataBody body;
  constexpr std::size_t skip = sizeof(PacketHeader) + sizeof(body);
  if (!read_body(packet, sizeof(PacketHeader), body))
    return context_.report_short(peer.process(), "a rendezvous data packet", packet.size());
  const ByteRange range{body.offset, static_cast<std::int64_t>(packet.size() - skip)};
  Transfer* const fetch = written_fetch(peer, body.fetch, range);
  if (fetch == nullptr) return;
  std::memcpy(fetch->registration.address + range.offset, packet.data() + skip,
              static_cast<std::size_t>(range.size));
  arrived(*fetch, range);
}

}  // namespace hawser
