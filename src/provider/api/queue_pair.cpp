// Queue pairs: creation, states, queries.
#include <algorithm>
#include <bit>

#include "provider/api/objects.h"

using namespace hawser::verbs;
namespace fabric = hawser::fabric;

namespace hawser::verbs {
namespace {

void purge(const ibv_qp& qp) {
  purge_completions(qp.send_cq, qp.qp_num);
  if (qp.recv_cq != qp.send_cq) purge_completions(qp.recv_cq, qp.qp_num);
}

fabric::QpAttributes to_model(const ibv_qp_attr& from) {
  fabric::QpAttributes to;
  to.state = static_cast<fabric::QpState>(from.qp_state);
  to.current_state = static_cast<fabric::QpState>(from.cur_qp_state);
  to.path_mtu = 128u << (from.path_mtu & 7);
  to.migration_state = static_cast<fabric::MigrationState>(from.path_mig_state);
  to.qkey = from.qkey;
  to.rq_psn = from.rq_psn;
  to.sq_psn = from.sq_psn;
  to.destination_qp = from.dest_qp_num;
  to.access_flags = from.qp_access_flags;
  to.path = to_address(from.ah_attr);
  to.alternate_path = to_address(from.alt_ah_attr);
  to.pkey_index = from.pkey_index;
  to.alternate_pkey_index = from.alt_pkey_index;
  to.sqd_notify = from.en_sqd_async_notify != 0;
  to.max_rd_atomic = from.max_rd_atomic;
  to.max_dest_rd_atomic = from.max_dest_rd_atomic;
  to.min_rnr_timer = from.min_rnr_timer;
  to.port = from.port_num;
  to.timeout = from.timeout;
  to.retry_count = from.retry_cnt;
  to.rnr_retry = from.rnr_retry;
  to.alternate_port = from.alt_port_num;
  to.alternate_timeout = from.alt_timeout;
  return to;
}

ibv_qp_attr from_model(const fabric::QpAttributes& from) {
  ibv_qp_attr to{};
  to.qp_state = to.cur_qp_state = static_cast<ibv_qp_state>(from.state);
  to.path_mtu = static_cast<ibv_mtu>(from.path_mtu == 0 ? 0 : std::bit_width(from.path_mtu) - 8);
  to.path_mig_state = static_cast<ibv_mig_state>(from.migration_state);
  to.qkey = from.qkey;
  to.rq_psn = from.rq_psn;
  to.sq_psn = from.sq_psn;
  to.dest_qp_num = from.destination_qp;
  to.qp_access_flags = from.access_flags;
  to.ah_attr = from_address(from.path);
  to.alt_ah_attr = from_address(from.alternate_path);
  to.pkey_index = from.pkey_index;
  to.alt_pkey_index = from.alternate_pkey_index;
  to.en_sqd_async_notify = from.sqd_notify;
  to.max_rd_atomic = from.max_rd_atomic;
  to.max_dest_rd_atomic = from.max_dest_rd_atomic;
  to.min_rnr_timer = from.min_rnr_timer;
  to.port_num = from.port;
  to.timeout = from.timeout;
  to.retry_cnt = from.retry_count;
  to.rnr_retry = from.rnr_retry;
  to.alt_port_num = from.alternate_port;
  to.alt_timeout = from.alternate_timeout;
  return to;
}

fabric::QpCapabilities to_model(const ibv_qp_cap& from, bool shared_receives) {
  fabric::QpCapabilities to;
  to.max_send_wr = from.max_send_wr;
  to.max_recv_wr = shared_receives ? 0 : from.max_recv_wr;
  to.max_send_sge = std::max(1u, from.max_send_sge);
  to.max_recv_sge = shared_receives ? 0 : std::max(1u, from.max_recv_sge);
  to.max_inline_data = from.max_inline_data;
  return to;
}

ibv_qp_cap from_model(const fabric::QpCapabilities& from) {
  return {from.max_send_wr, from.max_recv_wr, from.max_send_sge, from.max_recv_sge, from.max_inline_data};
}

// What a queue pair of a type must be given.
int check_wanted(const ibv_qp_init_attr_ex& wanted) {
  switch (wanted.qp_type) {
    case IBV_QPT_RC:
    case IBV_QPT_UC:
    case IBV_QPT_UD:
      return wanted.send_cq != nullptr && wanted.recv_cq != nullptr &&
                     (wanted.comp_mask & IBV_QP_INIT_ATTR_PD) != 0
                 ? 0
                 : EINVAL;
    case IBV_QPT_XRC_SEND:
      return wanted.send_cq != nullptr && (wanted.comp_mask & IBV_QP_INIT_ATTR_PD) != 0 ? 0 : EINVAL;
    case IBV_QPT_XRC_RECV:
      return (wanted.comp_mask & IBV_QP_INIT_ATTR_XRCD) != 0 ? 0 : EINVAL;
    case IBV_QPT_RAW_PACKET:
    case IBV_QPT_DRIVER:
      break;
  }
  return EOPNOTSUPP;
}

}  // namespace

void describe_queue_pair(ibv_qp& qp, ibv_context* context, const ibv_qp_init_attr_ex& wanted,
                         std::uint32_t number) {
  qp.context = context;
  qp.qp_context = wanted.qp_context;
  qp.pd = wanted.pd;
  qp.send_cq = wanted.send_cq;
  qp.recv_cq = wanted.recv_cq;
  qp.srq = wanted.srq;
  qp.handle = qp.qp_num = number;
  qp.state = IBV_QPS_RESET;
  qp.qp_type = wanted.qp_type;
  pthread_mutex_init(&qp.mutex, nullptr);
  pthread_cond_init(&qp.cond, nullptr);
}

ibv_qp* create_qp_ex(ibv_context* context, ibv_qp_init_attr_ex* wanted) {
  constexpr std::uint32_t known =
      IBV_QP_INIT_ATTR_PD | IBV_QP_INIT_ATTR_XRCD | IBV_QP_INIT_ATTR_SEND_OPS_FLAGS;
  constexpr std::uint64_t known_operations = IBV_QP_EX_WITH_RDMA_WRITE | IBV_QP_EX_WITH_RDMA_WRITE_WITH_IMM |
                                             IBV_QP_EX_WITH_SEND | IBV_QP_EX_WITH_SEND_WITH_IMM |
                                             IBV_QP_EX_WITH_RDMA_READ | IBV_QP_EX_WITH_ATOMIC_CMP_AND_SWP |
                                             IBV_QP_EX_WITH_ATOMIC_FETCH_AND_ADD | IBV_QP_EX_WITH_LOCAL_INV |
                                             IBV_QP_EX_WITH_BIND_MW | IBV_QP_EX_WITH_SEND_WITH_INV;
  const bool builder = (wanted->comp_mask & IBV_QP_INIT_ATTR_SEND_OPS_FLAGS) != 0;
  if ((wanted->comp_mask & ~known) != 0 || (builder && (wanted->send_ops_flags & ~known_operations) != 0))
    return fail_with(EOPNOTSUPP);
  if (const int error = check_wanted(*wanted); error != 0) return fail_with(error);
  const bool target = wanted->qp_type == IBV_QPT_XRC_RECV;
  const bool no_receives = target || wanted->qp_type == IBV_QPT_XRC_SEND;
  if (target) wanted->send_cq = nullptr;
  if (no_receives) wanted->recv_cq = nullptr, wanted->srq = nullptr;
  OpenedDevice& opened = OpenedDevice::of(context);
  const AdapterAttributes& limits = opened.listed->facts;
  const ibv_qp_cap& cap = wanted->cap;
  if (cap.max_send_wr > limits.max_qp_wr || cap.max_recv_wr > limits.max_qp_wr ||
      cap.max_send_sge > limits.max_sge || cap.max_recv_sge > limits.max_sge ||
      cap.max_inline_data > limits.max_inline)
    return fail_with(EINVAL);
  auto object = std::make_unique<QueuePairObject>();
  object->opened = &opened;
  object->capabilities =
      target ? fabric::QpCapabilities{} : to_model(cap, no_receives || wanted->srq != nullptr);
  object->shape = QueuePairShape(object->capabilities);
  object->memory = opened.link->allocate(object->shape.bytes());
  if (object->memory.bytes == nullptr) return fail_with(ENOMEM);
  object->signal_all = wanted->sq_sig_all != 0;
  Request request;
  request.call = Call::create_queue_pair;
  if (target) {
    request.xrc_domain = reinterpret_cast<XrcDomainObject*>(wanted->xrcd)->number;
  } else {
    request.domain = wanted->pd->handle;
    request.send_queue = wanted->send_cq->handle;
    request.receive_queue = no_receives ? 0 : wanted->recv_cq->handle;
  }
  request.shared_receive_queue = wanted->srq != nullptr ? wanted->srq->handle : 0;
  request.type = static_cast<fabric::QpType>(wanted->qp_type);
  request.signal_all = object->signal_all;
  request.capabilities = object->capabilities;
  const Reply reply = opened.link->call(request, &object->memory);
  if (reply.error != 0) return fail_with(reply.error);
  describe_queue_pair(object->qp(), context, *wanted, reply.object);
  if (builder) fill_builder(*object);
  wanted->cap = from_model(object->capabilities);
  const std::lock_guard guard(opened.lock);
  opened.queue_pairs[reply.object] = object.get();
  return &object.release()->qp();
}

}  // namespace hawser::verbs

