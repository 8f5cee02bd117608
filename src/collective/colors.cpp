#include "collective/colors.h"

#include <algorithm>

#include "collective/algorithms/algorithms.h"

namespace hawser {

static Task gather(Operation& operation, ColorAndKey* of_ranks) {
  operation.plan = Plan{};
  operation.plan.receive.base = reinterpret_cast<std::byte*>(of_ranks);
  operation.plan.receive.size = sizeof(ColorAndKey);
  co_await algorithms::allgather_bruck(operation);
}

Result<std::vector<ColorAndKey>> gather_colors(CollectiveEngine& engine, Communicator& communicator,
                                               ColorAndKey own) {
  std::vector<ColorAndKey> of_ranks(static_cast<std::size_t>(communicator.size()));
  of_ranks[static_cast<std::size_t>(communicator.rank())] = own;
  HAWSER_TRY(engine.run_task(
      communicator, [&of_ranks](Operation& operation) { return gather(operation, of_ranks.data()); }));
  return of_ranks;
}

Ref<Group> group_of_color(const std::vector<ColorAndKey>& of_ranks, int color, const Group& group) {
  std::vector<int> ranks;
  for (int r = 0; r < group.size(); ++r) {
    if (of_ranks[static_cast<std::size_t>(r)].color == color) ranks.push_back(r);
  }
  std::stable_sort(ranks.begin(), ranks.end(), [&of_ranks](int a, int b) {
    return of_ranks[static_cast<std::size_t>(a)].key < of_ranks[static_cast<std::size_t>(b)].key;
  });
  std::vector<ProcessIndex> processes;
  for (const int rank : ranks) processes.push_back(group.process_of(rank));
  return make_counted<Group>(std::move(processes));
}

}  // namespace hawser
