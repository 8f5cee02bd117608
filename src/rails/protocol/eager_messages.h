// EagerMessages: small messages, which go as packets with all their bytes.
#pragma once

#include "channel/transport.h"
#include "rails/datapath/rail_context.h"
#include "rails/datapath/rail_resources.h"
#include "rails/datapath/upward.h"
#include "rails/datapath/virtual_channel.h"

namespace hawser {

class EagerMessages final : private PacketHandler {
 public:
  EagerMessages(RailContext& context, const RailResources& resources, Upward& upward);

  std::int64_t limit() const { return limit_of(resources_.packet_bytes()); }
  // Of packets of that size.
  std::int64_t limit_of(std::size_t packet_bytes) const {
    return static_cast<std::int64_t>(packet_bytes) - around_;
  }
  std::size_t packet_bytes_of(std::int64_t limit) const { return static_cast<std::size_t>(limit + around_); }
  // False: no room now.
  bool try_send(VirtualChannel& peer, const TransportHeader& header, const ByteSequence& payload) {
    const PacketKind kind = header.urgent != 0 ? PacketKind::urgent : PacketKind::eager;
    return peer.send(kind, header.traffic, std::as_bytes(std::span(&header, 1)), payload);
  }

 private:
  void on_packet(const ReceivedPacket& packet) override;
  void on_bundle(const ReceivedPacket& packet);

  RailContext& context_;
  const RailResources& resources_;
  const std::int64_t around_;  // bytes of a packet beside the message's
};

}  // namespace hawser
