#include "communicator/topology.h"

#include "message/status.h"
#include "mpi/failure.h"

namespace hawser {

CartesianTopology::CartesianTopology(std::vector<int> dims, std::vector<bool> periods, int rank)
    : Topology(topology_kind::cartesian), dims_(std::move(dims)), periods_(std::move(periods)) {
  for (int d = 0; d < dimensions(); ++d) {
    neighbors_.sources.push_back(shifted(rank, d, -1));
    neighbors_.sources.push_back(shifted(rank, d, 1));
  }
  neighbors_.destinations = neighbors_.sources;
  neighbors_.opposite_pairs = true;
}

void CartesianTopology::coordinates_of(int rank, int* coordinates) const {
  for (std::size_t d = dims_.size(); d-- > 0;) {
    coordinates[d] = rank % dims_[d];
    rank /= dims_[d];
  }
}

namespace {

// `value` brought into 0..size-1 by going round.
int wrapped(std::int64_t value, int size) {
  const std::int64_t rest = value % size;
  return static_cast<int>(rest < 0 ? rest + size : rest);
}

}  // namespace

Result<int> CartesianTopology::rank_of(const int* coordinates) const {
  int rank = 0;
  for (std::size_t d = 0; d < dims_.size(); ++d) {
    int coordinate = coordinates[d];
    if (coordinate < 0 || coordinate >= dims_[d]) {
      if (!periods_[d])
        return failure(ErrorClass::arg,
                       "coords[{}] is {}, but the dimension has {} processes and is not periodic", d,
                       coordinate, dims_[d]);
      coordinate = wrapped(coordinate, dims_[d]);
    }
    rank = rank * dims_[d] + coordinate;
  }
  return rank;
}

int CartesianTopology::shifted(int rank, int dimension, std::int64_t displacement) const {
  const auto d = static_cast<std::size_t>(dimension);
  int step = 1;  // of ranks from one coordinate to the next
  for (std::size_t i = d + 1; i < dims_.size(); ++i) step *= dims_[i];
  const int coordinate = rank / step % dims_[d];
  const std::int64_t target = coordinate + displacement;
  if ((target < 0 || target >= dims_[d]) && !periods_[d]) return proc_null;
  return rank + (wrapped(target, dims_[d]) - coordinate) * step;
}

GraphTopology::GraphTopology(std::vector<int> index, std::vector<int> edges, int rank)
    : Topology(topology_kind::graph), index_(std::move(index)), edges_(std::move(edges)) {
  const auto begin = edges_.begin() + first_edge(rank);
  neighbors_.sources.assign(begin, begin + degree(rank));
  neighbors_.destinations = neighbors_.sources;
}

DistributedGraphTopology::DistributedGraphTopology(Neighbors neighbors, bool weighted,
                                                   std::vector<int> source_weights,
                                                   std::vector<int> destination_weights)
    : Topology(topology_kind::distributed_graph),
      weighted_(weighted),
      source_weights_(std::move(source_weights)),
      destination_weights_(std::move(destination_weights)) {
  neighbors_ = std::move(neighbors);
}

}  // namespace hawser
