#include "rails/protocol/eager_messages.h"

namespace hawser {

EagerMessages::EagerMessages(RailContext& context, const RailResources& resources, Upward& upward)
    : context_(context),
      limit_(static_cast<std::int64_t>(resources.packets.buffer_bytes() - sizeof(PacketHeader) -
                                       sizeof(TransportHeader) - context.trailer())) {
  upward.handle({PacketKind::eager, PacketKind::urgent}, *this);
}

void EagerMessages::on_packet(const ReceivedPacket& packet) {
  TransportHeader message;
  if (!read_body(packet.bytes, sizeof(PacketHeader), message)) [[unlikely]]
    return context_.report_malformed(packet.peer.process(), "a packet with no header");
  const std::span<const std::byte> payload =
      packet.bytes.subspan(sizeof(PacketHeader) + sizeof(TransportHeader));
  const auto size = static_cast<std::int64_t>(payload.size());
  context_.events->on_packet(packet.peer.process(), message, payload.data(), size);
}

}  // namespace hawser
