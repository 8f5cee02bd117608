// Session: between the rings of the client and the queues of the model.
#include <algorithm>
#include <cstring>

#include "provider/session_objects.h"

namespace hawser::verbs {

// An entry of the client's completion queue. Requests it stands for are retired first, so that a program that
// has seen the completion finds room for another request.
bool Session::Completions::deliver(const fabric::Completion& completion, const fabric::CarriedData& carried) {
  CompletionQueueHeader& head = header();
  if (produced - head.entries.consumed.load(std::memory_order_acquire) >= capacity) return false;
  session.note_completion(completion);
  for (SharedReceives* const shared : xrc_receives) shared->ring.retire(shared->queue->queue.size());
  CompletionEntry entry{completion, carried.address, carried.bytes.size()};
  entry.completion.time = session.adapter_.now();
  std::memcpy(shape.entries.slot(memory.bytes.get(), produced), &entry, sizeof entry);
  if (!carried.bytes.empty())
    std::memcpy(shape.carried.slot(memory.bytes.get(), produced), carried.bytes.data(), carried.bytes.size());
  head.entries.produced.store(++produced, std::memory_order_seq_cst);
  session.port_.completion_written();
  if (channel != 0) tell(completion);
  return true;
}

bool Session::Completions::armed_for(const fabric::Completion& completion) {
  const std::uint32_t armed = header().armed.load(std::memory_order_seq_cst);
  const bool counts = completion.solicited || completion.status != fabric::CompletionStatus::success;
  return armed == CompletionQueueHeader::any || (armed == CompletionQueueHeader::solicited && counts);
}

void Session::Completions::tell(const fabric::Completion& completion) {
  if (!armed_for(completion)) return;
  header().armed.store(CompletionQueueHeader::quiet, std::memory_order_seq_cst);
  header().told.store(told = produced, std::memory_order_seq_cst);
  session.port_.completion_event(channel, queue->number);
}

void Session::Completions::tell_unread() {
  if (channel == 0) return;
  std::uint64_t next = header().entries.consumed.load(std::memory_order_acquire);
  if (produced - next > capacity) return;  // the client's number is wrong
  if (produced - told < produced - next) next = told;
  for_each_from(next, [this](const fabric::Completion& completion) { tell(completion); });
}

bool Session::Completions::overslept() {
  bool found = false;
  const std::uint64_t next = header().entries.consumed.load(std::memory_order_acquire);
  if (channel != 0 && produced - next <= capacity)
    for_each_from(next, [&](const fabric::Completion& completion) { found |= armed_for(completion); });
  return found;
}

bool Session::overslept() const {
  return std::ranges::any_of(completion_queues_, [](const auto& each) { return each.second->overslept(); });
}

void Session::note_completion(const fabric::Completion& completion) {
  const auto pair = queue_pairs_.find(completion.qp_number);
  if (pair != queue_pairs_.end()) update_retired(*pair->second);
}

void Session::update_retired(Pair& pair) {
  QueuePairHeader& head = pair.header();
  head.sends.retired.store(pair.consumed - pair.queue_pair->requester().outstanding(),
                           std::memory_order_release);
  if (pair.shared != nullptr) {
    pair.shared->ring.retire(pair.shared->queue->queue.size());
  } else {
    pair.receives.retire(pair.queue_pair->receives().size());
  }
}

void Session::doorbell(std::uint32_t queue_pair, std::uint64_t posted) {
  const auto entry = queue_pairs_.find(queue_pair);
  if (entry == queue_pairs_.end()) return;  // destroyed meanwhile
  Pair& pair = *entry->second;
  pair.header().rung.store(0, std::memory_order_seq_cst);
  if (pair.queue_pair->state() == fabric::QpState::err) pair.queue_pair->flush_receives();
  drain_sends(pair, posted);
  update_retired(pair);
}

void Session::drain_sends(Pair& pair, std::uint64_t posted) {
  const std::uint64_t produced = pair.header().sends.produced.load(std::memory_order_seq_cst);
  // More than there is room for: the client has overwritten its own requests, and waits for itself.
  if (produced - pair.consumed > pair.sends.slots) return;
  while (pair.consumed < std::min(produced, posted)) {
    const std::byte* slot = pair.sends.slot(pair.memory.bytes.get(), pair.consumed);
    ++pair.consumed;
    pair.header().sends.consumed.store(pair.consumed, std::memory_order_release);
    post(pair, slot);
  }
}

void Session::post(Pair& pair, const std::byte* memory) {
  SendSlot slot;
  std::memcpy(&slot, memory, sizeof slot);
  if (slot.segment_count > pair.capabilities.max_send_sge ||
      slot.inline_length > pair.capabilities.max_inline_data ||
      slot.opcode > static_cast<std::uint32_t>(fabric::Opcode::send_with_invalidate)) {
    return refuse(pair, slot.id);
  }
  fabric::SendRequest request;
  request.id = slot.id;
  request.opcode = static_cast<fabric::Opcode>(slot.opcode);
  request.flags = slot.flags;
  request.immediate = slot.immediate;
  request.remote_address = slot.remote_address;
  request.rkey = slot.rkey;
  request.compare_add = slot.compare_add;
  request.swap = slot.swap;
  request.remote_qp = slot.remote_qp;
  request.remote_qkey = slot.remote_qkey;
  request.remote_srq = slot.remote_srq;
  request.invalidate_key = slot.invalidate_key;
  request.window_key = slot.window_key;
  request.region_key = slot.region_key;
  request.window_length = slot.window_length;
  request.window_access = static_cast<std::uint32_t>(slot.window_access);
  if (pair.queue_pair->configuration().type == fabric::QpType::ud) request.path = &slot.path;
  if ((slot.flags & fabric::send_inline) != 0) {
    request.inline_data = memory + sizeof slot;
    request.inline_length = slot.inline_length;
  } else {
    segments_.resize(slot.segment_count);
    if (slot.segment_count > 0)
      std::memcpy(segments_.data(), memory + sizeof slot, slot.segment_count * sizeof(fabric::Segment));
    request.segments = segments_.data();
    request.segment_count = slot.segment_count;
  }
  if (!pair.queue_pair->post_send(request).ok()) refuse(pair, slot.id);
}

// The model will not have the request, and the program was told that it was posted.
void Session::refuse(Pair& pair, std::uint64_t id) {
  fabric::Completion completion;
  completion.id = id;
  completion.status = fabric::CompletionStatus::local_qp_operation_error;
  completion.qp_number = pair.queue_pair->number();
  if (pair.send_completions == nullptr) return;  // an XRC target has no send queue to post to
  if (!pair.send_completions->deliver(completion, {})) adapter_.overflow(*pair.send_completions->queue);
}

void Session::refill(fabric::ReceiveQueue& queue) {
  auto* const ring = reinterpret_cast<ReceiveRing*>(queue.cookie);
  if (ring == nullptr || ring->indices == nullptr) return;
  if (ring->queue_pair != nullptr && ring->queue_pair->state() == fabric::QpState::err)
    ring->eager->store(1, std::memory_order_seq_cst);
  const std::uint64_t produced = ring->indices->produced.load(std::memory_order_seq_cst);
  if (produced - ring->consumed > ring->shape.slots) return;
  while (ring->consumed != produced && queue.size() < queue.capacity()) {
    const std::byte* memory = ring->shape.slot(ring->memory.bytes.get(), ring->consumed);
    ReceiveSlot slot;
    std::memcpy(&slot, memory, sizeof slot);
    const auto count =
        static_cast<std::uint32_t>(std::min<std::uint64_t>(slot.segment_count, ring->most_segments));
    segments_.resize(count);
    if (count > 0) std::memcpy(segments_.data(), memory + sizeof slot, count * sizeof(fabric::Segment));
    if (!queue.post({slot.id, segments_.data(), count}).ok()) break;
    ++ring->consumed;
  }
  ring->indices->consumed.store(ring->consumed, std::memory_order_release);
}

// RESET: what was posted is gone, without completions.
void Session::forget_rings(Pair& pair) {
  QueuePairHeader& head = pair.header();
  pair.consumed = head.sends.produced.load(std::memory_order_seq_cst);
  head.sends.consumed.store(pair.consumed, std::memory_order_release);
  pair.receives.consumed = head.receives.produced.load(std::memory_order_seq_cst);
  head.receives.consumed.store(pair.receives.consumed, std::memory_order_release);
  head.eager.store(0, std::memory_order_seq_cst);
  update_retired(pair);
}

}  // namespace hawser::verbs
