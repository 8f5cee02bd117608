#include "channel/lane.h"

#include <fmt/core.h>

namespace hawser {

ActiveMessageHandler* Lane::handler_of(ProcessIndex source, const TransportHeader& header) {
  const auto id = static_cast<std::uint8_t>(header.handler);
  if (id < handler_ids && handlers_[id] != nullptr) return handlers_[id];
  on_bad_packet(source, fmt::format("a message for handler {}, which this process does not have", id));
  return nullptr;
}

void Lane::on_packet(ProcessIndex source, const TransportHeader& header, const std::byte* payload,
                     std::int64_t size) {
  if (ActiveMessageHandler* const handler = handler_of(source, header))
    handler->on_packet(source, header, payload, size);
}

void Lane::on_offer(ProcessIndex source, const TransportHeader& header, const ExposeToken& token,
                    std::int64_t size) {
  if (ActiveMessageHandler* const handler = handler_of(source, header))
    handler->on_offer(source, header, token, size);
}

EagerSink Lane::on_eager_begin(ProcessIndex source, const TransportHeader& header, std::int64_t size) {
  ActiveMessageHandler* const handler = handler_of(source, header);
  return handler == nullptr ? EagerSink{} : handler->on_eager_begin(source, header, size);
}

void Lane::on_peer_lost(ProcessIndex peer, const Error& error) {
  if (lost_.insert(peer).second) losses_.push_back({peer, error.text});
}

void Lane::on_bad_packet(ProcessIndex source, std::string what) {
  // What a process that has failed sent last may be about what has ended since.
  if (!bad_packet_.empty() || lost_.count(source) != 0) return;
  bad_packet_ = fmt::format("rank {} sent {}; do all ranks use the same version of Hawser?", source, what);
  if (end_job_) end_job_(bad_packet_);
}

}  // namespace hawser
