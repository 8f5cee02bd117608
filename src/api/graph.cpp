// Graph topologies (MPI-5.0 sections 8.5.3 and 8.5.5 to 8.5.8), and which topology a communicator has.
#include <algorithm>

#include "api/functions.h"
#include "api/reordering.h"
#include "api/topology_checks.h"
#include "communicator/topology.h"
#include "mpi/failure.h"
#include "process/mpi_process.h"

namespace hawser::mpi {

namespace {

Result<const GraphTopology*> graph_of(const Communicator& comm) {
  const Topology* topology = topology_of(comm);
  if (topology == nullptr || topology->kind != topology_kind::graph)
    return failure(ErrorClass::topology, "the communicator has no graph topology");
  return static_cast<const GraphTopology*>(topology);
}

Result<> check_graph(const Communicator& comm, int nnodes, const int* index, const int* edges) {
  HAWSER_TRY(check_no_intercommunicator(comm));
  if (nnodes < 0 || nnodes > comm.size())
    return failure(ErrorClass::arg, "nnodes is {}, but the communicator has {} processes", nnodes,
                   comm.size());
  for (int node = 0, before = 0; node < nnodes; ++node) {
    if (index[node] < before)
      return failure(ErrorClass::arg, "index[{}] is {}, which is less than the entry before it", node,
                     index[node]);
    before = index[node];
  }
  if (edges == nullptr && nnodes > 0 && index[nnodes - 1] > 0)
    return failure(ErrorClass::arg, "edges is a null pointer, but there are {} edges", index[nnodes - 1]);
  for (int i = 0; nnodes > 0 && i < index[nnodes - 1]; ++i) {
    if (edges[i] < 0 || edges[i] >= nnodes)
      return failure(ErrorClass::arg, "edges[{}] is {}, but the graph has {} nodes", i, edges[i], nnodes);
  }
  return {};
}

ReorderingRule graph_rule(int nnodes, const int* index, const int* edges) {
  return [=](const Places& places) {
    std::vector<WeightedEdge> graph;
    for (int node = 0, next = 0; node < nnodes; ++node) {
      for (; next < index[node]; ++next) graph.push_back({node, edges[next], 1});
    }
    return reorder_graph(places, graph);
  };
}

}  // namespace

Result<> topo_test(MpiProcess&, Communicator& comm, int& status) {
  const Topology* topology = topology_of(comm);
  status = topology == nullptr ? undefined : topology->kind;
  return {};
}

Result<> graph_create(MpiProcess& process, Communicator& comm_old, int nnodes, const int* index,
                      const int* edges, bool reorder, Ref<Communicator>& comm_graph) {
  HAWSER_TRY(check_graph(comm_old, nnodes, index, edges));
  RankOrder order;
  if (reorder) {
    auto agreed = agree_on_order(process, comm_old, nnodes, graph_rule(nnodes, index, edges));
    if (!agreed) return agreed.take_error();
    order = std::move(agreed).value();
  }
  HAWSER_TRY(create_in_order(process, comm_old, nnodes, order, comm_graph));
  if (!comm_graph) return {};
  comm_graph->topology =
      make_counted<GraphTopology>(std::vector<int>(index, index + nnodes),
                                  std::vector<int>(edges, edges + index[nnodes - 1]), comm_graph->rank());
  return {};
}

Result<> graphdims_get(MpiProcess&, Communicator& comm, int& nnodes, int& nedges) {
  auto graph = graph_of(comm);
  if (!graph) return graph.take_error();
  nnodes = static_cast<int>(graph.value()->index().size());
  nedges = static_cast<int>(graph.value()->edges().size());
  return {};
}

Result<> graph_get(MpiProcess&, Communicator& comm, int maxindex, int maxedges, int* index, int* edges) {
  auto found = graph_of(comm);
  if (!found) return found.take_error();
  const GraphTopology& graph = *found.value();
  HAWSER_TRY(check_room("maxindex", maxindex, static_cast<int>(graph.index().size())));
  HAWSER_TRY(check_room("maxedges", maxedges, static_cast<int>(graph.edges().size())));
  std::copy(graph.index().begin(), graph.index().end(), index);
  std::copy(graph.edges().begin(), graph.edges().end(), edges);
  return {};
}

Result<> graph_neighbors_count(MpiProcess&, Communicator& comm, int rank, int& nneighbors) {
  auto graph = graph_of(comm);
  if (!graph) return graph.take_error();
  HAWSER_TRY(check_rank("rank", rank, comm.size()));
  nneighbors = graph.value()->degree(rank);
  return {};
}

Result<> graph_neighbors(MpiProcess&, Communicator& comm, int rank, int maxneighbors, int* neighbors) {
  auto found = graph_of(comm);
  if (!found) return found.take_error();
  const GraphTopology& graph = *found.value();
  HAWSER_TRY(check_rank("rank", rank, comm.size()));
  HAWSER_TRY(check_room("maxneighbors", maxneighbors, graph.degree(rank)));
  std::copy_n(graph.edges().begin() + graph.first_edge(rank), graph.degree(rank), neighbors);
  return {};
}

Result<> graph_map(MpiProcess& process, Communicator& comm, int nnodes, const int* index, const int* edges,
                   int& newrank) {
  HAWSER_TRY(check_graph(comm, nnodes, index, edges));
  const RankOrder order = order_over_nodes(process, comm, nnodes, graph_rule(nnodes, index, edges));
  newrank = new_rank_in(order, nnodes, comm.rank());
  return {};
}

}  // namespace hawser::mpi
