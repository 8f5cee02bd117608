// Alltoall with many messages at once, a window of partners at a time so that a thousand ranks do not
// flood each other. Blocks may differ in size; empty ones are not sent.
#include <algorithm>

#include "collective/algorithms/algorithms.h"

namespace hawser::algorithms {

Task alltoall_linear(Operation& operation) {
  const Plan& plan = operation.plan;
  const int ranks = operation.size();
  const int rank = operation.rank();
  for (int first = 1; first < ranks; first += alltoall_window) {
    const int end = std::min(first + alltoall_window, ranks);
    for (int i = first; i < end; ++i) {
      const int from = (rank - i + ranks) % ranks;
      if (plan.receive.bytes(from) > 0)
        operation.receive(from, plan.receive.at(from), plan.receive.bytes(from));
    }
    for (int i = first; i < end; ++i) {
      const int to = (rank + i) % ranks;
      if (plan.send.bytes(to) > 0) operation.send(to, plan.send.at(to), plan.send.bytes(to));
    }
    co_await operation.arrived();
  }
}

}  // namespace hawser::algorithms
