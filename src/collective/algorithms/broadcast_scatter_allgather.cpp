// Broadcast of long data (van de Geijn; Thakur and Gropp 2003): scatter the data in as many pieces as there
// are ranks down a binomial tree, then collect the pieces around a ring. Everyone sends and receives about
// twice the data, whatever the number of ranks.
#include <algorithm>

#include "collective/algorithms/algorithms.h"
#include "collective/algorithms/tree_blocks.h"

namespace hawser::algorithms {

namespace {

// Piece `i` of the data; ranks count from the root.
struct Pieces {
  std::byte* base;
  std::int64_t total;
  std::int64_t size;

  std::int64_t start(int i) const { return std::min(total, i * size); }
  std::byte* at(int i) const { return base + start(i); }
  std::int64_t bytes(int first, int end) const { return start(end) - start(first); }
};

}  // namespace

Task broadcast_scatter_allgather(Operation& operation) {
  const int ranks = operation.size();
  const int root = operation.plan.root;
  const int relative = (operation.rank() - root + ranks) % ranks;
  const Blocks& data = operation.plan.receive;
  const Pieces pieces{data.base, data.size, (data.size + ranks - 1) / ranks};

  // Scatter: the subtree of a rank is the `distance` ranks from it on.
  int distance = 1;
  while (distance < ranks && (relative & distance) == 0) distance *= 2;
  if (relative != 0) {
    const int end = std::min(relative + distance, ranks);
    operation.receive((relative - distance + root) % ranks, pieces.at(relative), pieces.bytes(relative, end));
    co_await operation.arrived();
  }
  for (distance /= 2; distance > 0; distance /= 2) {
    const int child = relative + distance;
    if (child >= ranks) continue;
    const int end = std::min(child + distance, ranks);
    const int to = (child + root) % ranks;
    operation.send(to, pieces.at(child), pieces.bytes(child, end));
    if (pieces.bytes(child, end) > most_at_once(operation, to)) co_await operation.arrived();
  }
  co_await operation.arrived();

  const int right = (operation.rank() + 1) % ranks;
  const int left = (operation.rank() - 1 + ranks) % ranks;
  for (int step = 0; step < ranks - 1; ++step) {
    const int out = (relative - step + ranks) % ranks;
    const int in = (relative - step - 1 + ranks) % ranks;
    operation.receive(left, pieces.at(in), pieces.bytes(in, in + 1));
    operation.send(right, pieces.at(out), pieces.bytes(out, out + 1));
    co_await operation.arrived();
  }
}

}  // namespace hawser::algorithms
