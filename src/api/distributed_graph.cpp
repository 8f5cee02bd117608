// Distributed graph topologies (MPI-5.0 sections 8.5.4 and 8.5.8): every process knows its own neighbours
// only. The nodes of the graph are ranks of the new communicator: when ranks are reordered, the process that
// becomes rank i has the neighbours that were named for node i, by whomever (8.5.5: the lists are those that
// the process with the same rank in the old communicator gave).
#include <algorithm>

#include "api/functions.h"
#include "api/reordering.h"
#include "api/topology_checks.h"
#include "communicator/topology.h"
#include "mpi/arguments.h"
#include "mpi/failure.h"
#include "process/mpi_process.h"

namespace hawser::mpi {

namespace {

using Edge = WeightedEdge;
constexpr int ints_per_edge = 3;

Result<> check_nodes(const char* argument, const int* nodes, std::int64_t n, const Communicator& comm) {
  if (nodes == nullptr && n > 0)
    return failure(ErrorClass::arg, "{} is a null pointer, but there are {} edges", argument, n);
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

// The communicator, with the ranks in an order that suits the edges if that is allowed, and the order. Every
// rank gives edges of its own; without weights each weighs 1.
Result<RankOrder> make(MpiProcess& process, Communicator& parent, const std::vector<Edge>& edges,
                       bool reorder, Ref<Communicator>& out) {
  RankOrder order;
  if (reorder) {
    auto agreed = agree_on_order(process, parent, edges);
    if (!agreed) return agreed.take_error();
    order = std::move(agreed).value();
  }
  HAWSER_TRY(create_in_order(process, parent, parent.size(), order, out));
  return order;
}

// What one node of the graph knows.
struct Lists {
  Neighbors neighbors;
  std::vector<int> source_weights;
  std::vector<int> destination_weights;
};

void attach(Communicator& comm, bool weighted, Lists lists) {
  comm.topology = make_counted<DistributedGraphTopology>(std::move(lists.neighbors), weighted,
                                                         std::move(lists.source_weights),
                                                         std::move(lists.destination_weights));
}

// Hands the lists of every node, which the process has that had the node's number as its rank before, to the
// one that has it now.
Result<> pass_on(MpiProcess& process, Communicator& comm, const RankOrder& order, Lists& lists) {
  const Neighbors partners{{new_rank_in(order, comm.size(), comm.rank())},
                           {order[static_cast<std::size_t>(comm.rank())]}};
  const auto exchange = [&](const std::vector<int>& send, std::vector<int>& receive) {
    Datatype& type = process.types()[PredefinedType::int32];
    CollectiveCall call{.kind = Collective::allgather, .neighbors = &partners};
    call.send = {send.data(), static_cast<std::int64_t>(send.size()), &type, nullptr, nullptr, nullptr};
    call.receive = {receive.data(), static_cast<std::int64_t>(receive.size()), &type, nullptr, nullptr,
                    nullptr};
    return process.collectives().run(comm, call);
  };
  std::vector<int>* const parts[] = {&lists.neighbors.sources, &lists.neighbors.destinations,
                                     &lists.source_weights, &lists.destination_weights};
  std::vector<int> sizes, numbers, their_sizes(std::size(parts));
  for (const std::vector<int>* part : parts) {
    sizes.push_back(static_cast<int>(part->size()));
    numbers.insert(numbers.end(), part->begin(), part->end());
  }
  HAWSER_TRY(exchange(sizes, their_sizes));
  std::size_t total = 0;
  for (const int size : their_sizes) total += static_cast<std::size_t>(size);
  std::vector<int> their_numbers(total);
  HAWSER_TRY(exchange(numbers, their_numbers));
  auto next = their_numbers.begin();
  for (std::size_t i = 0; i < std::size(parts); next += their_sizes[i++])
    parts[i]->assign(next, next + their_sizes[i]);
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

Result<const DistributedGraphTopology*> distributed_graph_of(const Communicator& comm) {
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
                                    const int* destinations, const int* destweights, Info*, bool reorder,
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
  Lists lists{{kept(sources, indegree), kept(destinations, outdegree)},
              kept(sourceweights, weighted ? indegree : 0),
              kept(destweights, weighted ? outdegree : 0)};
  std::vector<Edge> edges;  // each at the process that it starts from
  for (int i = 0; i < outdegree; ++i)
    edges.push_back({comm_old.rank(), destinations[i], weighted ? destweights[i] : 1});
  auto order = make(process, comm_old, edges, reorder, comm_dist_graph);
  if (!order) return order.take_error();
  if (!order.value().empty()) HAWSER_TRY(pass_on(process, *comm_dist_graph, order.value(), lists));
  attach(*comm_dist_graph, weighted, std::move(lists));
  return {};
}

Result<> dist_graph_create(MpiProcess& process, Communicator& comm_old, int n, const int* sources,
                           const int* degrees, const int* destinations, const int* weights, Info*,
                           bool reorder, Ref<Communicator>& comm_dist_graph) {
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
      named.push_back({sources[i], destinations[next], weighted ? weights[next] : 1});
  }
  auto order = make(process, comm_old, named, reorder, comm_dist_graph);
  if (!order) return order.take_error();
  auto edges = distribute(process, *comm_dist_graph, named);
  if (!edges) return edges.take_error();
  Lists lists;
  const int rank = comm_dist_graph->rank();
  for (const Edge& edge : edges.value()) {
    if (edge.destination == rank) {
      lists.neighbors.sources.push_back(edge.source);
      if (weighted) lists.source_weights.push_back(edge.weight);
    }
    if (edge.source == rank) {
      lists.neighbors.destinations.push_back(edge.destination);
      if (weighted) lists.destination_weights.push_back(edge.weight);
    }
  }
  attach(*comm_dist_graph, weighted, std::move(lists));
  return {};
}

Result<> dist_graph_neighbors_count(MpiProcess&, Communicator& comm, int& indegree, int& outdegree,
                                    bool& weighted) {
  auto graph = distributed_graph_of(comm);
  if (!graph) return graph.take_error();
  indegree = static_cast<int>(graph.value()->neighbors().sources.size());
  outdegree = static_cast<int>(graph.value()->neighbors().destinations.size());
  weighted = graph.value()->weighted();
  return {};
}

Result<> dist_graph_neighbors(MpiProcess&, Communicator& comm, int maxindegree, int* sources,
                              int* sourceweights, int maxoutdegree, int* destinations, int* destweights) {
  auto found = distributed_graph_of(comm);
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
