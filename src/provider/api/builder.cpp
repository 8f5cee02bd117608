// The newer way to post: wr_start, one call for each request and its data, wr_complete. Requests are written
// into the ring's slots as they come and shown together; an abort only forgets them.
#include <cstring>

#include "provider/api/objects.h"

namespace hawser::verbs {
namespace {

// The slot of the request that was begun last; null after an error.
std::byte* current(QueuePairObject& object) {
  if (object.build_error != 0 || object.built == 0) return nullptr;
  return object.shape.sends.slot(object.memory.bytes.get(), object.sends + object.built - 1);
}

void begin(ibv_qp_ex* qp, const SendSlot& wanted) {
  QueuePairObject& object = QueuePairObject::of(qp);
  if (object.build_error != 0) return;
  std::byte* const memory = next_send_slot(object);
  if (memory == nullptr) {
    object.build_error = ENOMEM;
    return;
  }
  SendSlot slot = wanted;
  slot.id = qp->wr_id;
  slot.flags = qp->wr_flags & ~static_cast<unsigned>(IBV_SEND_INLINE);
  std::memcpy(memory, &slot, sizeof slot);
  ++object.built;
}

template <class Change>
void change(ibv_qp_ex* qp, Change&& apply) {
  QueuePairObject& object = QueuePairObject::of(qp);
  std::byte* const memory = current(object);
  if (memory == nullptr) return;
  SendSlot slot;
  std::memcpy(&slot, memory, sizeof slot);
  const int error = apply(object, slot, memory + sizeof slot);
  if (error != 0) object.build_error = error;
  std::memcpy(memory, &slot, sizeof slot);
}

SendSlot operation(ibv_wr_opcode opcode, std::uint32_t rkey = 0, std::uint64_t address = 0) {
  SendSlot slot{};
  slot.opcode = static_cast<std::uint32_t>(opcode);
  slot.rkey = rkey;
  slot.remote_address = address;
  return slot;
}

void compare_and_swap(ibv_qp_ex* qp, std::uint32_t rkey, std::uint64_t address, std::uint64_t compare,
                      std::uint64_t swap) {
  SendSlot slot = operation(IBV_WR_ATOMIC_CMP_AND_SWP, rkey, address);
  slot.compare_add = compare;
  slot.swap = swap;
  begin(qp, slot);
}

void fetch_and_add(ibv_qp_ex* qp, std::uint32_t rkey, std::uint64_t address, std::uint64_t add) {
  SendSlot slot = operation(IBV_WR_ATOMIC_FETCH_AND_ADD, rkey, address);
  slot.compare_add = add;
  begin(qp, slot);
}

void rdma_read(ibv_qp_ex* qp, std::uint32_t rkey, std::uint64_t address) {
  begin(qp, operation(IBV_WR_RDMA_READ, rkey, address));
}

void rdma_write(ibv_qp_ex* qp, std::uint32_t rkey, std::uint64_t address) {
  begin(qp, operation(IBV_WR_RDMA_WRITE, rkey, address));
}

void rdma_write_immediate(ibv_qp_ex* qp, std::uint32_t rkey, std::uint64_t address, __be32 immediate) {
  SendSlot slot = operation(IBV_WR_RDMA_WRITE_WITH_IMM, rkey, address);
  slot.immediate = immediate;
  begin(qp, slot);
}

void send(ibv_qp_ex* qp) { begin(qp, operation(IBV_WR_SEND)); }

void send_immediate(ibv_qp_ex* qp, __be32 immediate) {
  SendSlot slot = operation(IBV_WR_SEND_WITH_IMM);
  slot.immediate = immediate;
  begin(qp, slot);
}

void send_invalidate(ibv_qp_ex* qp, std::uint32_t key) {
  SendSlot slot = operation(IBV_WR_SEND_WITH_INV);
  slot.invalidate_key = key;
  begin(qp, slot);
}

void invalidate_here(ibv_qp_ex* qp, std::uint32_t key) {
  SendSlot slot = operation(IBV_WR_LOCAL_INV);
  slot.invalidate_key = key;
  begin(qp, slot);
}

void bind(ibv_qp_ex* qp, ibv_mw* window, std::uint32_t key, const ibv_mw_bind_info* info) {
  SendSlot slot = operation(IBV_WR_BIND_MW);
  fill_bind(slot, *window, key, *info);
  begin(qp, slot);
}

void set_xrc_queue(ibv_qp_ex* qp, std::uint32_t number) {
  change(qp, [&](QueuePairObject&, SendSlot& slot, std::byte*) {
    slot.remote_srq = number;
    return 0;
  });
}

void set_datagram_address(ibv_qp_ex* qp, ibv_ah* ah, std::uint32_t remote_qp, std::uint32_t qkey) {
  change(qp, [&](QueuePairObject&, SendSlot& slot, std::byte*) {
    slot.path = reinterpret_cast<AddressObject*>(ah)->path;
    slot.remote_qp = remote_qp;
    slot.remote_qkey = qkey;
    return 0;
  });
}

void set_inline_list(ibv_qp_ex* qp, std::size_t count, const ibv_data_buf* parts) {
  change(qp, [&](QueuePairObject& object, SendSlot& slot, std::byte* data) {
    slot.flags |= IBV_SEND_INLINE;
    slot.inline_length = 0;
    for (std::size_t i = 0; i < count; ++i) {
      if (parts[i].length > object.capabilities.max_inline_data - slot.inline_length) return ENOMEM;
      std::memcpy(data + slot.inline_length, parts[i].addr, parts[i].length);
      slot.inline_length += static_cast<std::uint32_t>(parts[i].length);
    }
    return 0;
  });
}

void set_inline(ibv_qp_ex* qp, void* address, std::size_t length) {
  const ibv_data_buf part{address, length};
  set_inline_list(qp, 1, &part);
}

void set_segments(ibv_qp_ex* qp, std::size_t count, const ibv_sge* segments) {
  change(qp, [&](QueuePairObject& object, SendSlot& slot, std::byte* data) {
    if (count > object.capabilities.max_send_sge) return ENOMEM;
    if (count > 0) std::memcpy(data, segments, count * sizeof(ibv_sge));
    slot.segment_count = static_cast<std::uint32_t>(count);
    return 0;
  });
}

void set_segment(ibv_qp_ex* qp, std::uint32_t key, std::uint64_t address, std::uint32_t length) {
  const ibv_sge segment{address, length, key};
  set_segments(qp, 1, &segment);
}

void start(ibv_qp_ex* qp) {
  QueuePairObject& object = QueuePairObject::of(qp);
  object.send_lock.lock();  // until complete or abort
  object.built = 0;
  object.build_error = qp->qp_base.state < IBV_QPS_RTS ? EINVAL : 0;
}

int complete(ibv_qp_ex* qp) {
  QueuePairObject& object = QueuePairObject::of(qp);
  const int error = object.build_error;
  const std::uint64_t built = std::exchange(object.built, 0);
  if (error == 0) show_sends(object, built);
  object.send_lock.unlock();
  return error;
}

void abort_all(ibv_qp_ex* qp) {
  QueuePairObject& object = QueuePairObject::of(qp);
  object.built = 0;
  object.send_lock.unlock();
}

}  // namespace

void fill_builder(QueuePairObject& object) {
  ibv_qp_ex& ex = object.ex;
  ex.wr_atomic_cmp_swp = compare_and_swap;
  ex.wr_atomic_fetch_add = fetch_and_add;
  ex.wr_rdma_read = rdma_read;
  ex.wr_rdma_write = rdma_write;
  ex.wr_rdma_write_imm = rdma_write_immediate;
  ex.wr_send = send;
  ex.wr_send_imm = send_immediate;
  ex.wr_send_inv = send_invalidate;
  ex.wr_local_inv = invalidate_here;
  ex.wr_bind_mw = bind;
  ex.wr_set_xrc_srqn = set_xrc_queue;
  ex.wr_set_ud_addr = set_datagram_address;
  ex.wr_set_inline_data = set_inline;
  ex.wr_set_inline_data_list = set_inline_list;
  ex.wr_set_sge = set_segment;
  ex.wr_set_sge_list = set_segments;
  ex.wr_start = start;
  ex.wr_complete = complete;
  ex.wr_abort = abort_all;
}

}  // namespace hawser::verbs
