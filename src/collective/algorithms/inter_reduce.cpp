// Reduce of one group at a process of the other: at the group's own first rank, which sends the result.
#include "collective/algorithms/inter.h"
#include "collective/place.h"
#include "collective/plan.h"

namespace hawser::algorithms {

Task inter_reduce(Operation& operation) {
  const CollectiveCall& call = operation.call;
  if (call.root == proc_null) co_return;
  const Place result = whole(call.receive);
  if (call.root == root_rank) {
    operation.receive_elements(0, result.buffer, result.count, *result.type);
    co_await operation.arrived();
    co_return;
  }
  plan_operands(operation, nullptr, result.count);
  co_await inter_collect(operation);
  if (operation.rank() == 0) {
    operation.send_elements(call.root, operation.plan.operands.data, result.count, *result.type);
    co_await operation.arrived();
  }
}

}  // namespace hawser::algorithms
