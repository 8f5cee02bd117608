// Unreliable datagrams at the receiver: silence where a connection would complain.
#include <cstring>

#include "fabric/adapter/adapter.h"
#include "fabric/adapter/responder.h"

namespace hawser::fabric {
namespace {

constexpr std::size_t grh_bytes = 40;  // every receive begins with room for the global route header

// The header as it is on the wire; programs read the source GID from it.
std::array<std::byte, grh_bytes> make_grh(const Packet& packet) {
  std::array<std::byte, grh_bytes> grh{};
  const std::uint32_t first =
      (6u << 28) | (static_cast<std::uint32_t>(packet.traffic_class) << 20) | (packet.flow_label & 0xfffff);
  const auto put = [&](std::size_t at, std::uint32_t value, int bytes) {
    for (int i = 0; i < bytes; ++i)
      grh[at + static_cast<std::size_t>(i)] = static_cast<std::byte>(value >> (8 * (bytes - 1 - i)));
  };
  put(0, first, 4);
  constexpr std::uint32_t transport_headers = 24;  // BTH, DETH, ICRC
  put(4, static_cast<std::uint32_t>(packet.length) + transport_headers, 2);
  put(6, 0x1b, 1);
  put(7, packet.hop_limit, 1);
  std::memcpy(grh.data() + 8, packet.source_gid.data(), packet.source_gid.size());
  std::memcpy(grh.data() + 24, packet.destination_gid.data(), packet.destination_gid.size());
  return grh;
}

}  // namespace

void Responder::receive_datagram(Packet& packet) {
  if (packet.qkey != queue_pair_.attributes().qkey) return;
  find_target(packet);
  if (!take_receive()) return;  // nobody waits for it: gone
  if (grh_bytes + packet.length > total_length(current_.segments)) {
    receive_failure_ = CompletionStatus::local_length_error;
    queue_pair_.enter_error(CompletionStatus::flush_error);
    return;
  }
  place_datagram(packet);
}

void Responder::place_datagram(const Packet& packet) {
  Adapter& adapter = queue_pair_.adapter();
  const ProtectionDomain* domain = shared_ != nullptr ? &shared_->domain : queue_pair_.configuration().domain;
  const SpaceId space = queue_pair_.context().space();
  std::vector<Piece> pieces;
  bool placed =
      gather_pieces(adapter.memory(), domain, current_.segments, 0, grh_bytes, access_local_write, pieces);
  if (placed && packet.has_grh)
    placed = adapter.services().dma.write(space, pieces, make_grh(packet).data()) == DmaResult::done;
  if (placed && packet.length > 0) placed = place_in_receive(packet, grh_bytes, 0) == DmaResult::done;
  if (!placed) {
    receive_failure_ = CompletionStatus::local_protection_error;
    queue_pair_.enter_error(CompletionStatus::flush_error);
    return;
  }
  complete_receive(packet, CompletionStatus::success, grh_bytes + packet.length);
}

}  // namespace hawser::fabric
