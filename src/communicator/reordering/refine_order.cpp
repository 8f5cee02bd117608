#include "communicator/reordering/graph_orders.h"

#include <algorithm>
#include <utility>

namespace hawser {

namespace {

class Refinement {
 public:
  Refinement(const Places& places, const EdgeGraph& graph, std::vector<int>& order, std::int64_t work)
      : places_(places), graph_(graph), order_(order), slot_of_(order.size()), work_(work) {
    for (std::size_t slot = 0; slot < order.size(); ++slot)
      slot_of_[static_cast<std::size_t>(order[slot])] = static_cast<int>(slot);
  }

  void run() {
    for (level_ = 0; level_ < places_.levels(); ++level_) {
      bool improved = true;
      while (improved && work_ > 0) {
        improved = false;
        for (int vertex = 0; vertex < graph_.size() && work_ > 0; ++vertex)
          improved = improve(vertex) || improved;
      }
    }
  }

 private:
  int slot_of(int vertex) const { return slot_of_[static_cast<std::size_t>(vertex)]; }
  int group_at(int level, int slot) const { return places_.groups(level)[static_cast<std::size_t>(slot)]; }
  int group_of(int vertex) const { return group_at(level_, slot_of(vertex)); }
  bool may_exchange(int slot, int other) const {
    return level_ == 0 || group_at(level_ - 1, slot) == group_at(level_ - 1, other);
  }

  // What the cut loses when the vertex goes from its group to another one.
  std::int64_t gain_of_moving(int vertex, int group) {
    const int own = group_of(vertex);
    std::int64_t gain = 0;
    for (const EdgeGraph::Neighbor& neighbor : graph_.neighbors(vertex)) {
      const int there = group_of(neighbor.vertex);
      if (there == group) gain += neighbor.weight;
      if (there == own) gain -= neighbor.weight;
    }
    work_ -= static_cast<std::int64_t>(graph_.neighbors(vertex).size()) + 1;
    return gain;
  }

  // Makes the best exchange with a vertex of a group where the vertex has neighbours, if one is good.
  bool improve(int vertex) {
    const int own = group_of(vertex);
    groups_.clear();
    for (const EdgeGraph::Neighbor& neighbor : graph_.neighbors(vertex)) {
      const int slot = slot_of(neighbor.vertex);
      const int group = group_at(level_, slot);
      if (group != own && may_exchange(slot, slot_of(vertex))) groups_.push_back(group);
    }
    std::sort(groups_.begin(), groups_.end());
    groups_.erase(std::unique(groups_.begin(), groups_.end()), groups_.end());
    std::int64_t best_gain = 0;
    int best_slot = -1;
    for (const int group : groups_) {
      const std::int64_t there = gain_of_moving(vertex, group);
      const auto& starts = places_.starts(level_);
      const int end = starts[static_cast<std::size_t>(group) + 1];
      for (int slot = starts[static_cast<std::size_t>(group)]; slot < end && work_ > 0; ++slot) {
        const int other = order_[static_cast<std::size_t>(slot)];
        std::int64_t gain = there + gain_of_moving(other, own);
        if (gain <= best_gain) continue;
        gain -= 2 * weight_between(vertex, other);
        if (gain <= best_gain) continue;
        best_gain = gain;
        best_slot = slot;
      }
    }
    if (best_slot < 0) return false;
    const int slot = slot_of(vertex), other = order_[static_cast<std::size_t>(best_slot)];
    std::swap(order_[static_cast<std::size_t>(slot)], order_[static_cast<std::size_t>(best_slot)]);
    slot_of_[static_cast<std::size_t>(vertex)] = best_slot;
    slot_of_[static_cast<std::size_t>(other)] = slot;
    return true;
  }

  std::int64_t weight_between(int vertex, int other) const {
    const auto neighbors = graph_.neighbors(vertex);
    const auto found =
        std::ranges::lower_bound(neighbors, other, {}, [](const EdgeGraph::Neighbor& n) { return n.vertex; });
    return found != neighbors.end() && found->vertex == other ? found->weight : 0;
  }

  const Places& places_;
  const EdgeGraph& graph_;
  std::vector<int>& order_;
  std::vector<int> slot_of_;
  std::vector<int> groups_;  // of neighbours; used in improve
  int level_ = 0;
  std::int64_t work_;
};

}  // namespace

void refine_order(const Places& places, const EdgeGraph& graph, std::vector<int>& order, std::int64_t work) {
  Refinement(places, graph, order, work).run();
}

}  // namespace hawser
