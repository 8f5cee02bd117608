// Responder: messages that take a posted receive.
#include "fabric/adapter/adapter.h"
#include "fabric/adapter/responder.h"

namespace hawser::fabric {

// The next posted receive becomes the current one.
bool Responder::take_receive() {
  SharedReceiveQueue* const shared = shared_;
  ReceiveQueue& queue = shared != nullptr ? shared->queue : queue_pair_.receives_;
  ContextPort& port = shared != nullptr ? shared->context.port() : queue_pair_.context().port();
  // Receives may wait with the client; where the limit counts them they are wanted here before it is reached.
  const bool counted = shared != nullptr && shared->limit > 0 && queue.size() <= shared->limit;
  if (queue.size() == 0 || counted) port.refill(queue);
  if (!queue.take(current_)) return false;
  has_current_ = true;
  if (shared != nullptr && shared->limit > 0 && queue.size() < shared->limit) {
    shared->limit = 0;  // once, until it is armed again
    port.asynchronous_event({.type = AsyncEventType::srq_limit_reached, .shared_receive_queue = shared});
  }
  return true;
}

// Whether the completion takes the packet's data along. It may be another process that receives on XRC, and
// a corrupted byte is corrupted in place.
bool Responder::may_carry(const Packet& packet) const {
  const QueuePair::Configuration& configuration = queue_pair_.configuration();
  return packet.first && packet.last && skip_ == 0 && !packet.corrupted &&
         configuration.type != QpType::xrc_recv &&
         packet.length <= configuration.receive_queue->port.most_carried();
}

DmaResult Responder::carry(const Packet& packet, const Piece& place, CarriedData& carried) {
  Adapter& adapter = queue_pair_.adapter();
  const Payload& payload = packet.payload;
  carried.address = place.address;
  if (payload.bytes != nullptr) {
    carried.bytes = std::span(*payload.bytes).subspan(payload.bytes_offset, packet.length);
    return DmaResult::done;
  }
  std::vector<std::byte>& bytes = adapter.scratch_bytes();
  bytes.resize(packet.length);
  carried.bytes = bytes;
  const bool read =
      adapter.services().dma.read(payload.space, {payload.pieces.data(), payload.piece_count}, bytes.data());
  return read ? DmaResult::done : DmaResult::lost;
}

DmaResult Responder::place_in_receive(const Packet& packet, std::uint64_t offset, std::uint64_t skip,
                                      CarriedData* carried) {
  Adapter& adapter = queue_pair_.adapter();
  const ProtectionDomain* domain = shared_ != nullptr ? &shared_->domain : queue_pair_.configuration().domain;
  std::vector<Piece>& pieces = adapter.scratch();
  const bool right = gather_pieces(adapter.memory(), domain, current_.segments, offset + skip,
                                   packet.length - skip, access_local_write, pieces);
  if (!right) return DmaResult::destination_gone;
  if (carried != nullptr && pieces.size() == 1 && may_carry(packet))
    return carry(packet, pieces[0], *carried);
  const SpaceId space = shared_ != nullptr ? shared_->context.space() : queue_pair_.context().space();
  return adapter.place_payload(packet, skip, space, pieces);
}

Syndrome Responder::execute_send(Packet& packet) {
  if (packet.first && skip_ == 0) {
    // There is a current one already when the message was cut short (UC), or its first packet counted as
    // lost.
    if (!has_current_ && !take_receive()) return Syndrome::receiver_not_ready;
  } else if (!has_current_) {
    return Syndrome::invalid_request;
  }
  if (packet.offset + packet.length > total_length(current_.segments)) {
    receive_failure_ = CompletionStatus::local_length_error;
    return Syndrome::invalid_request;
  }
  CarriedData carried;
  const DmaResult placed =
      packet.length > 0 ? place_in_receive(packet, packet.offset, skip_, &carried) : DmaResult::done;
  if (placed == DmaResult::lost) return Syndrome::lost;
  if (placed == DmaResult::destination_gone) {
    receive_failure_ = CompletionStatus::local_protection_error;
    return Syndrome::remote_operation_error;
  }
  if (packet.with_invalidate &&
      !queue_pair_.adapter().memory().invalidate(packet.invalidate_key, domain_, queue_pair_.number())) {
    receive_failure_ = CompletionStatus::local_access_error;
    return Syndrome::remote_access_error;
  }
  if (packet.last)
    complete_receive(packet, CompletionStatus::success, packet.offset + packet.length, carried);
  return Syndrome::positive;
}

void Responder::complete_receive(const Packet& packet, CompletionStatus status, std::uint64_t bytes,
                                 const CarriedData& carried) {
  has_current_ = false;
  Completion completion;
  completion.id = current_.id;
  completion.status = status;
  completion.opcode = packet.kind == PacketKind::write ? CompletionOpcode::receive_rdma_with_immediate
                                                       : CompletionOpcode::receive;
  completion.byte_length = static_cast<std::uint32_t>(bytes);
  completion.qp_number = queue_pair_.number();
  completion.source_qp = packet.source_qp;
  completion.source_lid = packet.source_lid;
  completion.service_level = packet.service_level;
  completion.solicited = packet.solicited;
  if (packet.with_immediate) {
    completion.flags |= completion_with_immediate;
    completion.immediate = packet.immediate;
  }
  if (packet.with_invalidate) {
    completion.flags |= completion_with_invalidate;
    completion.immediate = packet.invalidate_key;
  }
  if (packet.transport == QpType::ud) {
    const AdapterPort& port = queue_pair_.adapter().port(queue_pair_.port());
    if (packet.has_grh) completion.flags |= completion_grh;
    completion.destination_path_bits =
        static_cast<std::uint8_t>(packet.destination_lid & ((1u << port.lmc()) - 1));
  }
  queue_pair_.deliver_receive(completion, shared_, carried);
}

}  // namespace hawser::fabric
