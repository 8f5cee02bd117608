#include "binding/fortran/arguments.h"

namespace hawser::fortran {

MPI_Datatype wide_datatype(MPI_Datatype datatype) {
  if (datatype == MPI_INTEGER) return MPI_INTEGER8;
#ifdef HAWSER_ABI_OF_MPICH
  if (datatype == MPI_LOGICAL) return MPI_INTEGER8;
#else
  if (datatype == MPI_LOGICAL) return MPI_LOGICAL8;
#endif
  MPI_Datatype pair = datatype;
  // The same pair of types has the same handle whenever it is asked for.
  if (datatype == MPI_2INTEGER) MPI_Type_get_value_index(MPI_INTEGER8, MPI_INTEGER8, &pair);
  return pair;
}

int local_size_of(const int* communicator) {
  int size = 0;
  return MPI_Comm_size(handle<MPI_Comm>(communicator), &size) == MPI_SUCCESS ? size : 0;
}

int size_of(const int* communicator) {
  const auto comm = handle<MPI_Comm>(communicator);
  int inter = 0;
  int size = 0;
  if (MPI_Comm_test_inter(comm, &inter) != MPI_SUCCESS) return 0;
  const int code = inter != 0 ? MPI_Comm_remote_size(comm, &size) : MPI_Comm_size(comm, &size);
  return code == MPI_SUCCESS ? size : 0;
}

namespace {

struct Degrees {
  int in = 0;
  int out = 0;
};

Degrees degrees_of(const int* communicator) {
  const auto comm = handle<MPI_Comm>(communicator);
  Degrees degrees;
  int topology = MPI_UNDEFINED;
  if (MPI_Topo_test(comm, &topology) != MPI_SUCCESS) return degrees;
  int weighted = 0;
  if (topology == MPI_DIST_GRAPH) {
    MPI_Dist_graph_neighbors_count(comm, &degrees.in, &degrees.out, &weighted);
  } else if (topology == MPI_CART) {
    MPI_Cartdim_get(comm, &degrees.in);
    degrees.out = degrees.in = 2 * degrees.in;
  } else if (topology == MPI_GRAPH) {
    int rank = 0;
    MPI_Comm_rank(comm, &rank);
    MPI_Graph_neighbors_count(comm, rank, &degrees.in);
    degrees.out = degrees.in;
  }
  return degrees;
}

}  // namespace

int indegree_of(const int* communicator) { return degrees_of(communicator).in; }
int outdegree_of(const int* communicator) { return degrees_of(communicator).out; }

int dimensions_of(const int* communicator) {
  int dimensions = 0;
  return MPI_Cartdim_get(handle<MPI_Comm>(communicator), &dimensions) == MPI_SUCCESS ? dimensions : 0;
}

bool is_root(const int* root, const int* communicator) {
  if (*root == MPI_ROOT) return true;
  int rank = MPI_PROC_NULL;
  int inter = 0;
  const auto comm = handle<MPI_Comm>(communicator);
  if (MPI_Comm_rank(comm, &rank) != MPI_SUCCESS || MPI_Comm_test_inter(comm, &inter) != MPI_SUCCESS)
    return false;
  return inter == 0 && rank == *root;
}

int element_of(const int* array, int n) {
  if (n <= 0) return 0;
  return array[static_cast<std::size_t>(n - 1) * (wide_integers() ? 2 : 1)];
}

std::int64_t sum_of(const int* array, int n) {
  std::int64_t sum = 0;
  for (int i = 1; i <= n; ++i) sum += element_of(array, i);
  return sum;
}

}  // namespace hawser::fortran
