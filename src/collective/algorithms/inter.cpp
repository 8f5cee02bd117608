#include "collective/algorithms/inter.h"

#include "base/assert.h"

namespace hawser::algorithms {

Task inter_spread(Operation& operation, std::byte* data, std::int64_t bytes) {
  operation.switch_groups();
  operation.plan = Plan{};
  operation.plan.receive.base = data;
  operation.plan.receive.size = bytes;
  if (operation.size() > 1) co_await broadcast_binomial(operation);
  operation.switch_groups();
}

Task inter_collect(Operation& operation) {
  operation.switch_groups();
  operation.plan.root = 0;
  if (operation.size() > 1) co_await reduce_binomial(operation);
  operation.switch_groups();
}

Task inter(Operation& operation) {
  switch (operation.call.kind) {
    case Collective::barrier:
      return inter_barrier(operation);
    case Collective::broadcast:
      return inter_broadcast(operation);
    case Collective::gather:
    case Collective::gatherv:
    case Collective::scatter:
    case Collective::scatterv:
    case Collective::allgather:
    case Collective::allgatherv:
    case Collective::alltoall:
    case Collective::alltoallv:
    case Collective::alltoallw:
      return inter_linear(operation);
    case Collective::reduce:
      return inter_reduce(operation);
    case Collective::allreduce:
      return inter_allreduce(operation);
    case Collective::reduce_scatter_block:
    case Collective::reduce_scatter:
      return inter_reduce_scatter(operation);
    case Collective::scan:
    case Collective::exscan:
      break;  // there are none: who describes the call refuses
  }
  HAWSER_UNREACHABLE();
}

}  // namespace hawser::algorithms
