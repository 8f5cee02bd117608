// Allgather by recursive doubling, for powers of two: partners exchange all they hold. Blocks may differ in
// size.
#include "collective/algorithms/algorithms.h"
#include "collective/algorithms/consecutive_blocks.h"

namespace hawser::algorithms {

Task allgather_recursive_doubling(Operation& operation) {
  const Blocks& blocks = operation.plan.receive;
  const int ranks = operation.size();
  const int rank = operation.rank();
  std::int64_t* const starts = operation.scratch_numbers(ranks + 1);
  starts[0] = 0;
  for (int r = 0; r < ranks; ++r) starts[r + 1] = starts[r] + blocks.bytes(r);
  std::byte* row = consecutive_blocks(blocks, ranks);
  const bool copied = row == nullptr;
  if (copied) {
    row = operation.scratch(starts[ranks]);
    operation.copy(row + starts[rank], blocks.at(rank), blocks.bytes(rank));
  }
  for (int distance = 1; distance < ranks; distance *= 2) {
    const int partner = rank ^ distance;
    const int mine = rank & ~(distance - 1);
    const int theirs = partner & ~(distance - 1);
    operation.receive(partner, row + starts[theirs], starts[theirs + distance] - starts[theirs]);
    operation.send(partner, row + starts[mine], starts[mine + distance] - starts[mine]);
    co_await operation.arrived();
  }
  for (int r = 0; copied && r < ranks; ++r)
    if (r != rank) operation.copy(blocks.at(r), row + starts[r], blocks.bytes(r));
}

}  // namespace hawser::algorithms
