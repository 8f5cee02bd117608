// Allreduce of two levels: reduced within every node to its leader, among the leaders, and spread from them.
#include "collective/algorithms/two_level.h"
#include "collective/place.h"

namespace hawser::algorithms {

Task allreduce_two_level(Operation& operation) {
  const NodeLayout& nodes = *operation.nodes();
  const bool leads = nodes.place == 0;
  const std::int64_t elements = operation.plan.operands.count;
  const std::int64_t bytes = elements * operation.plan.operands.type->size;
  if (takes_turns(operation)) co_await meet_in_background(operation);
  among_node(operation);
  const bool alone = operation.size() == 1;
  operation.plan.root = 0;
  if (!alone) co_await best(operation, Collective::reduce, bytes, elements);
  if (leads) {
    among_leaders(operation, nodes.leaders.data());
    co_await best_between(operation, Collective::allreduce, bytes, elements);
    among_node(operation);
  }
  if (!alone) {
    const Place result{operation.plan.operands.data, elements, operation.plan.operands.type};
    operation.plan.receive.size = bytes;
    operation.plan.receive.base = result.plain() ? result.first_byte() : operation.scratch(bytes);
    if (leads && !result.plain()) pack(result, operation.plan.receive.base);
    co_await best(operation, Collective::broadcast, bytes);
    if (!leads && !result.plain()) unpack(operation.plan.receive.base, result);
  }
  operation.among_all();
}

}  // namespace hawser::algorithms
