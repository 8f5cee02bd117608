// DirectMessages: what a lane does with what arrives, but with the most frequent case, an eager message in
// one piece, taken to PointToPoint without an indirection. For transports whose progress is a template
// (SharedMemoryChannel::progress_for).
#pragma once

#include "channel/lane.h"
#include "message/point_to_point.h"

namespace hawser {

class DirectMessages final : public TransportEvents {
 public:
  DirectMessages(Lane& lane, PointToPoint& messages) : lane_(lane), messages_(messages) {}

  void on_packet(ProcessIndex source, const TransportHeader& header, const std::byte* payload,
                 std::int64_t size) override {
    if (MessageHeader::is_eager(header)) [[likely]]
      messages_.on_eager(source, MessageHeader::of(header), payload, size);
    else
      lane_.on_packet(source, header, payload, size);
  }
  void on_offer(ProcessIndex source, const TransportHeader& header, const ExposeToken& token,
                std::int64_t size) override {
    lane_.on_offer(source, header, token, size);
  }
  EagerSink on_eager_begin(ProcessIndex source, const TransportHeader& header, std::int64_t size) override {
    return lane_.on_eager_begin(source, header, size);
  }
  void on_peer_lost(ProcessIndex peer, const Error& error) override { lane_.on_peer_lost(peer, error); }
  void on_bad_packet(ProcessIndex source, std::string what) override {
    lane_.on_bad_packet(source, std::move(what));
  }

 private:
  Lane& lane_;
  PointToPoint& messages_;
};

}  // namespace hawser
