// Virtual topologies: Cartesian grids, graphs, distributed graphs (MPI-5.0 chapter 8).
#include <algorithm>

#include "conformance.h"
#include "owned.h"

namespace conformance {
namespace {

OwnedComm everyone(Conformance& t) {
  OwnedComm comm;
  OK(MPI_Comm_split(MPI_COMM_WORLD, 0, t.rank, comm.out()));
  return comm;
}

int size_of(MPI_Comm comm) {
  int size = 0;
  MPI_Comm_size(comm, &size);
  return size;
}

int topology_of(MPI_Comm comm) {
  int kind = -1;
  MPI_Topo_test(comm, &kind);
  return kind;
}

void balanced_dimensions(Conformance& t) {
  int six[] = {0, 0}, seven[] = {0, 0}, given[] = {0, 3, 0}, all[] = {2, 3};
  OK(MPI_Dims_create(6, 2, six));
  CHECK(six[0] == 3 && six[1] == 2);
  OK(MPI_Dims_create(7, 2, seven));
  CHECK(seven[0] == 7 && seven[1] == 1);
  OK(MPI_Dims_create(12, 3, given));
  CHECK(given[0] == 2 && given[1] == 3 && given[2] == 2);
  OK(MPI_Dims_create(6, 2, all));
  CHECK(all[0] == 2 && all[1] == 3);
  // The largest and the smallest as close as can be.
  int close[] = {0, 0, 0}, many[] = {0, 0, 0, 0, 0};
  OK(MPI_Dims_create(7488, 3, close));
  CHECK(close[0] == 26 && close[1] == 18 && close[2] == 16);
  OK(MPI_Dims_create(98784, 5, many));
  CHECK(many[0] == 14 && many[4] == 7);
  int wrong[] = {0, 4};
  CHECK_FAILS(MPI_Dims_create(6, 2, wrong), MPI_ERR_DIMS);
}

void grid(Conformance& t) {
  const OwnedComm all = everyone(t);
  int dims[] = {0, 0};
  OK(MPI_Dims_create(t.size, 2, dims));
  const int periods[] = {1, 0};
  OwnedComm cart;
  OK(MPI_Cart_create(all, 2, dims, periods, 0, cart.out()));
  CHECK_EQ(topology_of(cart), MPI_CART);
  CHECK_EQ(topology_of(all), MPI_UNDEFINED);
  int ndims = -1, got_dims[2], got_periods[2], own[2], rank = -1;
  OK(MPI_Cartdim_get(cart, &ndims));
  CHECK_EQ(ndims, 2);
  OK(MPI_Cart_get(cart, 2, got_dims, got_periods, own));
  CHECK(got_dims[0] == dims[0] && got_dims[1] == dims[1] && got_periods[0] == 1 && got_periods[1] == 0);
  OK(MPI_Cart_rank(cart, own, &rank));
  CHECK_EQ(rank, t.rank);
  // Row-major.
  for (int r = 0; r < t.size; ++r) {
    int at[2];
    OK(MPI_Cart_coords(cart, r, 2, at));
    CHECK(at[0] == r / dims[1] && at[1] == r % dims[1]);
    // With a period coordinates go round.
    for (int round : {-3, -1, 1, 2}) {
      const int far[] = {at[0] + round * dims[0], at[1]};
      OK(MPI_Cart_rank(cart, far, &rank));
      CHECK_EQ(rank, r);
    }
  }
  const int outside[] = {0, dims[1]};
  CHECK(MPI_Cart_rank(cart, outside, &rank) != MPI_SUCCESS);
}

void shifts(Conformance& t) {
  const OwnedComm all = everyone(t);
  const int periods[] = {0, 1};
  int dims[] = {0, 0};
  OK(MPI_Dims_create(t.size, 2, dims));
  OwnedComm cart;
  OK(MPI_Cart_create(all, 2, dims, periods, 1, cart.out()));
  int rank = -1, at[2];
  OK(MPI_Comm_rank(cart, &rank));
  OK(MPI_Cart_coords(cart, rank, 2, at));
  for (int disp : {-4, -1, 0, 1, 2, 9}) {
    int source = -9, dest = -9;
    OK(MPI_Cart_shift(cart, 0, disp, &source, &dest));
    const auto row = [&](int i) { return i < 0 || i >= dims[0] ? MPI_PROC_NULL : i * dims[1] + at[1]; };
    CHECK_EQ(source, row(at[0] - disp));
    CHECK_EQ(dest, row(at[0] + disp));
    OK(MPI_Cart_shift(cart, 1, disp, &source, &dest));
    const auto column = [&](int i) { return at[0] * dims[1] + (i % dims[1] + dims[1]) % dims[1]; };
    CHECK_EQ(source, column(at[1] - disp));
    CHECK_EQ(dest, column(at[1] + disp));
    // What shifts name can be communicated with, MPI_PROC_NULL too.
    int got = -1;
    OK(MPI_Cart_shift(cart, 0, disp, &source, &dest));
    OK(MPI_Sendrecv(&rank, 1, MPI_INT, dest, 3, &got, 1, MPI_INT, source, 3, cart, MPI_STATUS_IGNORE));
    CHECK_EQ(got, source == MPI_PROC_NULL ? -1 : source);
  }
  int source, dest;
  CHECK(MPI_Cart_shift(cart, 2, 1, &source, &dest) != MPI_SUCCESS);
  CHECK_FAILS(MPI_Cart_shift(all, 0, 1, &source, &dest), MPI_ERR_TOPOLOGY);
}

void smaller_grids(Conformance& t) {
  const OwnedComm all = everyone(t);
  const int dims[] = {t.size - 1}, periods[] = {1}, too_many[] = {t.size, 2};
  OwnedComm cart;
  OK(MPI_Cart_create(all, 1, dims, periods, 0, cart.out()));
  CHECK_EQ(cart == MPI_COMM_NULL, t.rank == t.size - 1);
  if (cart != MPI_COMM_NULL) CHECK_EQ(size_of(cart), t.size - 1);
  MPI_Comm none = MPI_COMM_NULL;
  const int both[] = {1, 1};
  CHECK(MPI_Cart_create(all, 2, too_many, both, 0, &none) != MPI_SUCCESS);
  int new_rank = -9;
  OK(MPI_Cart_map(all, 1, dims, periods, &new_rank));
  CHECK(new_rank == MPI_UNDEFINED || (new_rank >= 0 && new_rank < t.size - 1));
}

void no_dimensions(Conformance& t) {
  const OwnedComm all = everyone(t);
  OwnedComm point;
  OK(MPI_Cart_create(all, 0, nullptr, nullptr, 0, point.out()));
  CHECK_EQ(point != MPI_COMM_NULL, t.rank == 0);
  if (t.rank != 0) return;
  int ndims = -1;
  OK(MPI_Cartdim_get(point, &ndims));
  CHECK_EQ(ndims, 0);
  CHECK_EQ(size_of(point), 1);
  CHECK_EQ(topology_of(point), MPI_CART);
}

void rows_and_columns(Conformance& t) {
  const OwnedComm all = everyone(t);
  int dims[] = {0, 0};
  const int periods[] = {1, 0};
  OK(MPI_Dims_create(t.size, 2, dims));
  OwnedComm cart;
  OK(MPI_Cart_create(all, 2, dims, periods, 0, cart.out()));
  for (int kept = 0; kept < 2; ++kept) {
    const int remain[] = {kept == 0, kept == 1};
    OwnedComm line;
    OK(MPI_Cart_sub(cart, remain, line.out()));
    int ndims = -1, length = -1, period = -1, coordinate = -1, rank = -1, sum = 0;
    OK(MPI_Cartdim_get(line, &ndims));
    CHECK_EQ(ndims, 1);
    OK(MPI_Cart_get(line, 1, &length, &period, &coordinate));
    CHECK_EQ(length, dims[kept]);
    CHECK_EQ(period, periods[kept]);
    OK(MPI_Comm_rank(line, &rank));
    CHECK_EQ(rank, coordinate);
    CHECK_EQ(coordinate, kept == 0 ? t.rank / dims[1] : t.rank % dims[1]);
    OK(MPI_Allreduce(&t.rank, &sum, 1, MPI_INT, MPI_SUM, line));
    int expected = 0;
    for (int r = 0; r < t.size; ++r) {
      if (kept == 0 ? r % dims[1] == t.rank % dims[1] : r / dims[1] == t.rank / dims[1]) expected += r;
    }
    CHECK_EQ(sum, expected);
  }
  const int nothing[] = {0, 0};
  OwnedComm point;
  OK(MPI_Cart_sub(cart, nothing, point.out()));
  int ndims = -1;
  OK(MPI_Cartdim_get(point, &ndims));
  CHECK_EQ(ndims, 0);
  CHECK_EQ(size_of(point), 1);
}

// A ring in which every node knows both neighbours.
void graph(Conformance& t) {
  const OwnedComm all = everyone(t);
  std::vector<int> index, edges;
  for (int r = 0; r < t.size; ++r) {
    edges.push_back((r + 1) % t.size);
    edges.push_back((r + t.size - 1) % t.size);
    index.push_back(static_cast<int>(edges.size()));
  }
  OwnedComm ring;
  OK(MPI_Graph_create(all, t.size, index.data(), edges.data(), 0, ring.out()));
  CHECK_EQ(topology_of(ring), MPI_GRAPH);
  int nodes = 0, edge_count = 0;
  OK(MPI_Graphdims_get(ring, &nodes, &edge_count));
  CHECK_EQ(nodes, t.size);
  CHECK_EQ(edge_count, 2 * t.size);
  std::vector<int> got_index(index.size()), got_edges(edges.size());
  OK(MPI_Graph_get(ring, nodes, edge_count, got_index.data(), got_edges.data()));
  CHECK(got_index == index);
  CHECK(got_edges == edges);
  for (int r = 0; r < t.size; ++r) {
    int count = 0, two[2];
    OK(MPI_Graph_neighbors_count(ring, r, &count));
    CHECK_EQ(count, 2);
    OK(MPI_Graph_neighbors(ring, r, 2, two));
    CHECK(two[0] == (r + 1) % t.size && two[1] == (r + t.size - 1) % t.size);
  }
  int new_rank = -9, count = 0;
  OK(MPI_Graph_map(all, t.size, index.data(), edges.data(), &new_rank));
  CHECK(new_rank >= 0 && new_rank < t.size);
  CHECK_FAILS(MPI_Graph_neighbors_count(all, 0, &count), MPI_ERR_TOPOLOGY);
}

void smaller_graphs(Conformance& t) {
  const OwnedComm all = everyone(t);
  const int index[] = {1}, edges[] = {0};
  OwnedComm one, none;
  OK(MPI_Graph_create(all, 1, index, edges, 0, one.out()));
  CHECK_EQ(one != MPI_COMM_NULL, t.rank == 0);
  OK(MPI_Graph_create(all, 0, index, edges, 0, none.out()));
  CHECK(none == MPI_COMM_NULL);
  const int beyond[] = {t.size};
  MPI_Comm bad = MPI_COMM_NULL;
  CHECK(MPI_Graph_create(all, 1, index, beyond, 0, &bad) != MPI_SUCCESS);
}

struct Adjacent {
  std::vector<int> sources, destinations, source_weights, destination_weights;
  int weighted = -1;
};
Adjacent adjacent(Conformance& t, MPI_Comm comm) {
  int in = -1, out = -1;
  Adjacent a;
  OK(MPI_Dist_graph_neighbors_count(comm, &in, &out, &a.weighted));
  a.sources.resize(static_cast<std::size_t>(in));
  a.destinations.resize(static_cast<std::size_t>(out));
  a.source_weights.resize(a.sources.size());
  a.destination_weights.resize(a.destinations.size());
  OK(MPI_Dist_graph_neighbors(
      comm, in, a.sources.data(), a.weighted ? a.source_weights.data() : MPI_UNWEIGHTED, out,
      a.destinations.data(), a.weighted ? a.destination_weights.data() : MPI_UNWEIGHTED));
  return a;
}

void distributed_graph_of_neighbors(Conformance& t) {
  const OwnedComm all = everyone(t);
  const int next = (t.rank + 1) % t.size, previous = (t.rank + t.size - 1) % t.size;
  const int sources[] = {previous, t.rank}, destinations[] = {next, t.rank};
  const int in_weights[] = {previous + 1, 7}, out_weights[] = {t.rank + 1, 7};
  OwnedComm with, without, lonely;
  OK(MPI_Dist_graph_create_adjacent(all, 2, sources, in_weights, 2, destinations, out_weights, MPI_INFO_NULL,
                                    0, with.out()));
  CHECK_EQ(topology_of(with), MPI_DIST_GRAPH);
  Adjacent a = adjacent(t, with);
  CHECK(a.weighted);
  CHECK(a.sources == std::vector<int>(sources, sources + 2));
  CHECK(a.destinations == std::vector<int>(destinations, destinations + 2));
  CHECK(a.source_weights == std::vector<int>(in_weights, in_weights + 2));
  CHECK(a.destination_weights == std::vector<int>(out_weights, out_weights + 2));
  OK(MPI_Dist_graph_create_adjacent(all, 2, sources, MPI_UNWEIGHTED, 2, destinations, MPI_UNWEIGHTED,
                                    MPI_INFO_NULL, 1, without.out()));
  a = adjacent(t, without);
  CHECK(!a.weighted);
  CHECK_EQ(a.sources.size(), 2u);
  OK(MPI_Dist_graph_create_adjacent(all, 0, nullptr, MPI_WEIGHTS_EMPTY, 0, nullptr, MPI_WEIGHTS_EMPTY,
                                    MPI_INFO_NULL, 0, lonely.out()));
  a = adjacent(t, lonely);
  CHECK(a.weighted);
  CHECK(a.sources.empty() && a.destinations.empty());
  // Only as much as there is room for.
  int first = -1, second = -1;
  OK(MPI_Dist_graph_neighbors(with, 1, &first, MPI_UNWEIGHTED, 1, &second, MPI_UNWEIGHTED));
  CHECK_EQ(first, previous);
  CHECK_EQ(second, next);
}

// Every rank names the edges of its successor: r+1 -> 0 (weight r) and r+1 -> r+2.
void distributed_graph_named_by_others(Conformance& t) {
  const OwnedComm all = everyone(t);
  const int node = (t.rank + 1) % t.size, degree = 2;
  const int destinations[] = {0, (node + 1) % t.size}, weights[] = {t.rank, 100 + t.rank};
  OwnedComm comm;
  OK(MPI_Dist_graph_create(all, 1, &node, &degree, destinations, weights, MPI_INFO_NULL, 0, comm.out()));
  const Adjacent a = adjacent(t, comm);
  const int previous = (t.rank + t.size - 1) % t.size;
  CHECK_EQ(a.destinations.size(), 2u);
  std::vector<std::pair<int, int>> in, expected;
  for (std::size_t i = 0; i < a.sources.size(); ++i) in.emplace_back(a.sources[i], a.source_weights[i]);
  // The one before us was named by the one before it.
  expected.emplace_back(previous, 100 + (previous + t.size - 1) % t.size);
  if (t.rank == 0) {
    for (int r = 0; r < t.size; ++r) expected.emplace_back((r + 1) % t.size, r);
  }
  std::sort(in.begin(), in.end());
  std::sort(expected.begin(), expected.end());
  CHECK(in == expected);
  // Edges of one rank alone, none from others.
  OwnedComm star;
  std::vector<int> leaves;
  for (int r = 0; r < t.size; ++r) leaves.push_back(r);
  const int centre = 0;
  OK(MPI_Dist_graph_create(all, t.rank == 0 ? 1 : 0, &centre, &t.size, leaves.data(), MPI_UNWEIGHTED,
                           MPI_INFO_NULL, 0, star.out()));
  const Adjacent s = adjacent(t, star);
  CHECK(!s.weighted);
  CHECK(s.sources == std::vector<int>{0});
  CHECK_EQ(static_cast<int>(s.destinations.size()), t.rank == 0 ? t.size : 0);
}

void duplicates_keep_topology(Conformance& t) {
  const OwnedComm all = everyone(t);
  const int dims[] = {t.size}, periods[] = {1};
  OwnedComm cart;
  OK(MPI_Cart_create(all, 1, dims, periods, 0, cart.out()));
  OwnedComm copy, later, part, graph, graph_copy;
  OK(MPI_Comm_dup(cart, copy.out()));
  CHECK_EQ(topology_of(copy), MPI_CART);
  MPI_Request request;
  OK(MPI_Comm_idup(copy, later.out(), &request));
  OK(MPI_Wait(&request, MPI_STATUS_IGNORE));
  int got_dims = -1, got_period = -1, coordinate = -1;
  OK(MPI_Cart_get(later, 1, &got_dims, &got_period, &coordinate));
  CHECK(got_dims == t.size && got_period == 1 && coordinate == t.rank);
  OK(MPI_Comm_split(cart, 0, 0, part.out()));
  CHECK_EQ(topology_of(part), MPI_UNDEFINED);
  OK(MPI_Dist_graph_create_adjacent(cart, 1, &t.rank, MPI_UNWEIGHTED, 1, &t.rank, MPI_UNWEIGHTED,
                                    MPI_INFO_NULL, 0, graph.out()));
  OK(MPI_Comm_dup(graph, graph_copy.out()));
  CHECK_EQ(topology_of(graph_copy), MPI_DIST_GRAPH);
  CHECK(adjacent(t, graph_copy).sources == std::vector<int>{t.rank});
}

}  // namespace

CHAPTER(topology, CASE(balanced_dimensions), CASE(grid), CASE(shifts), CASE(smaller_grids, .min_ranks = 2),
        CASE(no_dimensions), CASE(rows_and_columns), CASE(graph), CASE(smaller_graphs),
        CASE(distributed_graph_of_neighbors), CASE(distributed_graph_named_by_others),
        CASE(duplicates_keep_topology))

}  // namespace conformance
