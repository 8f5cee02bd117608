// Topologies whose ranks may be reordered (MPI-5.0 section 8.5): the communicator has the same processes, the
// topology is the one asked for, data reach the right neighbours, and no more edges lead from node to node
// than without reordering.
#include <algorithm>
#include <numeric>

#include "conformance.h"
#include "owned.h"

namespace conformance {
namespace {

using Edges = std::vector<std::pair<int, int>>;

// What each rank of a communicator is: its rank in MPI_COMM_WORLD, and the least such of its node.
struct Where {
  std::vector<int> world, node;
};
Where where(Conformance& t, MPI_Comm comm) {
  OwnedComm node;
  OK(MPI_Comm_split_type(comm, MPI_COMM_TYPE_SHARED, 0, MPI_INFO_NULL, node.out()));
  int size = 0, own[2] = {t.rank, -1};
  OK(MPI_Allreduce(&t.rank, &own[1], 1, MPI_INT, MPI_MIN, node));
  OK(MPI_Comm_size(comm, &size));
  std::vector<int> pairs(static_cast<std::size_t>(2 * size));
  OK(MPI_Allgather(own, 2, MPI_INT, pairs.data(), 2, MPI_INT, comm));
  Where result;
  for (std::size_t i = 0; i < pairs.size(); i += 2) {
    result.world.push_back(pairs[i]);
    result.node.push_back(pairs[i + 1]);
  }
  return result;
}

int between_nodes(const std::vector<int>& node, const Edges& edges) {
  int count = 0;
  for (const auto& [a, b] : edges)
    count += node[static_cast<std::size_t>(a)] != node[static_cast<std::size_t>(b)];
  return count;
}

bool permutation(std::vector<int> numbers) {
  std::sort(numbers.begin(), numbers.end());
  for (std::size_t i = 0; i < numbers.size(); ++i) {
    if (numbers[i] != static_cast<int>(i)) return false;
  }
  return true;
}

// The communicator has the processes of the old one, and fewer edges between nodes or the same ranks.
void check_order(Conformance& t, MPI_Comm before, MPI_Comm after, const Edges& edges) {
  const Where now = where(t, after);
  Where then = where(t, before);
  CHECK(permutation(now.world));
  const int cut = between_nodes(now.node, edges), cut_before = between_nodes(then.node, edges);
  CHECK(cut <= cut_before);
}

OwnedComm everyone(Conformance& t) {
  OwnedComm comm;
  OK(MPI_Comm_split(MPI_COMM_WORLD, 0, t.rank, comm.out()));
  return comm;
}

Edges edges_of_grid(Conformance& t, MPI_Comm cart, int ndims) {
  Edges edges;
  int size = 0, rank = -1;
  OK(MPI_Comm_size(cart, &size));
  std::vector<int> dims(static_cast<std::size_t>(ndims)), periods(dims), coords(dims);
  OK(MPI_Cart_get(cart, ndims, dims.data(), periods.data(), coords.data()));
  for (int r = 0; r < size; ++r) {
    for (std::size_t d = 0; d < dims.size(); ++d) {
      OK(MPI_Cart_coords(cart, r, ndims, coords.data()));
      ++coords[d];
      if (coords[d] == dims[d] && periods[d] == 0) continue;
      OK(MPI_Cart_rank(cart, coords.data(), &rank));
      edges.emplace_back(r, rank);
    }
  }
  return edges;
}

void grids(Conformance& t) {
  const OwnedComm all = everyone(t);
  for (int ndims = 1; ndims <= 3; ++ndims) {
    for (int period = 0; period < 2; ++period) {
      std::vector<int> dims(static_cast<std::size_t>(ndims)), periods(dims.size(), period), coords(dims);
      OK(MPI_Dims_create(t.size, ndims, dims.data()));
      OwnedComm cart;
      OK(MPI_Cart_create(all, ndims, dims.data(), periods.data(), 1, cart.out()));
      check_order(t, all, cart, edges_of_grid(t, cart, ndims));
      int rank = -1, again = -1;
      OK(MPI_Comm_rank(cart, &rank));
      OK(MPI_Cart_coords(cart, rank, ndims, coords.data()));
      OK(MPI_Cart_rank(cart, coords.data(), &again));
      CHECK_EQ(again, rank);
      std::vector<int> own(dims.size());
      OK(MPI_Cart_get(cart, ndims, dims.data(), periods.data(), own.data()));
      CHECK(own == coords);
      // Everybody's number in MPI_COMM_WORLD, by collectives among neighbours and by the table.
      const Where now = where(t, cart);
      std::vector<int> got(dims.size() * 2, -1);
      OK(MPI_Neighbor_allgather(&t.rank, 1, MPI_INT, got.data(), 1, MPI_INT, cart));
      for (int d = 0; d < ndims; ++d) {
        int two[2];
        OK(MPI_Cart_shift(cart, d, 1, &two[0], &two[1]));
        for (int side = 0; side < 2; ++side) {
          const int expected =
              two[side] == MPI_PROC_NULL ? -1 : now.world[static_cast<std::size_t>(two[side])];
          CHECK_EQ(got[static_cast<std::size_t>(2 * d + side)], expected);
        }
      }
    }
  }
}

void parts_of_grids(Conformance& t) {
  const OwnedComm all = everyone(t);
  int dims[] = {0, 0};
  const int periods[] = {1, 0}, rows[] = {0, 1};
  OK(MPI_Dims_create(t.size, 2, dims));
  OwnedComm cart, row;
  OK(MPI_Cart_create(all, 2, dims, periods, 1, cart.out()));
  OK(MPI_Cart_sub(cart, rows, row.out()));
  int rank = -1, in_row = -1, at[2], first = -1;
  OK(MPI_Comm_rank(cart, &rank));
  OK(MPI_Cart_coords(cart, rank, 2, at));
  OK(MPI_Comm_rank(row, &in_row));
  CHECK_EQ(in_row, at[1]);
  OK(MPI_Allreduce(&rank, &first, 1, MPI_INT, MPI_MIN, row));
  CHECK_EQ(first, at[0] * dims[1]);
}

void smaller_grids(Conformance& t) {
  const OwnedComm all = everyone(t);
  const int dims[] = {t.size - 1}, periods[] = {1};
  OwnedComm ring;
  OK(MPI_Cart_create(all, 1, dims, periods, 1, ring.out()));
  CHECK_EQ(ring == MPI_COMM_NULL, t.rank == t.size - 1);
  int new_rank = -9;
  OK(MPI_Cart_map(all, 1, dims, periods, &new_rank));
  CHECK_EQ(new_rank == MPI_UNDEFINED, t.rank == t.size - 1);
  if (ring == MPI_COMM_NULL) return;
  const Where now = where(t, ring);
  CHECK(permutation(now.world));
  const Edges edges = edges_of_grid(t, ring, 1);
  Where then = now;
  for (std::size_t i = 0; i < now.world.size(); ++i)
    then.node[static_cast<std::size_t>(now.world[i])] = now.node[i];
  CHECK(between_nodes(now.node, edges) <= between_nodes(then.node, edges));
}

// MPI_Cart_map and MPI_Graph_map are local, so no rank waits for another.
void maps(Conformance& t) {
  const OwnedComm all = everyone(t);
  const Where then = where(t, all);
  int dims[] = {0, 0};
  const int periods[] = {1, 1};
  OK(MPI_Dims_create(t.size, 2, dims));
  OwnedComm cart;
  OK(MPI_Cart_create(all, 2, dims, periods, 0, cart.out()));
  const Edges edges = edges_of_grid(t, cart, 2);
  std::vector<int> index, neighbors;
  for (int r = 0; r < t.size; ++r) {
    for (const auto& [a, b] : edges) {
      if (a == r) neighbors.push_back(b);
    }
    index.push_back(static_cast<int>(neighbors.size()));
  }
  for (int kind = 0; kind < 2; ++kind) {
    int alone = -9, own = -9;
    if (t.rank == 0) {
      if (kind == 0) OK(MPI_Cart_map(all, 2, dims, periods, &alone));
      if (kind == 1) OK(MPI_Graph_map(all, t.size, index.data(), neighbors.data(), &alone));
    }
    OK(MPI_Barrier(all));
    if (kind == 0) OK(MPI_Cart_map(all, 2, dims, periods, &own));
    if (kind == 1) OK(MPI_Graph_map(all, t.size, index.data(), neighbors.data(), &own));
    if (t.rank == 0) CHECK_EQ(own, alone);
    std::vector<int> new_ranks(static_cast<std::size_t>(t.size));
    OK(MPI_Allgather(&own, 1, MPI_INT, new_ranks.data(), 1, MPI_INT, all));
    REQUIRE(permutation(new_ranks));
    std::vector<int> node(new_ranks.size());
    for (std::size_t r = 0; r < node.size(); ++r) node[static_cast<std::size_t>(new_ranks[r])] = then.node[r];
    CHECK(between_nodes(node, edges) <= between_nodes(then.node, edges));
  }
}

// Of a ring that goes through the nodes in steps that do not suit any order of ranks: the one that follows
// node r, and the one before it.
int next_in_ring(int size, int r) {
  int step = size / 2;
  while (std::gcd(step, size) != 1) ++step;
  return (r + step) % size;
}
int previous_in_ring(int size, int r) {
  for (int other = 0; other < size; ++other) {
    if (next_in_ring(size, other) == r) return other;
  }
  return -1;
}
Edges ring_edges(int size) {
  Edges edges;
  for (int r = 0; r < size; ++r) edges.emplace_back(r, next_in_ring(size, r));
  return edges;
}

void graphs(Conformance& t) {
  const OwnedComm all = everyone(t);
  std::vector<int> index, edges;
  for (int r = 0; r < t.size; ++r) {
    edges.push_back(next_in_ring(t.size, r));
    edges.push_back(previous_in_ring(t.size, r));
    index.push_back(2 * (r + 1));
  }
  OwnedComm ring;
  OK(MPI_Graph_create(all, t.size, index.data(), edges.data(), 1, ring.out()));
  check_order(t, all, ring, ring_edges(t.size));
  int rank = -1, got[2] = {-1, -1};
  OK(MPI_Comm_rank(ring, &rank));
  std::vector<int> same_index(index.size()), same_edges(edges.size());
  OK(MPI_Graph_get(ring, t.size, 2 * t.size, same_index.data(), same_edges.data()));
  CHECK(same_index == index);
  CHECK(same_edges == edges);
  OK(MPI_Neighbor_allgather(&rank, 1, MPI_INT, got, 1, MPI_INT, ring));
  CHECK_EQ(got[0], next_in_ring(t.size, rank));
  CHECK_EQ(got[1], previous_in_ring(t.size, rank));
}

// Node r receives from the one before it in the ring and from node 0, and sends to the next and, if it is
// node 0, to all: with weights that say so.
void distributed_graphs(Conformance& t) {
  const OwnedComm all = everyone(t);
  for (int weighted = 0; weighted < 2; ++weighted) {
    std::vector<int> in, out, in_weights, out_weights;
    const auto lists = [&](int node) {
      in = {previous_in_ring(t.size, node), 0};
      in_weights = {1000 + node, node};
      out = {next_in_ring(t.size, node)};
      out_weights = {1000 + out[0]};
      for (int r = 0; node == 0 && r < t.size; ++r) {
        out.push_back(r);
        out_weights.push_back(r);
      }
    };
    lists(t.rank);
    OwnedComm comm;
    OK(MPI_Dist_graph_create_adjacent(
        all, 2, in.data(), weighted ? in_weights.data() : MPI_UNWEIGHTED, static_cast<int>(out.size()),
        out.data(), weighted ? out_weights.data() : MPI_UNWEIGHTED, MPI_INFO_NULL, 1, comm.out()));
    const Where now = where(t, comm);
    CHECK(permutation(now.world));
    int rank = -1, indegree = -1, outdegree = -1, got_weighted = -1;
    OK(MPI_Comm_rank(comm, &rank));
    OK(MPI_Dist_graph_neighbors_count(comm, &indegree, &outdegree, &got_weighted));
    lists(rank);
    CHECK_EQ(got_weighted, weighted);
    REQUIRE(indegree == 2 && outdegree == static_cast<int>(out.size()));
    std::vector<int> sources(in.size()), destinations(out.size()), w_in(in.size()), w_out(out.size());
    OK(MPI_Dist_graph_neighbors(comm, indegree, sources.data(), w_in.data(), outdegree, destinations.data(),
                                w_out.data()));
    CHECK(sources == in);
    CHECK(destinations == out);
    if (weighted) CHECK(w_in == in_weights && w_out == out_weights);
    int got[2] = {-1, -1};
    OK(MPI_Neighbor_allgather(&rank, 1, MPI_INT, got, 1, MPI_INT, comm));
    CHECK(got[0] == in[0] && got[1] == in[1]);
  }
}

// The edges of every node are named by the process before it.
void graphs_named_by_others(Conformance& t) {
  const OwnedComm all = everyone(t);
  const int node = (t.rank + 1) % t.size, degree = 2;
  const int to[] = {next_in_ring(t.size, node), node}, weights[] = {50 + node, 1};
  OwnedComm comm;
  OK(MPI_Dist_graph_create(all, 1, &node, &degree, to, weights, MPI_INFO_NULL, 1, comm.out()));
  check_order(t, all, comm, ring_edges(t.size));
  int rank = -1, indegree = -1, outdegree = -1, weighted = -1;
  OK(MPI_Comm_rank(comm, &rank));
  OK(MPI_Dist_graph_neighbors_count(comm, &indegree, &outdegree, &weighted));
  REQUIRE(indegree == 2 && outdegree == 2 && weighted == 1);
  int sources[2], destinations[2], w_in[2], w_out[2];
  OK(MPI_Dist_graph_neighbors(comm, 2, sources, w_in, 2, destinations, w_out));
  CHECK(destinations[0] == next_in_ring(t.size, rank) && destinations[1] == rank);
  CHECK(w_out[0] == 50 + rank && w_out[1] == 1);
  const int before = previous_in_ring(t.size, rank), own = sources[0] == rank ? 0 : 1;
  CHECK(sources[own] == rank && sources[1 - own] == before);
  if (t.size > 1) CHECK(w_in[own] == 1 && w_in[1 - own] == 50 + before);
  int got[2] = {-1, -1};
  OK(MPI_Neighbor_allgather(&rank, 1, MPI_INT, got, 1, MPI_INT, comm));
  CHECK(got[0] == sources[0] && got[1] == sources[1]);
}

}  // namespace

CHAPTER(reordering, CASE(grids), CASE(parts_of_grids), CASE(smaller_grids, .min_ranks = 2), CASE(maps),
        CASE(graphs), CASE(distributed_graphs), CASE(graphs_named_by_others))

}  // namespace conformance
