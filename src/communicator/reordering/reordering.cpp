#include "communicator/reordering/reordering.h"

#include <algorithm>

#include "base/assert.h"
#include "communicator/reordering/graph_orders.h"

namespace hawser {

namespace {

// Edges to look at for one order: a fraction of a second, however large the job is.
constexpr std::int64_t order_work = std::int64_t{1} << 26;

// Keeps the best of the orders it is shown, the first of equals.
class Choice {
 public:
  Choice(const Places& places, const EdgeGraph& graph) : places_(places), graph_(graph) {
    HAWSER_ASSERT(places.size() == graph.size());
    for (int slot = 0; slot < places.size(); ++slot) order_.push_back(places.process_of(slot));
    cost_ = cost_of(places, graph, order_);
  }

  bool perfect() const {
    return std::ranges::all_of(cost_, [](std::int64_t cut) { return cut == 0; });
  }

  void consider(std::vector<int> order) {
    Cost cost = cost_of(places_, graph_, order);
    if (cost >= cost_) return;
    cost_ = std::move(cost);
    order_ = std::move(order);
  }
  void consider_refined(std::vector<int> order) {
    refine_order(places_, graph_, order, order_work);
    consider(std::move(order));
  }
  const std::vector<int>& order() const { return order_; }

  std::vector<int> processes() const {
    std::vector<int> processes(order_.size());
    for (std::size_t slot = 0; slot < order_.size(); ++slot)
      processes[static_cast<std::size_t>(order_[slot])] = places_.process_of(static_cast<int>(slot));
    return processes;
  }

 private:
  const Places& places_;
  const EdgeGraph& graph_;
  std::vector<int> order_;  // to begin with, each process's own rank in its slot
  Cost cost_;
};

int largest_group(const Places& places) {
  const std::vector<int>& starts = places.starts(0);
  int largest = 0;
  for (std::size_t group = 0; group + 1 < starts.size(); ++group)
    largest = std::max(largest, starts[group + 1] - starts[group]);
  return largest;
}

}  // namespace

std::vector<int> reorder_grid(const Places& places, const Grid& grid) {
  const EdgeGraph graph(grid.size(), edges_of(grid));
  Choice choice(places, graph);
  if (choice.perfect()) return choice.processes();
  if (std::vector<int> blocks = order_in_blocks(places, grid); !blocks.empty())
    choice.consider(std::move(blocks));
  const int trials = std::clamp((1 << 21) / grid.size(), 4, 64);
  for (std::vector<int>& order :
       orders_in_strips(grid, largest_group(places), static_cast<std::size_t>(trials)))
    choice.consider(std::move(order));
  choice.consider_refined(choice.order());
  choice.consider_refined(divided_order(places, graph, order_work));
  return choice.processes();
}

std::vector<int> reorder_graph(const Places& places, std::span<const WeightedEdge> edges) {
  const EdgeGraph graph(places.size(), edges);
  Choice choice(places, graph);
  if (choice.perfect()) return choice.processes();
  choice.consider_refined(choice.order());
  choice.consider_refined(divided_order(places, graph, order_work));
  return choice.processes();
}

}  // namespace hawser
