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

  std::int64_t limit() const { return limit_; }
  // False: no room now.
  bool try_send(VirtualChannel& peer, const TransportHeader& header, const ByteSequence& payload) {
    const PacketKind kind = header.urgent != 0 ? PacketKind::urgent : PacketKind::eager;
    return peer.send(kind, header.traffic, std::as_bytes(std::span(&header, 1)), payload);
  }

 private:
  void on_packet(const ReceivedPacket& packet) override;
  void on_bundle(const ReceivedPacket& packet);

  RailContext& context_;
  const std::int64_t limit_;
};

}  // namespace hawser
