// Allreduce: each group gets the result of the other. Both reduce at their first ranks, which exchange the
// results and spread what they got.
#include "collective/algorithms/inter.h"
#include "collective/place.h"
#include "collective/plan.h"

namespace hawser::algorithms {

Task inter_allreduce(Operation& operation) {
  const Place result = whole(operation.call.receive);
  plan_operands(operation, nullptr, result.count);
  co_await inter_collect(operation);
  std::byte* bytes = result.plain() ? result.first_byte() : operation.scratch(result.bytes());
  if (operation.rank() == 0) {
    operation.receive(0, bytes, result.bytes());
    operation.send_elements(0, operation.plan.operands.data, result.count, *result.type);
    co_await operation.arrived();
  }
  co_await inter_spread(operation, bytes, result.bytes());
  if (!result.plain()) unpack(bytes, result);
}

}  // namespace hawser::algorithms
