// Scatter straight from the root; the only way that needs no knowledge of the others' amounts.
#include "collective/algorithms/algorithms.h"

namespace hawser::algorithms {

Task scatter_linear(Operation& operation) {
  const Plan& plan = operation.plan;
  if (operation.rank() == plan.root) {
    for (int i = 1; i < operation.size(); ++i) {
      const int r = (plan.root + i) % operation.size();
      if (plan.send.bytes(r) > 0) operation.send(r, plan.send.at(r), plan.send.bytes(r));
    }
  } else if (plan.receive.size > 0) {
    operation.receive(plan.root, plan.receive.base, plan.receive.size);
  }
  co_await operation.arrived();
}

}  // namespace hawser::algorithms
