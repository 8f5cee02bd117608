// EdgeGraph: who talks with whom, and how much: an undirected graph with weights, whose vertices are the
// ranks of a communicator to be. Immutable. Edges between the same two vertices, in either direction, are one
// edge with the sum of their weights; edges from a vertex to itself do not count.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "communicator/reordering/places.h"

namespace hawser {

struct WeightedEdge {
  std::int32_t source;
  std::int32_t destination;
  std::int32_t weight;  // not negative
};

class EdgeGraph {
 public:
  EdgeGraph(int vertices, std::span<const WeightedEdge> edges);

  struct Neighbor {
    std::int32_t vertex;
    std::int64_t weight;
  };
  int size() const { return static_cast<int>(first_.size()) - 1; }
  std::span<const Neighbor> neighbors(int vertex) const {
    const std::size_t begin = first_[static_cast<std::size_t>(vertex)];
    return {neighbors_.data() + begin, first_[static_cast<std::size_t>(vertex) + 1] - begin};
  }
  std::size_t neighbor_count() const { return neighbors_.size(); }  // of all vertices together

 private:
  std::vector<std::size_t> first_;  // in neighbors_
  std::vector<Neighbor> neighbors_;
};

// The weight of the edges between different groups, for each level of the places. Compares as the distance
// does: what goes between nodes first, then what goes between the parts of nodes.
using Cost = std::vector<std::int64_t>;
// `order[slot]` is the vertex in that slot.
Cost cost_of(const Places& places, const EdgeGraph& graph, std::span<const int> order);

}  // namespace hawser
