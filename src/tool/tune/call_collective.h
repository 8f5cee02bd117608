/* One call of the collective operation that has this name, among all processes, with the first one as the
   root. `count` integers are a block; or the whole vector of a broadcast, a reduction or an all-reduce. */
#pragma once

#include <mpi.h>
#include <string.h>

static void call_collective(const char* name, int rank, int* from, int* to, int count) {
  const MPI_Comm all = MPI_COMM_WORLD;
  if (strcmp(name, "barrier") == 0) MPI_Barrier(all);
  if (strcmp(name, "broadcast") == 0) MPI_Bcast(rank == 0 ? from : to, count, MPI_INT, 0, all);
  if (strcmp(name, "gather") == 0) MPI_Gather(from, count, MPI_INT, to, count, MPI_INT, 0, all);
  if (strcmp(name, "scatter") == 0) MPI_Scatter(from, count, MPI_INT, to, count, MPI_INT, 0, all);
  if (strcmp(name, "allgather") == 0) MPI_Allgather(from, count, MPI_INT, to, count, MPI_INT, all);
  if (strcmp(name, "alltoall") == 0) MPI_Alltoall(from, count, MPI_INT, to, count, MPI_INT, all);
  if (strcmp(name, "reduce") == 0) MPI_Reduce(from, to, count, MPI_INT, MPI_SUM, 0, all);
  if (strcmp(name, "allreduce") == 0) MPI_Allreduce(from, to, count, MPI_INT, MPI_SUM, all);
  if (strcmp(name, "reduce_scatter_block") == 0)
    MPI_Reduce_scatter_block(from, to, count, MPI_INT, MPI_SUM, all);
}
