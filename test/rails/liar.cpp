#include "rails/liar.h"

#include "testbed/linked_provider/linked_provider.h"

namespace hawser::rails_test {
namespace {

const Lie* lie_now = nullptr;
decltype(ibv_context_ops::post_send) honest_post_send = nullptr;

int post_lies(ibv_qp* pair, ibv_send_wr* requests, ibv_send_wr** bad) {
  for (ibv_send_wr* each = requests; each != nullptr; each = each->next) {
    if (each->opcode != IBV_WR_SEND || each->num_sge != 1) continue;
    ibv_sge& segment = each->sg_list[0];
    std::byte* const bytes = reinterpret_cast<std::byte*>(segment.addr);
    segment.length =
        static_cast<std::uint32_t>((*lie_now)(pair->qp_type == IBV_QPT_UD, {bytes, segment.length}));
  }
  return honest_post_send(pair, requests, bad);
}

ibv_context* open_lying(ibv_device* device) {
  ibv_context* const context = linked_provider_functions().open_device(device);
  if (context == nullptr) return nullptr;
  honest_post_send = context->ops.post_send;
  context->ops.post_send = post_lies;
  return context;
}

}  // namespace

rdma::VerbsFunctions lying_functions(const Lie& lie) {
  lie_now = &lie;
  rdma::VerbsFunctions functions = linked_provider_functions();
  functions.open_device = open_lying;
  return functions;
}

}  // namespace hawser::rails_test
