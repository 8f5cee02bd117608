// Memory windows: keys for remote access that come and go without a call, by requests in a send queue.
#include "fabric/adapter/memory.h"
#include "provider/api/objects.h"

namespace hawser::verbs {

ibv_mw* allocate_window(ibv_pd* pd, ibv_mw_type type) {
  Request request;
  request.call = Call::create_window;
  request.domain = pd->handle;
  request.number = static_cast<std::uint32_t>(type);
  const Reply reply = OpenedDevice::of(pd->context).link->call(request);
  if (reply.error != 0) return fail_with(reply.error);
  return new ibv_mw{pd->context, pd, reply.object, fabric::MemoryTable::number_of(reply.object), type};
}

int free_window(ibv_mw* window) {
  Request request;
  request.call = Call::destroy_window;
  request.object = window->handle;
  const int error = OpenedDevice::of(window->context).link->call(request).error;
  if (error == 0) delete window;
  return error;
}

void fill_bind(SendSlot& slot, const ibv_mw& window, std::uint32_t new_key, const ibv_mw_bind_info& info) {
  slot.window_key = window.rkey;
  slot.rkey = new_key;
  slot.region_key = info.mr != nullptr ? info.mr->lkey : 0;
  slot.remote_address = info.addr;
  slot.window_length = info.length;
  slot.window_access = info.mw_access_flags;
}

// Type 1: the library chooses the new key.
int bind_window(ibv_qp* qp, ibv_mw* window, ibv_mw_bind* wanted) {
  const ibv_mw_bind_info& info = wanted->bind_info;
  if (info.mr == nullptr && info.length != 0) return EINVAL;
  if (info.mr != nullptr && info.mr->pd->handle != window->pd->handle) return EPERM;
  ibv_send_wr request{};
  request.opcode = IBV_WR_BIND_MW;
  request.wr_id = wanted->wr_id;
  request.send_flags = wanted->send_flags;
  request.bind_mw.mw = window;
  request.bind_mw.rkey = ibv_inc_rkey(window->rkey);
  request.bind_mw.bind_info = info;
  ibv_send_wr* bad = nullptr;
  const int error = post_send(qp, &request, &bad);
  if (error == 0) window->rkey = request.bind_mw.rkey;
  return error;
}

}  // namespace hawser::verbs
