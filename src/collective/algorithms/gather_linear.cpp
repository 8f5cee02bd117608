// Gather straight to the root; the only way that needs no knowledge of the others' amounts.
#include "collective/algorithms/algorithms.h"

namespace hawser::algorithms {

Task gather_linear(Operation& operation) {
  const Plan& plan = operation.plan;
  if (operation.rank() == plan.root) {
    for (int r = 0; r < operation.size(); ++r) {
      if (r != plan.root && plan.receive.bytes(r) > 0) {
        operation.receive(r, plan.receive.at(r), plan.receive.bytes(r));
      }
    }
  } else if (plan.send.size > 0) {
    operation.send(plan.root, plan.send.base, plan.send.size);
  }
  co_await operation.arrived();
}

}  // namespace hawser::algorithms
