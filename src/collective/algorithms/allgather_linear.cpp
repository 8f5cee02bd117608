// Allgather with all messages at once: everyone sends its block to everyone. One round, for few ranks.
#include "collective/algorithms/algorithms.h"

namespace hawser::algorithms {

Task allgather_linear(Operation& operation) {
  const Blocks& blocks = operation.plan.receive;
  const int ranks = operation.size();
  const int rank = operation.rank();
  for (int i = 1; i < ranks; ++i) {
    const int from = (rank - i + ranks) % ranks;
    operation.receive(from, blocks.at(from), blocks.bytes(from));
  }
  for (int i = 1; i < ranks; ++i) operation.send((rank + i) % ranks, blocks.at(rank), blocks.bytes(rank));
  co_await operation.arrived();
}

}  // namespace hawser::algorithms
