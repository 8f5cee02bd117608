// Alltoall of short equal blocks by Bruck's index algorithm (Bruck et al. 1997): log(ranks) rounds; in
// round k the blocks whose distance to their destination has bit k set move 2^k ranks on.
#include <cstring>

#include "collective/algorithms/algorithms.h"

namespace hawser::algorithms {

Task alltoall_bruck(Operation& operation) {
  const Plan& plan = operation.plan;
  const int ranks = operation.size();
  const int rank = operation.rank();
  const std::int64_t block = plan.receive.size;
  // moving[i]: the block that has still `i` ranks to go at first; later the one that came from rank - i.
  std::byte* moving = operation.scratch(ranks * block);
  for (int i = 1; i < ranks; ++i) operation.copy(moving + i * block, plan.send.at((rank + i) % ranks), block);
  std::byte* out = operation.scratch((ranks / 2 + 1) * block);
  std::byte* in = operation.scratch((ranks / 2 + 1) * block);

  for (int distance = 1; distance < ranks; distance *= 2) {
    std::int64_t packed = 0;
    for (int i = distance; i < ranks; ++i) {
      if ((i & distance) == 0) continue;
      operation.copy(out + packed, moving + i * block, block);
      packed += block;
    }
    operation.receive((rank - distance + ranks) % ranks, in, packed);
    operation.send((rank + distance) % ranks, out, packed);
    co_await operation.arrived();
    packed = 0;
    for (int i = distance; i < ranks; ++i) {
      if ((i & distance) == 0) continue;
      operation.copy(moving + i * block, in + packed, block);
      packed += block;
    }
  }
  for (int i = 1; i < ranks; ++i) {
    operation.copy(plan.receive.at((rank - i + ranks) % ranks), moving + i * block, block);
  }
}

}  // namespace hawser::algorithms
