// Alltoall of long blocks in rounds of one partner each: no rank receives from two at once.
#include "collective/algorithms/algorithms.h"

namespace hawser::algorithms {

Task alltoall_pairwise(Operation& operation) {
  const Plan& plan = operation.plan;
  const int ranks = operation.size();
  const int rank = operation.rank();
  const bool power_of_two = (ranks & (ranks - 1)) == 0;
  for (int i = 1; i < ranks; ++i) {
    const int to = power_of_two ? rank ^ i : (rank + i) % ranks;
    const int from = power_of_two ? to : (rank - i + ranks) % ranks;
    if (plan.receive.bytes(from) > 0)
      operation.receive(from, plan.receive.at(from), plan.receive.bytes(from));
    if (plan.send.bytes(to) > 0) operation.send(to, plan.send.at(to), plan.send.bytes(to));
    co_await operation.arrived();
  }
}

}  // namespace hawser::algorithms
