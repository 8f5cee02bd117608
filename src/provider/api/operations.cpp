// The tables of functions in a context, by which programs call what is fast or newer than the library's
// symbols. What is not named stays null, and the header's inline functions answer EOPNOTSUPP.
#include "provider/api/objects.h"

namespace hawser::verbs {

void fill_operations(OpenedDevice& opened) {
  verbs_context& verbs = opened.verbs;
  verbs.sz = sizeof verbs;
  verbs.query_port = query_port;
  verbs.query_device_ex = query_device_ex;
  verbs.query_rt_values = query_rt_values;
  verbs.create_qp_ex = create_qp_ex;
  verbs.open_qp = open_qp;
  verbs.create_srq_ex = create_srq_ex;
  verbs.get_srq_num = get_srq_number;
  verbs.open_xrcd = open_xrcd;
  verbs.close_xrcd = close_xrcd;
  verbs.create_cq_ex = create_cq_ex;
  verbs.alloc_td = allocate_thread_domain;
  verbs.dealloc_td = free_thread_domain;
  verbs.alloc_parent_domain = allocate_parent_domain;
  ibv_context& context = verbs.context;
  context.abi_compat = __VERBS_ABI_IS_EXTENDED;
  context.ops.alloc_mw = allocate_window;
  context.ops.bind_mw = bind_window;
  context.ops.dealloc_mw = free_window;
  context.ops.poll_cq = poll_cq;
  context.ops.req_notify_cq = request_notification;
  context.ops.post_srq_recv = post_shared_receive;
  context.ops.post_send = post_send;
  context.ops.post_recv = post_receive;
}

}  // namespace hawser::verbs
