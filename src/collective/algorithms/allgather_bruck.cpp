// Allgather by Bruck's concatenation (Bruck et al. 1997): log(ranks) rounds for any number of ranks; each
// round doubles the run of blocks that a rank holds, counted from its own. Blocks may differ in size.
#include <algorithm>
#include <cstring>

#include "collective/algorithms/algorithms.h"

namespace hawser::algorithms {

Task allgather_bruck(Operation& operation) {
  const Blocks& blocks = operation.plan.receive;
  const int ranks = operation.size();
  const int rank = operation.rank();
  // ends[i]: bytes of the blocks of ranks rank .. rank + i - 1 (around).
  std::int64_t* ends = operation.scratch_numbers(ranks + 1);
  ends[0] = 0;
  for (int i = 0; i < ranks; ++i) ends[i + 1] = ends[i] + blocks.bytes((rank + i) % ranks);
  std::byte* run = operation.scratch(ends[ranks]);
  operation.copy(run, blocks.at(rank), ends[1]);

  for (int held = 1; held < ranks; held *= 2) {
    const int wanted = std::min(held, ranks - held);
    operation.receive((rank + held) % ranks, run + ends[held], ends[held + wanted] - ends[held]);
    operation.send((rank - held + ranks) % ranks, run, ends[wanted]);
    co_await operation.arrived();
  }
  for (int i = 1; i < ranks; ++i) {
    const int r = (rank + i) % ranks;
    operation.copy(blocks.at(r), run + ends[i], blocks.bytes(r));
  }
}

}  // namespace hawser::algorithms
