// Reduce-scatter: each group gets the result of the other, in parts that its own processes ask for. The first
// ranks exchange whole results and deal them out.
#include "collective/algorithms/inter.h"
#include "collective/place.h"
#include "collective/plan.h"

namespace hawser::algorithms {

namespace {

std::int64_t part_of(const CallSide& side, int rank) {
  return side.counts ? side.counts[static_cast<std::size_t>(rank)] : side.count;
}

// At rank 0 of the group, with the messages going to it.
void deal_out(Operation& operation, const std::byte* elements) {
  const CallSide& side = operation.call.receive;
  for (int r = 0; r < operation.size(); ++r) {
    operation.send_elements(r, elements, part_of(side, r), *side.type);
    elements += part_of(side, r) * side.type->extent;
  }
}

}  // namespace

Task inter_reduce_scatter(Operation& operation) {
  const CallSide& side = operation.call.receive;
  operation.switch_groups();
  std::int64_t total = 0;
  for (int r = 0; r < operation.size(); ++r) total += part_of(side, r);
  operation.switch_groups();

  plan_operands(operation, nullptr, total);
  co_await inter_collect(operation);
  std::byte* theirs = nullptr;
  if (operation.rank() == 0) {
    theirs = operation.scratch_elements(total, *side.type);
    operation.receive_elements(0, theirs, total, *side.type);
    operation.send_elements(0, operation.plan.operands.data, total, *side.type);
    co_await operation.arrived();
  }
  operation.switch_groups();
  operation.receive_elements(0, address(side.buffer), part_of(side, operation.rank()), *side.type);
  if (operation.rank() == 0) deal_out(operation, theirs);
  co_await operation.arrived();
  operation.switch_groups();
}

}  // namespace hawser::algorithms
