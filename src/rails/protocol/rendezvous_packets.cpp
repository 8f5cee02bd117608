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
void Rendezvous::lay_out(RendezvousTransfer& transfer) {
  transfer.local().lay_out(transfer.copied() ? nullptr : transfer.bytes.data, transfer.size);
}

// The end that cannot read asks the other one to send, from the beginning.
void Rendezvous::ask_for_packets(Fetch& fetch) {
  stripes_.withdraw(fetch);
  fetch.reset_moved();
  fetch.in_packets = true;
  fetch.readable = fetch.checked = false;  // packets have checksums of their own
  fetch.size = fetch.bytes.size;
  fetch.local().clear();
  fetch.state = RendezvousTransfer::State::answering;
  to_answer_.push_back(&fetch);
}

// What of the rest there is room for.
bool Rendezvous::send_packets(Exposure& exposure) {
  if (!exposure.local().made()) {
    lay_out(exposure);
    if (!exposure.bytes.contiguous())
      exposure.bytes.packer->pack(0, exposure.local().address(), exposure.size);
  }
  VirtualChannel& peer = exposure.peer();
  const auto most = static_cast<std::int64_t>(resources_.packet_bytes() - context_.trailer() -
                                              sizeof(PacketHeader) - sizeof(DataBody));
  bool moved = false;
  std::vector<ByteRange>& rest = exposure.rest();
  while (!rest.empty() && peer.window().under_way() < most_under_way) {
    ByteRange& range = rest.back();
    const std::int64_t size = std::min(range.size, most);
    const DataBody body{exposure.other, range.offset};
    const ByteSequence bytes{exposure.local().address() + range.offset, size, nullptr};
    if (!peer.send(PacketKind::data, exposure.traffic(), std::as_bytes(std::span(&body, 1)), bytes)) break;
    moved = true;
    ++context_.counters.packets_for_stripes;
    exposure.note_moved(size);
    range.offset += size;
    range.size -= size;
    if (range.size == 0) rest.pop_back();
  }
  if (rest.empty()) in_packets_.remove(&exposure);
  return moved;
}

void Rendezvous::on_data(VirtualChannel& peer, std::span<const std::byte> packet) {
  DataBody body;
  constexpr std::size_t skip = sizeof(PacketHeader) + sizeof(body);
  if (!read_body(packet, sizeof(PacketHeader), body))
    return context_.report_short(peer.process(), "a rendezvous data packet", packet.size());
  const ByteRange range{body.offset, static_cast<std::int64_t>(packet.size() - skip)};
  Fetch* const fetch = written_fetch(peer, body.fetch, range);
  if (fetch == nullptr) return;
  std::memcpy(fetch->local().address() + range.offset, packet.data() + skip,
              static_cast<std::size_t>(range.size));
  arrived(*fetch, range);
}

}  // namespace hawser
