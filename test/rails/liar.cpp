#include "rails/liar.h"

#include <algorithm>

#include "testbed/linked_provider/linked_provider.h"

namespace hawser::rails_test {
namespace {

const Lie* lie_now = nullptr;
const Forgets* forgets_now = nullptr;
decltype(ibv_context_ops::post_send) honest_post_send = nullptr;
decltype(ibv_context_ops::poll_cq) honest_poll = nullptr;

int post_lies(ibv_qp* pair, ibv_send_wr* requests, ibv_send_wr** bad) {
  for (ibv_send_wr* each = *lie_now != nullptr ? requests : nullptr; each != nullptr; each = each->next) {
    if (each->opcode != IBV_WR_SEND || each->num_sge != 1) continue;
    ibv_sge& segment = each->sg_list[0];
    std::byte* const bytes = reinterpret_cast<std::byte*>(segment.addr);
    segment.length =
        static_cast<std::uint32_t>((*lie_now)(pair->qp_type == IBV_QPT_UD, {bytes, segment.length}));
  }
  return honest_post_send(pair, requests, bad);
}

int poll_lies(ibv_cq* queue, int most, ibv_wc* into) {
  const int found = honest_poll(queue, most, into);
  const bool of_datagrams_sent = queue->channel == nullptr;
  if (found <= 0 || of_datagrams_sent || *forgets_now == nullptr || !(*forgets_now)()) return found;
  const auto forgotten = [](const ibv_wc& done) {
    return done.status == IBV_WC_SUCCESS && (done.opcode == IBV_WC_SEND || done.opcode == IBV_WC_RDMA_READ);
  };
  return static_cast<int>(std::remove_if(into, into + found, forgotten) - into);
}

ibv_context* open_lying(ibv_device* device) {
  ibv_context* const context = linked_provider_functions().open_device(device);
  if (context == nullptr) return nullptr;
  honest_post_send = context->ops.post_send;
  context->ops.post_send = post_lies;
  honest_poll = context->ops.poll_cq;
  context->ops.poll_cq = poll_lies;
  return context;
}

}  // namespace

rdma::VerbsFunctions lying_functions(const Lie& lie, const Forgets& forgets) {
  lie_now = &lie;
  forgets_now = &forgets;
  rdma::VerbsFunctions functions = linked_provider_functions();
  functions.open_device = open_lying;
  return functions;
}

}  // namespace hawser::rails_test
