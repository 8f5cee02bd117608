/* A job that passes a message round, says so, and ends when the last rank's standard input does: that one
   looks at it and calls MPI now and then, the others wait in MPI. */
#include <mpi.h>
#include <poll.h>
#include <stdio.h>

int main(int argc, char** argv) {
  int rank = 0, size = 1, token = 0;
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  MPI_Sendrecv(&rank, 1, MPI_INT, (rank + 1) % size, 0, &token, 1, MPI_INT, (rank + size - 1) % size, 0,
               MPI_COMM_WORLD, MPI_STATUS_IGNORE);
  MPI_Barrier(MPI_COMM_WORLD);
  if (rank == size - 1) {
    struct pollfd input = {.fd = 0, .events = POLLIN};
    int came = 0;
    puts("running");
    fflush(stdout);
    do MPI_Iprobe(MPI_ANY_SOURCE, 0, MPI_COMM_WORLD, &came, MPI_STATUS_IGNORE);
    while (poll(&input, 1, 1) <= 0 || getchar() != EOF);
  }
  MPI_Barrier(MPI_COMM_WORLD);
  MPI_Finalize();
  return 0;
}
