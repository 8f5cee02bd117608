// Posting requests: into the rings, without asking anybody.
#include <cstring>

#include "provider/api/objects.h"

namespace hawser::verbs {
namespace {

static_assert(sizeof(ibv_sge) == sizeof(fabric::Segment) && offsetof(ibv_sge, length) == 8 &&
              offsetof(fabric::Segment, lkey) == offsetof(ibv_sge, lkey));

constexpr unsigned known_flags = IBV_SEND_FENCE | IBV_SEND_SIGNALED | IBV_SEND_SOLICITED | IBV_SEND_INLINE;

// The bytes of all elements one after the other; false when they do not fit.
bool gather_inline(const ibv_send_wr& wr, std::uint32_t most, std::byte* out, std::uint32_t& length) {
  length = 0;
  for (int i = 0; i < wr.num_sge; ++i) {
    const ibv_sge& part = wr.sg_list[i];
    if (part.length > most - length) return false;
    if (part.length > 0) std::memcpy(out + length, reinterpret_cast<const void*>(part.addr), part.length);
    length += part.length;
  }
  return true;
}

// Whether a queue pair of the type has the operation at all.
int check_operation(ibv_qp_type type, ibv_wr_opcode opcode) {
  if (opcode > IBV_WR_SEND_WITH_INV) return EOPNOTSUPP;
  const bool here = opcode == IBV_WR_LOCAL_INV || opcode == IBV_WR_BIND_MW;
  const bool send = opcode == IBV_WR_SEND || opcode == IBV_WR_SEND_WITH_IMM;
  if (type == IBV_QPT_UD) return send ? 0 : EINVAL;
  if (type == IBV_QPT_UC) return opcode <= IBV_WR_SEND_WITH_IMM || here ? 0 : EINVAL;
  return type == IBV_QPT_XRC_RECV ? EINVAL : 0;
}

// What depends on the operation, except the data.
int fill_operation(const ibv_qp& qp, const ibv_send_wr& wr, SendSlot& slot) {
  switch (wr.opcode) {
    case IBV_WR_ATOMIC_CMP_AND_SWP:
    case IBV_WR_ATOMIC_FETCH_AND_ADD:
      slot.remote_address = wr.wr.atomic.remote_addr;
      slot.compare_add = wr.wr.atomic.compare_add;
      slot.swap = wr.wr.atomic.swap;
      slot.rkey = wr.wr.atomic.rkey;
      break;
    case IBV_WR_BIND_MW:
      fill_bind(slot, *wr.bind_mw.mw, wr.bind_mw.rkey, wr.bind_mw.bind_info);
      break;
    case IBV_WR_LOCAL_INV:
    case IBV_WR_SEND_WITH_INV:
      slot.invalidate_key = wr.invalidate_rkey;
      break;
    default:
      if (qp.qp_type == IBV_QPT_UD) {
        if (wr.wr.ud.ah == nullptr) return EINVAL;
        slot.path = reinterpret_cast<AddressObject*>(wr.wr.ud.ah)->path;
        slot.remote_qp = wr.wr.ud.remote_qpn;
        slot.remote_qkey = wr.wr.ud.remote_qkey;
      } else {
        slot.remote_address = wr.wr.rdma.remote_addr;
        slot.rkey = wr.wr.rdma.rkey;
      }
  }
  if (qp.qp_type == IBV_QPT_XRC_SEND) slot.remote_srq = wr.qp_type.xrc.remote_srqn;
  return 0;
}

int fill_slot(const QueuePairObject& object, const ibv_send_wr& wr, std::byte* memory) {
  const ibv_qp& qp = object.ex.qp_base;
  if (const int error = check_operation(qp.qp_type, wr.opcode); error != 0) return error;
  if (wr.num_sge < 0 || static_cast<std::uint32_t>(wr.num_sge) > object.capabilities.max_send_sge ||
      (wr.send_flags & ~known_flags) != 0)
    return EINVAL;
  SendSlot slot{};
  slot.id = wr.wr_id;
  slot.opcode = static_cast<std::uint32_t>(wr.opcode);
  slot.flags = wr.send_flags;
  slot.immediate = wr.imm_data;
  if (const int error = fill_operation(qp, wr, slot); error != 0) return error;
  std::byte* const rest = memory + sizeof slot;
  const bool here = wr.opcode == IBV_WR_LOCAL_INV || wr.opcode == IBV_WR_BIND_MW;
  if (here) {
    slot.flags &= ~static_cast<unsigned>(IBV_SEND_INLINE);
  } else if ((wr.send_flags & IBV_SEND_INLINE) != 0) {
    // A read or an atomic has nothing to send.
    if (wr.opcode > IBV_WR_SEND_WITH_IMM && wr.opcode != IBV_WR_SEND_WITH_INV) return EINVAL;
    if (!gather_inline(wr, object.capabilities.max_inline_data, rest, slot.inline_length)) return EINVAL;
  } else {
    slot.segment_count = static_cast<std::uint32_t>(wr.num_sge);
    if (wr.num_sge > 0) std::memcpy(rest, wr.sg_list, slot.segment_count * sizeof(ibv_sge));
  }
  std::memcpy(memory, &slot, sizeof slot);
  return 0;
}

bool takes_sends(const ibv_qp& qp) {
  return qp.state == IBV_QPS_RTS || qp.state == IBV_QPS_SQD || qp.state == IBV_QPS_SQE ||
         qp.state == IBV_QPS_ERR;
}

// One receive into a ring; `produced` moves on.
int put_receive(const ibv_recv_wr& wr, const RingShape& shape, std::byte* memory, RingIndices& indices,
                std::uint32_t capacity, std::uint32_t most_segments, std::uint64_t& produced) {
  if (wr.num_sge < 0 || static_cast<std::uint32_t>(wr.num_sge) > most_segments) return EINVAL;
  if (produced - indices.retired.load(std::memory_order_acquire) >= capacity) return ENOMEM;
  std::byte* const at = shape.slot(memory, produced);
  const ReceiveSlot slot{wr.wr_id, static_cast<std::uint64_t>(wr.num_sge)};
  std::memcpy(at, &slot, sizeof slot);
  if (wr.num_sge > 0) std::memcpy(at + sizeof slot, wr.sg_list, slot.segment_count * sizeof(ibv_sge));
  ++produced;
  return 0;
}

void ring(QueuePairObject& object) {
  if (object.header().rung.exchange(1, std::memory_order_seq_cst) == 0)
    object.opened->link->ring(object.ex.qp_base.qp_num);
}

}  // namespace

std::byte* next_send_slot(QueuePairObject& object) {
  RingIndices& indices = object.header().sends;
  const std::uint64_t next = object.sends + object.built;
  if (next - indices.retired.load(std::memory_order_acquire) >= object.capabilities.max_send_wr) {
    // Unsignalled requests may have completed without a trace in the completion queue.
    ring(object);
    if (next - indices.retired.load(std::memory_order_acquire) >= object.capabilities.max_send_wr)
      return nullptr;
  }
  return object.shape.sends.slot(object.memory.bytes.get(), next);
}

void show_sends(QueuePairObject& object, std::uint64_t count) {
  if (count == 0) return;
  object.sends += count;
  object.header().sends.produced.store(object.sends, std::memory_order_seq_cst);
  if (!object.opened->link->ring_for_list(object.ex.qp_base.qp_num, count, object.sends)) ring(object);
}

int post_send(ibv_qp* qp, ibv_send_wr* wr, ibv_send_wr** bad) {
  QueuePairObject& object = QueuePairObject::of(qp);
  const std::lock_guard guard(object.send_lock);
  int error = takes_sends(*qp) ? 0 : EINVAL;
  for (; wr != nullptr && error == 0; wr = wr->next) {
    std::byte* const slot = next_send_slot(object);
    error = slot == nullptr ? ENOMEM : fill_slot(object, *wr, slot);
    if (error != 0) break;
    ++object.built;
  }
  show_sends(object, std::exchange(object.built, 0));
  if (error != 0) *bad = wr;
  return error;
}

int post_receive(ibv_qp* qp, ibv_recv_wr* wr, ibv_recv_wr** bad) {
  QueuePairObject& object = QueuePairObject::of(qp);
  const std::lock_guard guard(object.receive_lock);
  RingIndices& indices = object.header().receives;
  int error = qp->state == IBV_QPS_RESET || qp->srq != nullptr || qp->recv_cq == nullptr ? EINVAL : 0;
  for (; wr != nullptr && error == 0; wr = wr->next) {
    error = put_receive(*wr, object.shape.receives, object.memory.bytes.get(), indices,
                        object.capabilities.max_recv_wr, object.capabilities.max_recv_sge, object.receives);
    if (error != 0) break;
  }
  indices.produced.store(object.receives, std::memory_order_seq_cst);
  if (object.header().eager.load(std::memory_order_seq_cst) != 0) ring(object);
  if (error != 0) *bad = wr;
  return error;
}

int post_shared_receive(ibv_srq* srq, ibv_recv_wr* wr, ibv_recv_wr** bad) {
  auto& object = *reinterpret_cast<SharedReceiveObject*>(srq);
  const std::lock_guard guard(object.lock);
  RingIndices& indices = reinterpret_cast<ReceiveQueueHeader*>(object.memory.bytes.get())->receives;
  int error = 0;
  for (; wr != nullptr; wr = wr->next) {
    error = put_receive(*wr, object.shape, object.memory.bytes.get(), indices, object.capacity,
                        object.most_segments, object.produced);
    if (error != 0) break;
  }
  indices.produced.store(object.produced, std::memory_order_seq_cst);
  if (error != 0) *bad = wr;
  return error;
}

}  // namespace hawser::verbs
