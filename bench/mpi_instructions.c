/* For counting instructions under callgrind: rank 1 posts receives, then rank 0 sends 8 bytes to each, and
   waits for half of the sends and tests half of them. With the argument "send": by MPI_Send, one at a time,
   each answered, so that none finds a full window. */
#include <mpi.h>
#include <string.h>

enum { messages = 200, rounds = 10 };

static __attribute__((noinline)) void send(const double* value) {
  MPI_Send(value, 1, MPI_DOUBLE, 1, 0, MPI_COMM_WORLD);
}
__attribute__((noinline)) void counted_send(const double* value) {
  MPI_Send(value, 1, MPI_DOUBLE, 1, 0, MPI_COMM_WORLD);
}

int main(int argc, char** argv) {
  int rank;
  double value[messages] = {0};
  MPI_Request requests[messages];
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  for (int i = 0; argc > 1 && strcmp(argv[1], "send") == 0 && i < 3 * messages; ++i) {
    if (rank == 0)
      (i < messages ? send : counted_send)(&value[0]); /* the first third connects and warms up */
    if (rank < 2) MPI_Recv(&value[1], 1, MPI_DOUBLE, 1 - rank, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    if (rank == 1) MPI_Send(&value[0], 1, MPI_DOUBLE, 0, 0, MPI_COMM_WORLD);
  }
  for (int round = 0; argc < 2 && round < rounds; ++round) {
    for (int i = 0; rank == 1 && i < messages; ++i)
      MPI_Irecv(&value[i], 1, MPI_DOUBLE, 0, i, MPI_COMM_WORLD, &requests[i]);
    MPI_Barrier(MPI_COMM_WORLD);
    for (int i = 0; rank == 0 && i < messages; ++i)
      MPI_Isend(&value[i], 1, MPI_DOUBLE, 1, i, MPI_COMM_WORLD, &requests[i]);
    int done = 0;
    for (int i = 0; rank == 0 && i < messages / 2; ++i) MPI_Wait(&requests[i], MPI_STATUS_IGNORE);
    for (int i = messages / 2; rank == 0 && i < messages; i += done)
      MPI_Test(&requests[i], &done, MPI_STATUS_IGNORE);
    if (rank == 1) MPI_Waitall(messages, requests, MPI_STATUSES_IGNORE);
  }
  MPI_Finalize();
  return 0;
}