extern "C" {

ibv_qp* ibv_create_qp(ibv_pd* pd, ibv_qp_init_attr* wanted) {
  ibv_qp_init_attr_ex extended{};
  extended.qp_context = wanted->qp_context;
  extended.send_cq = wanted->send_cq;
  extended.recv_cq = wanted->recv_cq;
  extended.srq = wanted->srq;
  extended.cap = wanted->cap;
  extended.qp_type = wanted->qp_type;
  extended.sq_sig_all = wanted->sq_sig_all;
  extended.comp_mask = IBV_QP_INIT_ATTR_PD;
  extended.pd = pd;
  ibv_qp* const qp = create_qp_ex(pd->context, &extended);
  if (qp != nullptr) wanted->cap = extended.cap;
  return qp;
}

ibv_qp_ex* ibv_qp_to_qp_ex(ibv_qp* qp) {
  QueuePairObject& object = QueuePairObject::of(qp);
  return object.ex.wr_start != nullptr ? &object.ex : nullptr;
}

int ibv_modify_qp(ibv_qp* qp, ibv_qp_attr* attributes, int mask) {
  QueuePairObject& object = QueuePairObject::of(qp);
  Request request;
  request.call = Call::modify_queue_pair;
  request.object = qp->qp_num;
  request.attributes = to_model(*attributes);
  request.mask = static_cast<std::uint32_t>(mask);
  const std::scoped_lock guard(object.send_lock, object.receive_lock);
  const int error = patient_call(*object.opened->link, request);
  if (error != 0 || (mask & IBV_QP_STATE) == 0) return error;
  qp->state = attributes->qp_state;
  if (qp->state == IBV_QPS_RESET) purge(*qp);
  return 0;
}

int ibv_query_qp(ibv_qp* qp, ibv_qp_attr* attributes, int, ibv_qp_init_attr* init) {
  QueuePairObject& object = QueuePairObject::of(qp);
  Request request;
  request.call = Call::query_queue_pair;
  request.object = qp->qp_num;
  const Reply reply = object.opened->link->call(request);
  if (reply.error != 0) return reply.error;
  *attributes = from_model(reply.attributes);
  attributes->sq_draining = reply.draining != 0;
  attributes->cap = from_model(object.capabilities);
  qp->state = attributes->qp_state;
  *init = {};
  init->qp_context = qp->qp_context;
  init->send_cq = qp->send_cq;
  init->recv_cq = qp->recv_cq;
  init->srq = qp->srq;
  init->cap = attributes->cap;
  init->qp_type = qp->qp_type;
  init->sq_sig_all = object.signal_all;
  return 0;
}

int ibv_destroy_qp(ibv_qp* qp) {
  QueuePairObject* const object = &QueuePairObject::of(qp);
  OpenedDevice& opened = *object->opened;
  Request request;
  request.call = Call::destroy_queue_pair;
  request.object = qp->qp_num;
  const int error = opened.link->call(request).error;
  if (error == EBUSY) return error;
  {
    const std::lock_guard guard(opened.lock);
    opened.queue_pairs.erase(qp->qp_num);
  }
  purge(*qp);
  wait_for_acknowledgements(qp->mutex, qp->cond, qp->events_completed, object->async_events);
  pthread_cond_destroy(&qp->cond);
  pthread_mutex_destroy(&qp->mutex);
  delete object;
  return 0;
}

int ibv_query_qp_data_in_order(ibv_qp*, ibv_wr_opcode, std::uint32_t) { return 0; }

// Enhanced connection establishment: there are no options to agree on.
int ibv_query_ece(ibv_qp*, ibv_ece* ece) {
  *ece = {};
  return 0;
}

int ibv_set_ece(ibv_qp*, ibv_ece* ece) {
  *ece = {};
  return 0;
}

}  // extern "C"
