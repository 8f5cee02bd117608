// Completion queues and the channels that tell of them.
#include <cstring>

#include "provider/api/objects.h"

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

// No queue pair has this number: the entry's was destroyed.
constexpr std::uint32_t nobody = UINT32_MAX;

CompletionEntry& entry_of(CompletionQueueObject& object, std::uint64_t number) {
  return *reinterpret_cast<CompletionEntry*>(object.shape.entries.slot(object.memory.bytes.get(), number));
}

// The session puts what nobody polls in its place when the region goes, so what was placed is marked.
void place_carried(CompletionQueueObject& object, std::uint64_t number) {
  CompletionEntry& entry = entry_of(object, number);
  const std::byte* const data = object.shape.carried.slot(object.memory.bytes.get(), number);
  std::memcpy(reinterpret_cast<void*>(entry.carried_address), data,
              std::min<std::uint64_t>(entry.carried_bytes, most_carried));
  entry.carried_bytes = 0;
}

// Arming twice does not make it narrower. True when it holds completions already that no event has told of.
bool arm(CompletionQueueObject& object, bool solicited_only) {
  const std::lock_guard guard(object.lock);  // it may be growing
  CompletionQueueHeader& header = object.header();
  std::uint32_t quiet = CompletionQueueHeader::quiet;
  if (solicited_only)
    header.armed.compare_exchange_strong(quiet, CompletionQueueHeader::solicited, std::memory_order_seq_cst);
  else
    header.armed.store(CompletionQueueHeader::any, std::memory_order_seq_cst);
  const std::uint64_t produced = header.entries.produced.load(std::memory_order_seq_cst);
  return produced != object.consumed && produced != header.told.load(std::memory_order_seq_cst);
}

}  // namespace

bool take_completion(CompletionQueueObject& object, fabric::Completion& completion) {
  const std::uint64_t produced = object.header().entries.produced.load(std::memory_order_acquire);
  while (object.consumed != produced) {
    const std::uint64_t next = object.consumed++;
    const auto& entry = entry_of(object, next);
    completion = entry.completion;
    if (completion.qp_number == nobody) [[unlikely]]
      continue;
    if (entry.carried_bytes != 0) place_carried(object, next);
    return true;
  }
  return false;
}

void purge_completions(ibv_cq* cq, std::uint32_t queue_pair) {
  if (cq == nullptr) return;
  CompletionQueueObject& object = CompletionQueueObject::of(cq);
  const std::lock_guard guard(object.lock);
  const std::uint64_t produced = object.header().entries.produced.load(std::memory_order_acquire);
  for (std::uint64_t i = object.consumed; i != produced; ++i) {
    CompletionEntry& entry = entry_of(object, i);
    if (entry.completion.qp_number != queue_pair) continue;
    entry.completion.qp_number = nobody;
    entry.carried_bytes = 0;
  }
}

int poll_cq(ibv_cq* cq, int most, ibv_wc* out) {
  CompletionQueueObject& object = CompletionQueueObject::of(cq);
  const std::lock_guard guard(object.lock);
  int taken = 0;
  fabric::Completion completion;
  const std::uint64_t before = object.consumed;
  for (; taken < most && take_completion(object, completion); ++taken) translate(completion, out[taken]);
  if (object.consumed != before)
    object.header().entries.consumed.store(object.consumed, std::memory_order_release);
  if (taken > 0) {
    object.idle_polls = 0;
    return taken;
  }
  return object.opened->link->rest(object.idle_polls++) ? 0 : -EIO;
}

// Completions that came since the last event, before the arming, and are not polled yet, make an event at
// once. The standard does not ask for that, but adapters do it, and programs count on it: Open MPI's
// connection manager polls, arms, waits. Those that the last event told of do not: perftest takes an event,
// arms, polls, and counts on one event for each message.
int request_notification(ibv_cq* cq, int solicited_only) {
  CompletionQueueObject& object = CompletionQueueObject::of(cq);
  if (!arm(object, solicited_only != 0) || cq->channel == nullptr) return 0;
  Request request;
  request.call = Call::tell_completions;
  request.object = cq->handle;
  return object.opened->link->call(request).error;
}

ibv_cq* make_completion_queue(ibv_context* context, const ibv_cq_init_attr_ex& wanted) {
  OpenedDevice& opened = OpenedDevice::of(context);
  if (wanted.cqe < 1 || wanted.comp_vector != 0 || wanted.cqe > opened.listed->facts.max_cqe)
    return fail_with(EINVAL);
  auto object = std::make_unique<CompletionQueueObject>();
  object->opened = &opened;
  object->shape = CompletionQueueShape(wanted.cqe);
  object->memory = opened.link->allocate(object->shape.bytes());
  if (object->memory.bytes == nullptr) return fail_with(ENOMEM);
  Request request;
  request.call = Call::create_completion_queue;
  request.capacity = wanted.cqe;
  if (wanted.channel != nullptr) request.channel = reinterpret_cast<ChannelObject*>(wanted.channel)->number;
  const Reply reply = opened.link->call(request, &object->memory);
  if (reply.error != 0) return fail_with(reply.error);
  ibv_cq& cq = object->cq();
  cq.context = context;
  cq.channel = wanted.channel;
  cq.cq_context = wanted.cq_context;
  cq.handle = reply.object;
  cq.cqe = static_cast<int>(wanted.cqe);
  pthread_mutex_init(&cq.mutex, nullptr);
  pthread_cond_init(&cq.cond, nullptr);
  if (wanted.channel != nullptr) ++wanted.channel->refcnt;
  const std::lock_guard guard(opened.lock);
  opened.completion_queues[reply.object] = object.get();
  return &object.release()->cq();
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
  if (entries < 1 || vector < 0) return fail_with(EINVAL);
  ibv_cq_init_attr_ex wanted{};
  wanted.cqe = static_cast<std::uint32_t>(entries);
  wanted.cq_context = cq_context;
  wanted.channel = channel;
  wanted.comp_vector = static_cast<std::uint32_t>(vector);
  return make_completion_queue(context, wanted);
}

int ibv_destroy_cq(ibv_cq* cq) {
  CompletionQueueObject* const object = &CompletionQueueObject::of(cq);
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

// What is in the queue moves to a new ring. Nobody polls meanwhile.
int ibv_resize_cq(ibv_cq* cq, int entries) {
  CompletionQueueObject& object = CompletionQueueObject::of(cq);
  if (entries < 1) return EINVAL;
  const std::lock_guard guard(object.lock);
  const CompletionQueueShape shape(static_cast<std::uint32_t>(entries));
  const SharedBytes memory = object.opened->link->allocate(shape.bytes());
  if (memory.bytes == nullptr) return ENOMEM;
  Request request;
  request.call = Call::resize_completion_queue;
  request.object = cq->handle;
  request.capacity = static_cast<std::uint32_t>(entries);
  const Reply reply = object.opened->link->call(request, &memory);
  if (reply.error != 0) return reply.error;
  object.memory = memory;
  object.shape = shape;
  cq->cqe = entries;
  return 0;
}

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
    *cq = &entry->second->cq();
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
