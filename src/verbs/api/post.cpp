// Posting requests: into the rings, without asking anybody.
#include <cstring>

#include "verbs/api/objects.h"

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

int fill_slot(const QueuePairObject& object, const ibv_send_wr& wr, std::byte* memory) {
  if (wr.opcode > IBV_WR_ATOMIC_FETCH_AND_ADD) return EOPNOTSUPP;
  if (wr.num_sge < 0 || static_cast<std::uint32_t>(wr.num_sge) > object.capabilities.max_send_sge ||
      (wr.send_flags & ~known_flags) != 0)
    return EINVAL;
  SendSlot slot{};
  slot.id = wr.wr_id;
  slot.opcode = static_cast<std::uint32_t>(wr.opcode);
  slot.flags = wr.send_flags;
  slot.immediate = wr.imm_data;
  if (object.ex.qp_base.qp_type == IBV_QPT_UD) {
    if (wr.wr.ud.ah == nullptr || wr.opcode < IBV_WR_SEND || wr.opcode > IBV_WR_SEND_WITH_IMM) return EINVAL;
    slot.path = reinterpret_cast<AddressObject*>(wr.wr.ud.ah)->path;
    slot.remote_qp = wr.wr.ud.remote_qpn;
    slot.remote_qkey = wr.wr.ud.remote_qkey;
  } else if (wr.opcode >= IBV_WR_ATOMIC_CMP_AND_SWP) {
    slot.remote_address = wr.wr.atomic.remote_addr;
    slot.compare_add = wr.wr.atomic.compare_add;
    slot.swap = wr.wr.atomic.swap;
    slot.rkey = wr.wr.atomic.rkey;
  } else {
    slot.remote_address = wr.wr.rdma.remote_addr;
    slot.rkey = wr.wr.rdma.rkey;
  }
  if (object.ex.qp_base.qp_type == IBV_QPT_UC && wr.opcode > IBV_WR_SEND_WITH_IMM) return EINVAL;
  std::byte* const rest = memory + sizeof slot;
  if ((wr.send_flags & IBV_SEND_INLINE) != 0) {
    if (wr.opcode > IBV_WR_SEND_WITH_IMM) return EINVAL;  // a read has nothing to send
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
  ring(object);
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
  int error = qp->state == IBV_QPS_RESET || qp->srq != nullptr ? EINVAL : 0;
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
