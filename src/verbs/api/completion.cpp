// Completion queues and the channels that tell of them.
#include <cstring>

#include "verbs/api/objects.h"

using namespace hawser::verbs;

namespace hawser::verbs {
namespace {

void translate(const fabric::Completion& from, ibv_wc& to) {
  to.wr_id = from.id;
  to.status = static_cast<ibv_wc_status>(from.status);
  to.opcode = static_cast<ibv_wc_opcode>(from.opcode);
  to.vendor_err = from.vendor_error;
  to.byte_len = from.byte_length;
  to.imm_data = from.immediate;
  to.qp_num = from.qp_number;
  to.src_qp = from.source_qp;
  to.wc_flags = from.flags;
  to.pkey_index = from.pkey_index;
  to.slid = from.source_lid;
  to.sl = from.service_level;
  to.dlid_path_bits = from.destination_path_bits;
}

}  // namespace

int poll_cq(ibv_cq* cq, int most, ibv_wc* out) {
  auto& object = *reinterpret_cast<CompletionQueueObject*>(cq);
  const std::lock_guard guard(object.lock);
  RingIndices& entries = object.header().entries;
  const std::uint64_t produced = entries.produced.load(std::memory_order_acquire);
  int taken = 0;
  for (; taken < most && object.consumed != produced; ++taken, ++object.consumed) {
    fabric::Completion completion;
    std::memcpy(&completion, object.shape.slot(object.memory.bytes.get(), object.consumed),
                sizeof completion);
    translate(completion, out[taken]);
  }
  if (taken > 0) {
    entries.consumed.store(object.consumed, std::memory_order_release);
    object.idle_polls = 0;
    return taken;
  }
  return object.opened->link->rest(object.idle_polls++) ? 0 : -EIO;
}

// Arming twice does not make it narrower.
int request_notification(ibv_cq* cq, int solicited_only) {
  auto& object = *reinterpret_cast<CompletionQueueObject*>(cq);
  std::atomic<std::uint32_t>& armed = object.header().armed;
  if (solicited_only == 0) {
    armed.store(CompletionQueueHeader::any, std::memory_order_seq_cst);
    return 0;
  }
  std::uint32_t quiet = CompletionQueueHeader::quiet;
  armed.compare_exchange_strong(quiet, CompletionQueueHeader::solicited, std::memory_order_seq_cst);
  return 0;
}

}  // namespace hawser::verbs

extern "C" {

ibv_comp_channel* ibv_create_comp_channel(ibv_context* context) {
  OpenedDevice& opened = OpenedDevice::of(context);
  const std::uint32_t number = opened.link->create_channel();
  if (number == 0) return nullptr;
  auto* const object = new ChannelObject;
  object->opened = &opened;
  object->number = number;
  object->channel.context = context;
  object->channel.fd = opened.link->descriptor(number);
  return &object->channel;
}

int ibv_destroy_comp_channel(ibv_comp_channel* channel) {
  auto* const object = reinterpret_cast<ChannelObject*>(channel);
  if (channel->refcnt != 0) return EBUSY;
  object->opened->link->destroy_channel(object->number);
  delete object;
  return 0;
}

ibv_cq* ibv_create_cq(ibv_context* context, int entries, void* cq_context, ibv_comp_channel* channel,
                      int vector) {
  OpenedDevice& opened = OpenedDevice::of(context);
  if (entries < 1 || vector != 0 || static_cast<std::uint32_t>(entries) > opened.listed->facts.max_cqe)
    return fail_with(EINVAL);
  auto object = std::make_unique<CompletionQueueObject>();
  object->opened = &opened;
  object->shape = completion_queue_shape(static_cast<std::uint32_t>(entries));
  object->memory = opened.link->allocate(object->shape.end());
  if (object->memory.bytes == nullptr) return fail_with(ENOMEM);
  Request request;
  request.call = Call::create_completion_queue;
  request.capacity = static_cast<std::uint32_t>(entries);
  if (channel != nullptr) request.channel = reinterpret_cast<ChannelObject*>(channel)->number;
  const Reply reply = opened.link->call(request, &object->memory);
  if (reply.error != 0) return fail_with(reply.error);
  ibv_cq& cq = object->cq;
  cq.context = context;
  cq.channel = channel;
  cq.cq_context = cq_context;
  cq.handle = reply.object;
  cq.cqe = entries;
  pthread_mutex_init(&cq.mutex, nullptr);
  pthread_cond_init(&cq.cond, nullptr);
  if (channel != nullptr) ++channel->refcnt;
  const std::lock_guard guard(opened.lock);
  opened.completion_queues[reply.object] = object.get();
  return &object.release()->cq;
}

int ibv_destroy_cq(ibv_cq* cq) {
  auto* const object = reinterpret_cast<CompletionQueueObject*>(cq);
  OpenedDevice& opened = *object->opened;
  Request request;
  request.call = Call::destroy_completion_queue;
  request.object = cq->handle;
  const int error = opened.link->call(request).error;
  if (error == EBUSY) return error;
  {
    const std::lock_guard guard(opened.lock);
    opened.completion_queues.erase(cq->handle);
  }
  wait_for_acknowledgements(cq->mutex, cq->cond, cq->comp_events_completed, object->completion_events);
  wait_for_acknowledgements(cq->mutex, cq->cond, cq->async_events_completed, object->async_events);
  if (cq->channel != nullptr) --cq->channel->refcnt;
  pthread_cond_destroy(&cq->cond);
  pthread_mutex_destroy(&cq->mutex);
  delete object;
  return 0;
}

// The rings have a size for life; programs that ask for no more than they have are content.
int ibv_resize_cq(ibv_cq* cq, int entries) { return entries <= cq->cqe ? 0 : EOPNOTSUPP; }

int ibv_get_cq_event(ibv_comp_channel* channel, ibv_cq** cq, void** cq_context) {
  auto& object = *reinterpret_cast<ChannelObject*>(channel);
  for (;;) {
    CompletionRecord number = 0;
    const int error = object.opened->link->read_record(object.number, &number, sizeof number);
    if (error != 0) {
      errno = error;
      return -1;
    }
    const std::lock_guard guard(object.opened->lock);
    const auto entry = object.opened->completion_queues.find(number);
    if (entry == object.opened->completion_queues.end()) continue;  // destroyed before its event was read
    ++entry->second->completion_events;
    *cq = &entry->second->cq;
    *cq_context = (*cq)->cq_context;
    return 0;
  }
}

void ibv_ack_cq_events(ibv_cq* cq, unsigned int count) {
  pthread_mutex_lock(&cq->mutex);
  cq->comp_events_completed += count;
  pthread_cond_signal(&cq->cond);
  pthread_mutex_unlock(&cq->mutex);
}

}  // extern "C"
