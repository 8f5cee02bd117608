// The tables of functions in a context, by which programs call what is fast or newer than the library's
// symbols. What is not named stays null, and the header's inline functions answer EOPNOTSUPP.
#include "verbs/api/objects.h"

namespace hawser::verbs {
namespace {

// Called through the table without a check for null.
ibv_mw* no_memory_window(ibv_pd*, ibv_mw_type) { return fail_with(EOPNOTSUPP); }
int no_bind(ibv_qp*, ibv_mw*, ibv_mw_bind*) { return EOPNOTSUPP; }
int no_window_to_free(ibv_mw*) { return EOPNOTSUPP; }

}  // namespace

void fill_operations(OpenedDevice& opened) {
  verbs_context& verbs = opened.verbs;
  verbs.sz = sizeof verbs;
  verbs.query_port = query_port;
  verbs.query_device_ex = query_device_ex;
  verbs.create_qp_ex = create_qp_ex;
  verbs.create_srq_ex = create_srq_ex;
  verbs.get_srq_num = get_srq_number;
  ibv_context& context = verbs.context;
  context.abi_compat = __VERBS_ABI_IS_EXTENDED;
  context.ops.alloc_mw = no_memory_window;
  context.ops.bind_mw = no_bind;
  context.ops.dealloc_mw = no_window_to_free;
  context.ops.poll_cq = poll_cq;
  context.ops.req_notify_cq = request_notification;
  context.ops.post_srq_recv = post_shared_receive;
  context.ops.post_send = post_send;
  context.ops.post_recv = post_receive;
}

}  // namespace hawser::verbs
