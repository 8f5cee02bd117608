// The newer way to poll: one entry at a time, its fields read by functions.
#include "provider/api/objects.h"

namespace hawser::verbs {
namespace {

bool step(CompletionQueueObject& object) {
  if (!take_completion(object, object.current)) return false;
  object.ex.wr_id = object.current.id;
  object.ex.status = static_cast<ibv_wc_status>(object.current.status);
  return true;
}

// What was taken is given back at the end, so that a batch costs one store.
void give_back(CompletionQueueObject& object) {
  object.header().entries.consumed.store(object.consumed, std::memory_order_release);
}

int start_poll(ibv_cq_ex* cq, ibv_poll_cq_attr* attributes) {
  if (attributes->comp_mask != 0) return EINVAL;
  CompletionQueueObject& object = CompletionQueueObject::of(cq);
  object.lock.lock();  // until end_poll
  if (step(object)) {
    object.idle_polls = 0;
    return 0;
  }
  give_back(object);
  const bool alive = object.opened->link->rest(object.idle_polls++);
  object.lock.unlock();
  return alive ? ENOENT : EIO;
}

int next_poll(ibv_cq_ex* cq) { return step(CompletionQueueObject::of(cq)) ? 0 : ENOENT; }

void end_poll(ibv_cq_ex* cq) {
  CompletionQueueObject& object = CompletionQueueObject::of(cq);
  give_back(object);
  object.lock.unlock();
}

const fabric::Completion& current(ibv_cq_ex* cq) { return CompletionQueueObject::of(cq).current; }

}  // namespace

void fill_poller(CompletionQueueObject& object, std::uint64_t wanted) {
  ibv_cq_ex& ex = object.ex;
  ex.start_poll = start_poll;
  ex.next_poll = next_poll;
  ex.end_poll = end_poll;
  ex.read_opcode = [](ibv_cq_ex* cq) { return static_cast<ibv_wc_opcode>(current(cq).opcode); };
  ex.read_vendor_err = [](ibv_cq_ex* cq) { return current(cq).vendor_error; };
  ex.read_wc_flags = [](ibv_cq_ex* cq) -> unsigned { return current(cq).flags; };
  ex.read_byte_len = [](ibv_cq_ex* cq) { return current(cq).byte_length; };
  ex.read_imm_data = [](ibv_cq_ex* cq) -> __be32 { return current(cq).immediate; };
  ex.read_qp_num = [](ibv_cq_ex* cq) { return current(cq).qp_number; };
  ex.read_src_qp = [](ibv_cq_ex* cq) { return current(cq).source_qp; };
  ex.read_slid = [](ibv_cq_ex* cq) -> std::uint32_t { return current(cq).source_lid; };
  ex.read_sl = [](ibv_cq_ex* cq) { return current(cq).service_level; };
  ex.read_dlid_path_bits = [](ibv_cq_ex* cq) { return current(cq).destination_path_bits; };
  if ((wanted & IBV_WC_EX_WITH_COMPLETION_TIMESTAMP) != 0)
    ex.read_completion_ts = [](ibv_cq_ex* cq) { return static_cast<std::uint64_t>(current(cq).time); };
}

ibv_cq_ex* create_cq_ex(ibv_context* context, ibv_cq_init_attr_ex* wanted) {
  constexpr std::uint64_t fields =
      std::uint64_t{IBV_WC_STANDARD_FLAGS} | std::uint64_t{IBV_WC_EX_WITH_COMPLETION_TIMESTAMP};
  constexpr std::uint32_t known = IBV_CQ_INIT_ATTR_MASK_FLAGS | IBV_CQ_INIT_ATTR_MASK_PD;
  // An overrun that is ignored would have to be one that overwrites; queues here are lost by it.
  constexpr std::uint32_t known_flags = IBV_CREATE_CQ_ATTR_SINGLE_THREADED;
  const std::uint32_t flags = (wanted->comp_mask & IBV_CQ_INIT_ATTR_MASK_FLAGS) != 0 ? wanted->flags : 0;
  if ((wanted->wc_flags & ~fields) != 0 || (wanted->comp_mask & ~known) != 0 || (flags & ~known_flags) != 0)
    return fail_with(EOPNOTSUPP);
  ibv_cq* const cq = make_completion_queue(context, *wanted);
  if (cq == nullptr) return nullptr;
  CompletionQueueObject& object = CompletionQueueObject::of(cq);
  fill_poller(object, wanted->wc_flags);
  return &object.ex;
}

}  // namespace hawser::verbs
