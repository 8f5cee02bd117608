// How far a grid's edges reach without and with reordering, as Cartesian, general and distributed graph: one
// line, for the test to compare with what is right.
//   mpiexec -n 8 ... reordering nodes|processors DIMENSION...
// Counts the edges between different nodes, or, where each rank binds itself to one of two processors in
// turn, those between different processors.
#include <mpi.h>
#include <sched.h>

#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <vector>

namespace {

// The processor that this rank is bound to from now on.
int bind_to_one_of_two(int rank) {
  cpu_set_t allowed, one;
  if (sched_getaffinity(0, sizeof allowed, &allowed) != 0) return -1;
  int left = rank % 2 + 1, processor = -1;
  while (left > 0 && ++processor < CPU_SETSIZE)
    left -= CPU_ISSET(static_cast<std::size_t>(processor), &allowed);
  if (left > 0) return -1;
  CPU_ZERO(&one);
  CPU_SET(static_cast<std::size_t>(processor), &one);
  return sched_setaffinity(0, sizeof one, &one) == 0 ? processor : -1;
}

int node_number(int rank) {
  MPI_Comm node;
  int first = -1;
  MPI_Comm_split_type(MPI_COMM_WORLD, MPI_COMM_TYPE_SHARED, 0, MPI_INFO_NULL, &node);
  MPI_Allreduce(&rank, &first, 1, MPI_INT, MPI_MIN, node);
  MPI_Comm_free(&node);
  return first;
}

// Edges between different places, each counted in both directions; frees the communicator.
int edges_apart(MPI_Comm comm, int place, const std::vector<int>& index, const std::vector<int>& neighbors) {
  std::vector<int> places(index.size());
  MPI_Allgather(&place, 1, MPI_INT, places.data(), 1, MPI_INT, comm);
  int apart = 0, next = 0;
  for (std::size_t r = 0; r < index.size(); ++r) {
    for (; next < index[r]; ++next)
      apart += places[r] != places[static_cast<std::size_t>(neighbors[static_cast<std::size_t>(next)])];
  }
  MPI_Comm_free(&comm);
  return apart;
}

}  // namespace

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  int rank = -1, size = 0;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  const bool processors = argc > 1 && std::strcmp(argv[1], "processors") == 0;
  const int place = processors ? bind_to_one_of_two(rank) : node_number(rank);
  int all_found = place >= 0;
  MPI_Allreduce(MPI_IN_PLACE, &all_found, 1, MPI_INT, MPI_MIN, MPI_COMM_WORLD);
  if (!all_found) {
    std::printf("two processors are needed\n");
    MPI_Finalize();
    return 77;  // ctest shows it as skipped
  }
  std::vector<int> dims, periods;
  for (int i = 2; i < argc; ++i) dims.push_back(std::atoi(argv[i]));
  periods.resize(dims.size());
  const int ndims = static_cast<int>(dims.size());

  MPI_Comm plain, cart, graph, distributed;
  MPI_Cart_create(MPI_COMM_WORLD, ndims, dims.data(), periods.data(), 0, &plain);
  std::vector<int> index, neighbors, coords(dims.size());
  for (int r = 0; r < size; ++r) {
    MPI_Cart_coords(plain, r, ndims, coords.data());
    for (std::size_t d = 0; d < dims.size(); ++d) {
      for (const int step : {-1, 1}) {
        std::vector<int> beside = coords;
        beside[d] += step;
        if (beside[d] < 0 || beside[d] == dims[d]) continue;
        neighbors.push_back(0);
        MPI_Cart_rank(plain, beside.data(), &neighbors.back());
      }
    }
    index.push_back(static_cast<int>(neighbors.size()));
  }
  MPI_Cart_create(MPI_COMM_WORLD, ndims, dims.data(), periods.data(), 1, &cart);
  MPI_Graph_create(MPI_COMM_WORLD, size, index.data(), neighbors.data(), 1, &graph);
  const int first = rank == 0 ? 0 : index[static_cast<std::size_t>(rank) - 1];
  const int degree = index[static_cast<std::size_t>(rank)] - first;
  MPI_Dist_graph_create_adjacent(MPI_COMM_WORLD, degree, &neighbors[static_cast<std::size_t>(first)],
                                 MPI_UNWEIGHTED, degree, &neighbors[static_cast<std::size_t>(first)],
                                 MPI_UNWEIGHTED, MPI_INFO_NULL, 1, &distributed);
  // On how many ranks MPI_Cart_map and MPI_Graph_map foretell the new rank.
  int cart_rank = -1, graph_rank = -1, cart_map = -1, graph_map = -1, foretold = 0;
  MPI_Comm_rank(cart, &cart_rank);
  MPI_Comm_rank(graph, &graph_rank);
  MPI_Cart_map(MPI_COMM_WORLD, ndims, dims.data(), periods.data(), &cart_map);
  MPI_Graph_map(MPI_COMM_WORLD, size, index.data(), neighbors.data(), &graph_map);
  const int right = cart_map == cart_rank && graph_map == graph_rank;
  MPI_Reduce(&right, &foretold, 1, MPI_INT, MPI_SUM, 0, MPI_COMM_WORLD);
  const int before = edges_apart(plain, place, index, neighbors);
  const int in_cart = edges_apart(cart, place, index, neighbors);
  const int in_graph = edges_apart(graph, place, index, neighbors);
  const int in_distributed = edges_apart(distributed, place, index, neighbors);
  if (rank == 0)
    std::printf("edges apart: %d before, %d cart, %d graph, %d distributed; %d ranks foretold\n", before,
                in_cart, in_graph, in_distributed, foretold);
  MPI_Finalize();
  return 0;
}
