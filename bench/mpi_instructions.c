/* For counting instructions under callgrind: rank 1 posts receives, then rank 0 sends 8 bytes to each. */
#include <mpi.h>
#include <stdio.h>

enum { messages = 200 };

int main(int argc, char** argv) {
  int rank;
  double value[messages] = {0};
  MPI_Request requests[messages];
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  for (int round = 0; round < 2; ++round) { /* the first round connects and warms up; both are counted */
    for (int i = 0; rank == 1 && i < messages; ++i)
      MPI_Irecv(&value[i], 1, MPI_DOUBLE, 0, i, MPI_COMM_WORLD, &requests[i]);
    MPI_Barrier(MPI_COMM_WORLD);
    for (int i = 0; rank == 0 && i < messages; ++i)
      MPI_Isend(&value[i], 1, MPI_DOUBLE, 1, i, MPI_COMM_WORLD, &requests[i]);
    if (rank < 2) MPI_Waitall(messages, requests, MPI_STATUSES_IGNORE);
  }
  MPI_Finalize();
  return 0;
}
