#include "communicator/reordering/edge_graph.h"

#include <algorithm>

namespace hawser {

EdgeGraph::EdgeGraph(int vertices, std::span<const WeightedEdge> edges)
    : first_(static_cast<std::size_t>(vertices) + 1) {
  // Sorted by counting: where the neighbours of each vertex begin, then filled in from there.
  for (const WeightedEdge& edge : edges) {
    if (edge.source == edge.destination) continue;
    ++first_[static_cast<std::size_t>(edge.source) + 1];
    ++first_[static_cast<std::size_t>(edge.destination) + 1];
  }
  for (std::size_t i = 1; i < first_.size(); ++i) first_[i] += first_[i - 1];
  neighbors_.resize(first_.back());
  std::vector<std::size_t> next(first_.begin(), first_.end() - 1);
  for (const WeightedEdge& edge : edges) {
    if (edge.source == edge.destination) continue;
    neighbors_[next[static_cast<std::size_t>(edge.source)]++] = {edge.destination, edge.weight};
    neighbors_[next[static_cast<std::size_t>(edge.destination)]++] = {edge.source, edge.weight};
  }
  std::size_t kept = 0;
  for (std::size_t vertex = 0; vertex + 1 < first_.size(); ++vertex) {
    const auto begin = neighbors_.begin() + static_cast<std::ptrdiff_t>(first_[vertex]);
    const auto end = neighbors_.begin() + static_cast<std::ptrdiff_t>(first_[vertex + 1]);
    std::sort(begin, end, [](const Neighbor& a, const Neighbor& b) { return a.vertex < b.vertex; });
    first_[vertex] = kept;
    for (auto neighbor = begin; neighbor != end; ++neighbor) {
      if (kept > first_[vertex] && neighbors_[kept - 1].vertex == neighbor->vertex)
        neighbors_[kept - 1].weight += neighbor->weight;
      else
        neighbors_[kept++] = *neighbor;
    }
  }
  first_.back() = kept;
  neighbors_.resize(kept);
}

Cost cost_of(const Places& places, const EdgeGraph& graph, std::span<const int> order) {
  std::vector<int> slot_of(order.size());
  for (std::size_t slot = 0; slot < order.size(); ++slot)
    slot_of[static_cast<std::size_t>(order[slot])] = static_cast<int>(slot);
  Cost cost(static_cast<std::size_t>(places.levels()));
  for (int vertex = 0; vertex < graph.size(); ++vertex) {
    const auto here = static_cast<std::size_t>(slot_of[static_cast<std::size_t>(vertex)]);
    for (const EdgeGraph::Neighbor& neighbor : graph.neighbors(vertex)) {
      if (neighbor.vertex < vertex) continue;  // counted there
      const auto there = static_cast<std::size_t>(slot_of[static_cast<std::size_t>(neighbor.vertex)]);
      // From the innermost level outwards, until a group has both.
      for (int level = places.levels();
           level-- > 0 && places.groups(level)[here] != places.groups(level)[there];)
        cost[static_cast<std::size_t>(level)] += neighbor.weight;
    }
  }
  return cost;
}

}  // namespace hawser
