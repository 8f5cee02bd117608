// Allgather around a ring: every block travels once over every link; for long data, and blocks of any size.
#include "collective/algorithms/algorithms.h"

namespace hawser::algorithms {

Task allgather_ring(Operation& operation) {
  const Blocks& blocks = operation.plan.receive;
  const int ranks = operation.size();
  const int rank = operation.rank();
  const int right = (rank + 1) % ranks;
  const int left = (rank - 1 + ranks) % ranks;
  for (int step = 0; step < ranks - 1; ++step) {
    const int out = (rank - step + ranks) % ranks;
    const int in = (rank - step - 1 + ranks) % ranks;
    operation.receive(left, blocks.at(in), blocks.bytes(in));
    operation.send(right, blocks.at(out), blocks.bytes(out));
    co_await operation.arrived();
  }
}

}  // namespace hawser::algorithms
