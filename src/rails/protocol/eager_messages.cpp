#include "rails/protocol/eager_messages.h"

#include "rails/wire/bundle.h"

namespace hawser {

EagerMessages::EagerMessages(RailContext& context, const RailResources& resources, Upward& upward)
    : context_(context),
      resources_(resources),
      around_(static_cast<std::int64_t>(bytes_around_message(context.knobs))) {
  upward.handle({PacketKind::eager, PacketKind::urgent, PacketKind::bundle}, *this);
}

void EagerMessages::on_packet(const ReceivedPacket& packet) {
  if (packet.kind == PacketKind::bundle) return on_bundle(packet);
  TransportHeader message;
  if (!read_body(packet.bytes, sizeof(PacketHeader), message)) [[unlikely]]
    return context_.report_malformed(packet.peer.process(), "a packet with no header");
  const std::span<const std::byte> payload =
      packet.bytes.subspan(sizeof(PacketHeader) + sizeof(TransportHeader));
  const auto size = static_cast<std::int64_t>(payload.size());
  context_.events->on_packet(packet.peer.process(), message, payload.data(), size);
}

void EagerMessages::on_bundle(const ReceivedPacket& packet) {
  const ProcessIndex source = packet.peer.process();
  const auto take = [&](const TransportHeader& message, std::span<const std::byte> payload) {
    context_.events->on_packet(source, message, payload.data(), static_cast<std::int64_t>(payload.size()));
  };
  if (!for_each_bundled(packet.bytes.subspan(sizeof(PacketHeader)), take)) [[unlikely]]
    context_.report_malformed(source, "a bundle that ends within a message");
}

}  // namespace hawser
