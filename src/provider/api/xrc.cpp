// XRC domains, and targets that several processes share.
#include <fcntl.h>

#include "provider/api/objects.h"

namespace hawser::verbs {

ibv_xrcd* open_xrcd(ibv_context* context, ibv_xrcd_init_attr* wanted) {
  constexpr std::uint32_t both = IBV_XRCD_INIT_ATTR_FD | IBV_XRCD_INIT_ATTR_OFLAGS;
  if ((wanted->comp_mask & ~both) != 0) return fail_with(EOPNOTSUPP);
  if (wanted->comp_mask != both || (wanted->oflags & ~(O_CREAT | O_EXCL)) != 0) return fail_with(EINVAL);
  Request request;
  request.call = Call::open_xrc_domain;
  if (wanted->fd != -1) {
    request.flags |= Request::has_file;
    const int error = current_platform().identify(wanted->fd, request.file_device, request.file_inode);
    if (error != 0) return fail_with(error);
  }
  if ((wanted->oflags & O_CREAT) != 0) request.flags |= Request::create;
  if ((wanted->oflags & O_EXCL) != 0) request.flags |= Request::exclusive;
  const Reply reply = OpenedDevice::of(context).link->call(request);
  if (reply.error != 0) return fail_with(reply.error);
  return &(new XrcDomainObject{{context}, reply.object})->xrcd;
}

int close_xrcd(ibv_xrcd* domain) {
  auto* const object = reinterpret_cast<XrcDomainObject*>(domain);
  Request request;
  request.call = Call::close_xrc_domain;
  request.object = object->number;
  const int error = OpenedDevice::of(domain->context).link->call(request).error;
  if (error == 0) delete object;
  return error;
}

ibv_qp* open_qp(ibv_context* context, ibv_qp_open_attr* wanted) {
  constexpr std::uint32_t needed = IBV_QP_OPEN_ATTR_NUM | IBV_QP_OPEN_ATTR_XRCD | IBV_QP_OPEN_ATTR_TYPE;
  if ((wanted->comp_mask & needed) != needed || wanted->qp_type != IBV_QPT_XRC_RECV) return fail_with(EINVAL);
  OpenedDevice& opened = OpenedDevice::of(context);
  auto object = std::make_unique<QueuePairObject>();
  object->opened = &opened;
  object->shape = QueuePairShape(object->capabilities);
  object->memory = opened.link->allocate(object->shape.bytes());
  if (object->memory.bytes == nullptr) return fail_with(ENOMEM);
  Request request;
  request.call = Call::open_queue_pair;
  request.object = wanted->qp_num;
  request.xrc_domain = reinterpret_cast<XrcDomainObject*>(wanted->xrcd)->number;
  const Reply reply = opened.link->call(request, &object->memory);
  if (reply.error != 0) return fail_with(reply.error);
  ibv_qp_init_attr_ex described{};
  described.qp_type = wanted->qp_type;
  if ((wanted->comp_mask & IBV_QP_OPEN_ATTR_CONTEXT) != 0) described.qp_context = wanted->qp_context;
  describe_queue_pair(object->qp(), context, described, reply.object);
  const std::lock_guard guard(opened.lock);
  opened.queue_pairs[reply.object] = object.get();
  return &object.release()->qp();
}

}  // namespace hawser::verbs
