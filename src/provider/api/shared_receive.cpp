// Shared receive queues.
#include <algorithm>

#include "provider/api/objects.h"

using namespace hawser::verbs;

namespace hawser::verbs {

ibv_srq* create_srq_ex(ibv_context* context, ibv_srq_init_attr_ex* wanted) {
  const bool typed = (wanted->comp_mask & IBV_SRQ_INIT_ATTR_TYPE) != 0;
  const bool xrc = typed && wanted->srq_type == IBV_SRQT_XRC;
  if (typed && !xrc && wanted->srq_type != IBV_SRQT_BASIC) return fail_with(EOPNOTSUPP);
  constexpr std::uint32_t needed_by_xrc = IBV_SRQ_INIT_ATTR_XRCD | IBV_SRQ_INIT_ATTR_CQ;
  if (xrc && (wanted->comp_mask & needed_by_xrc) != needed_by_xrc) return fail_with(EINVAL);
  if ((wanted->comp_mask & IBV_SRQ_INIT_ATTR_PD) == 0) return fail_with(EINVAL);
  OpenedDevice& opened = OpenedDevice::of(context);
  const AdapterAttributes& limits = opened.listed->facts;
  ibv_srq_attr& size = wanted->attr;
  if (size.max_wr == 0 || size.max_wr > limits.max_srq_wr || size.max_sge > limits.max_sge)
    return fail_with(EINVAL);
  size.max_sge = std::max(1u, size.max_sge);
  auto object = std::make_unique<SharedReceiveObject>();
  object->opened = &opened;
  object->capacity = size.max_wr;
  object->most_segments = size.max_sge;
  object->shape = receive_queue_shape(size.max_wr, size.max_sge);
  object->memory = opened.link->allocate(object->shape.end());
  if (object->memory.bytes == nullptr) return fail_with(ENOMEM);
  Request request;
  request.call = Call::create_shared_receive_queue;
  request.domain = wanted->pd->handle;
  request.capacity = size.max_wr;
  request.segments = size.max_sge;
  if (xrc) {
    request.xrc_domain = reinterpret_cast<XrcDomainObject*>(wanted->xrcd)->number;
    request.receive_queue = wanted->cq->handle;
  }
  const Reply reply = opened.link->call(request, &object->memory);
  if (reply.error != 0) return fail_with(reply.error);
  ibv_srq& srq = object->srq;
  srq.context = context;
  srq.srq_context = wanted->srq_context;
  srq.pd = wanted->pd;
  srq.handle = reply.object;
  pthread_mutex_init(&srq.mutex, nullptr);
  pthread_cond_init(&srq.cond, nullptr);
  const std::lock_guard guard(opened.lock);
  opened.shared_receive_queues[reply.object] = object.get();
  return &object.release()->srq;
}

int get_srq_number(ibv_srq* srq, std::uint32_t* number) {
  *number = srq->handle;
  return 0;
}

}  // namespace hawser::verbs

extern "C" {

ibv_srq* ibv_create_srq(ibv_pd* pd, ibv_srq_init_attr* wanted) {
  ibv_srq_init_attr_ex extended{};
  extended.srq_context = wanted->srq_context;
  extended.attr = wanted->attr;
  extended.comp_mask = IBV_SRQ_INIT_ATTR_PD;
  extended.pd = pd;
  ibv_srq* const srq = create_srq_ex(pd->context, &extended);
  if (srq != nullptr) wanted->attr = extended.attr;
  return srq;
}

int ibv_modify_srq(ibv_srq* srq, ibv_srq_attr* attributes, int mask) {
  auto& object = *reinterpret_cast<SharedReceiveObject*>(srq);
  if ((mask & IBV_SRQ_MAX_WR) != 0 && attributes->max_wr > object.capacity) return EOPNOTSUPP;
  if ((mask & IBV_SRQ_LIMIT) == 0) return 0;
  Request request;
  request.call = Call::set_limit;
  request.object = srq->handle;
  request.limit = attributes->srq_limit;
  return object.opened->link->call(request).error;
}

int ibv_query_srq(ibv_srq* srq, ibv_srq_attr* attributes) {
  auto& object = *reinterpret_cast<SharedReceiveObject*>(srq);
  Request request;
  request.call = Call::query_shared_receive_queue;
  request.object = srq->handle;
  const Reply reply = object.opened->link->call(request);
  *attributes = {object.capacity, object.most_segments, reply.limit};
  return reply.error;
}

int ibv_destroy_srq(ibv_srq* srq) {
  auto* const object = reinterpret_cast<SharedReceiveObject*>(srq);
  OpenedDevice& opened = *object->opened;
  Request request;
  request.call = Call::destroy_shared_receive_queue;
  request.object = srq->handle;
  const int error = opened.link->call(request).error;
  if (error == EBUSY) return error;
  {
    const std::lock_guard guard(opened.lock);
    opened.shared_receive_queues.erase(srq->handle);
  }
  wait_for_acknowledgements(srq->mutex, srq->cond, srq->events_completed, object->async_events);
  pthread_cond_destroy(&srq->cond);
  pthread_mutex_destroy(&srq->mutex);
  delete object;
  return 0;
}

}  // extern "C"
