// Topology: the virtual topology that a communicator may carry (MPI-5.0 chapter 8). Immutable, and about one
// process: it knows its own neighbours, in the order in which neighbourhood collectives use them.
// Duplicates of a communicator share it.
#pragma once

#include <vector>

#include "base/counted.h"
#include "base/result.h"
#include "communicator/communicator.h"

namespace hawser {

// The answers of MPI_Topo_test, numbered as in the standard ABI.
namespace topology_kind {
inline constexpr int cartesian = 211;
inline constexpr int graph = 212;
inline constexpr int distributed_graph = 213;
}  // namespace topology_kind

struct Neighbors {
  std::vector<int> sources;       // received from; proc_null where a Cartesian grid ends
  std::vector<int> destinations;  // sent to
  // Sources and destinations are pairs of opposite directions: what is sent in one direction arrives from the
  // other. Matters where both directions lead to the same process.
  bool opposite_pairs = false;
};

class Topology : public Counted {
 public:
  const int kind;
  const Neighbors& neighbors() const { return neighbors_; }

 protected:
  explicit Topology(int k) : kind(k) {}
  Neighbors neighbors_;
};

class CartesianTopology final : public Topology {
 public:
  // `dims` are positive, their product is the communicator's size; `rank` is the caller's.
  CartesianTopology(std::vector<int> dims, std::vector<bool> periods, int rank);

  const std::vector<int>& dims() const { return dims_; }
  const std::vector<bool>& periods() const { return periods_; }
  int dimensions() const { return static_cast<int>(dims_.size()); }
  // `coordinates` has an entry for each dimension.
  void coordinates_of(int rank, int* coordinates) const;
  Result<int> rank_of(const int* coordinates) const;
  // The rank `displacement` steps from `rank` along a dimension; proc_null beyond an end.
  int shifted(int rank, int dimension, std::int64_t displacement) const;

 private:
  std::vector<int> dims_;
  std::vector<bool> periods_;
};

// MPI_Graph_create's: every process knows the whole graph.
class GraphTopology final : public Topology {
 public:
  // `index[i]` is the number of neighbours of the nodes 0..i together, as in the standard.
  GraphTopology(std::vector<int> index, std::vector<int> edges, int rank);

  const std::vector<int>& index() const { return index_; }
  const std::vector<int>& edges() const { return edges_; }
  int first_edge(int node) const { return node == 0 ? 0 : index_[static_cast<std::size_t>(node) - 1]; }
  int degree(int node) const { return index_[static_cast<std::size_t>(node)] - first_edge(node); }

 private:
  std::vector<int> index_;
  std::vector<int> edges_;
};

class DistributedGraphTopology final : public Topology {
 public:
  // The weights have the lengths of the neighbours, or are empty when `weighted` is false.
  DistributedGraphTopology(Neighbors neighbors, bool weighted, std::vector<int> source_weights,
                           std::vector<int> destination_weights);

  bool weighted() const { return weighted_; }
  const std::vector<int>& source_weights() const { return source_weights_; }
  const std::vector<int>& destination_weights() const { return destination_weights_; }

 private:
  bool weighted_;
  std::vector<int> source_weights_;
  std::vector<int> destination_weights_;
};

// Null: it has none.
inline const Topology* topology_of(const Communicator& communicator) {
  return static_cast<const Topology*>(communicator.topology.get());
}

}  // namespace hawser
