// Distributed graph topologies (MPI-5.0 sections 8.5.4 and 8.5.8): every process knows its own neighbours
// only. Ranks are not reordered.
#include <algorithm>

#include "base/arguments.h"
#include "base/failure.h"
#include "communicator/topology.h"
#include "process/api.h"
#include "process/api/topology_checks.h"
#include "process/mpi_process.h"

namespace hawser::mpi {

namespace {

struct Edge {
  int source;
  int destination;
  int weight;
};
constexpr int ints_per_edge = 3;

Result<> check_nodes(const char* argument, const int* nodes, std::int64_t n, const Communicator& comm) {
  for (std::int64_t i = 0; i < n; ++i) {
    if (nodes[i] < 0 || nodes[i] >= comm.size())
      return failure(ErrorClass::rank, "{}[{}] is {}, but the communicator has {} ranks", argument, i,
                     nodes[i], comm.size());
  }
  return {};
}

Result<> check_weights(const char* argument, const int* weights, std::int64_t n) {
  if (weights == unweighted) return {};
  if (weights == weights_empty || weights == nullptr) {
    if (n == 0) return {};
    return failure(ErrorClass::arg, "{} is empty, but there are {} edges", argument, n);
  }
  for (std::int64_t i = 0; i < n; ++i) {
    if (weights[i] < 0)
      return failure(ErrorClass::arg, "{}[{}] is {}, which is negative", argument, i, weights[i]);
  }
  return {};
}

Result<> check_degree(const char* argument, int degree) {
  if (degree < 0) return failure(ErrorClass::arg, "{} is {}, which is negative", argument, degree);
  return {};
}

Result<> make(MpiProcess& process, Communicator& parent, Ref<Topology> topology, Ref<Communicator>& out) {
  auto made = duplicate(process.collectives(), parent);
  if (!made) return made.take_error();
  out = std::move(made).value();
  out->error_handler = parent.error_handler;
  out->session = parent.session;
  out->topology = std::move(topology);
  return {};
}

// Sends each edge to its two ends. What arrives is in order of the ranks that named the edges, so that the
// edges of one pair of processes have the same order at both.
Result<std::vector<Edge>> distribute(MpiProcess& process, Communicator& comm,
                                     const std::vector<Edge>& edges) {
  const auto ranks = static_cast<std::size_t>(comm.size());
  std::vector<std::vector<Edge>> by_rank(ranks);
  for (const Edge& edge : edges) {
    by_rank[static_cast<std::size_t>(edge.source)].push_back(edge);
    if (edge.destination != edge.source) by_rank[static_cast<std::size_t>(edge.destination)].push_back(edge);
  }
  std::vector<std::int64_t> counts(ranks), starts(ranks), in_counts(ranks), in_starts(ranks);
  std::vector<Edge> out;
  for (std::size_t r = 0; r < ranks; ++r) {
    starts[r] = static_cast<std::int64_t>(out.size()) * ints_per_edge;
    counts[r] = static_cast<std::int64_t>(by_rank[r].size()) * ints_per_edge;
    out.insert(out.end(), by_rank[r].begin(), by_rank[r].end());
  }
  Datatype& wide_type = process.types()[PredefinedType::int64];
  CollectiveCall amounts{.kind = Collective::alltoall};
  amounts.send = {counts.data(), 1, &wide_type, nullptr, nullptr, nullptr};
  amounts.receive = {in_counts.data(), 1, &wide_type, nullptr, nullptr, nullptr};
  HAWSER_TRY(process.collectives().run(comm, amounts));
  std::int64_t total = 0;
  for (std::size_t r = 0; r < ranks; ++r) {
    in_starts[r] = total;
    total += in_counts[r];
  }
  std::vector<Edge> in(static_cast<std::size_t>(total / ints_per_edge));
  Datatype& int_type = process.types()[PredefinedType::int32];
  CollectiveCall exchange{.kind = Collective::alltoallv};
  exchange.send = {out.data(), 0, &int_type, counts.data(), starts.data(), nullptr};
  exchange.receive = {in.data(), 0, &int_type, in_counts.data(), in_starts.data(), nullptr};
  HAWSER_TRY(process.collectives().run(comm, exchange));
  return in;
}

Result<const DistributedGraphTopology*> graph_of(const Communicator& comm) {
  const Topology* topology = topology_of(comm);
  if (topology == nullptr || topology->kind != topology_kind::distributed_graph)
    return failure(ErrorClass::topology, "the communicator has no distributed graph topology");
  return static_cast<const DistributedGraphTopology*>(topology);
}

std::vector<int> kept(const int* values, int n) {
  return n == 0 ? std::vector<int>() : std::vector<int>(values, values + n);
}

// As much as there is room for.
void give(const std::vector<int>& values, int room, int* out) {
  std::copy_n(values.begin(), std::min(static_cast<int>(values.size()), room), out);
}

void give_weights(const std::vector<int>& values, int room, int* out) {
  if (out == unweighted || out == weights_empty || out == nullptr) return;
  give(values, room, out);
}

}  // namespace

Result<> dist_graph_create_adjacent(MpiProcess& process, Communicator& comm_old, int indegree,
                                    const int* sources, const int* sourceweights, int outdegree,
                                    const int* destinations, const int* destweights, Info*, bool,
                                    Ref<Communicator>& comm_dist_graph) {
  HAWSER_TRY(check_no_intercommunicator(comm_old));
  HAWSER_TRY(check_degree("indegree", indegree));
  HAWSER_TRY(check_degree("outdegree", outdegree));
  HAWSER_TRY(check_nodes("sources", sources, indegree, comm_old));
  HAWSER_TRY(check_nodes("destinations", destinations, outdegree, comm_old));
  HAWSER_TRY(check_weights("sourceweights", sourceweights, indegree));
  HAWSER_TRY(check_weights("destweights", destweights, outdegree));
  if ((sourceweights == unweighted) != (destweights == unweighted))
    return failure(ErrorClass::arg, "only one of sourceweights and destweights is MPI_UNWEIGHTED");
  const bool weighted = sourceweights != unweighted;
  Neighbors neighbors{kept(sources, indegree), kept(destinations, outdegree)};
  auto topology = make_counted<DistributedGraphTopology>(std::move(neighbors), weighted,
                                                         kept(sourceweights, weighted ? indegree : 0),
                                                         kept(destweights, weighted ? outdegree : 0));
  return make(process, comm_old, std::move(topology), comm_dist_graph);
}

Result<> dist_graph_create(MpiProcess& process, Communicator& comm_old, int n, const int* sources,
                           const int* degrees, const int* destinations, const int* weights, Info*, bool,
                           Ref<Communicator>& comm_dist_graph) {
  HAWSER_TRY(check_no_intercommunicator(comm_old));
  HAWSER_TRY(check_degree("n", n));
  HAWSER_TRY(check_nodes("sources", sources, n, comm_old));
  std::int64_t count = 0;
  for (int i = 0; i < n; ++i) {
    if (degrees[i] < 0)
      return failure(ErrorClass::arg, "degrees[{}] is {}, which is negative", i, degrees[i]);
    count += degrees[i];
  }
  HAWSER_TRY(check_nodes("destinations", destinations, count, comm_old));
  HAWSER_TRY(check_weights("weights", weights, count));
  const bool weighted = weights != unweighted;
  std::vector<Edge> named;
  for (int i = 0, next = 0; i < n; ++i) {
    for (int k = 0; k < degrees[i]; ++k, ++next)
      named.push_back({sources[i], destinations[next], weighted ? weights[next] : 0});
  }
  auto edges = distribute(process, comm_old, named);
  if (!edges) return edges.take_error();
  Neighbors neighbors;
  std::vector<int> source_weights, destination_weights;
  for (const Edge& edge : edges.value()) {
    if (edge.destination == comm_old.rank()) {
      neighbors.sources.push_back(edge.source);
      if (weighted) source_weights.push_back(edge.weight);
    }
    if (edge.source == comm_old.rank()) {
      neighbors.destinations.push_back(edge.destination);
      if (weighted) destination_weights.push_back(edge.weight);
    }
  }
  auto topology = make_counted<DistributedGraphTopology>(
      std::move(neighbors), weighted, std::move(source_weights), std::move(destination_weights));
  return make(process, comm_old, std::move(topology), comm_dist_graph);
}

Result<> dist_graph_neighbors_count(MpiProcess&, Communicator& comm, int& indegree, int& outdegree,
                                    bool& weighted) {
  auto graph = graph_of(comm);
  if (!graph) return graph.take_error();
  indegree = static_cast<int>(graph.value()->neighbors().sources.size());
  outdegree = static_cast<int>(graph.value()->neighbors().destinations.size());
  weighted = graph.value()->weighted();
  return {};
}

Result<> dist_graph_neighbors(MpiProcess&, Communicator& comm, int maxindegree, int* sources,
                              int* sourceweights, int maxoutdegree, int* destinations, int* destweights) {
  auto found = graph_of(comm);
  if (!found) return found.take_error();
  const DistributedGraphTopology& graph = *found.value();
  HAWSER_TRY(check_degree("maxindegree", maxindegree));
  HAWSER_TRY(check_degree("maxoutdegree", maxoutdegree));
  give(graph.neighbors().sources, maxindegree, sources);
  give(graph.neighbors().destinations, maxoutdegree, destinations);
  give_weights(graph.source_weights(), maxindegree, sourceweights);
  give_weights(graph.destination_weights(), maxoutdegree, destweights);
  return {};
}

}  // namespace hawser::mpi
