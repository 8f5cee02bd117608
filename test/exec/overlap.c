// Sleeps while a large message is to come in; prints how many microseconds the wait for it took after that.
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  const int bytes = 1 << 20;
  char* const data = calloc(1, bytes);
  int rank = 0;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  for (int round = 0; round < 2; ++round) {  // the first one connects
    MPI_Request request;
    if (rank == 0) MPI_Isend(data, bytes, MPI_BYTE, 1, 0, MPI_COMM_WORLD, &request);
    if (rank == 1) MPI_Irecv(data, bytes, MPI_BYTE, 0, 0, MPI_COMM_WORLD, &request);
    usleep(10000);
    const double begin = MPI_Wtime();
    MPI_Wait(&request, MPI_STATUS_IGNORE);
    if (rank == 1 && round == 1) printf("%.3f\n", (MPI_Wtime() - begin) * 1e6);
    MPI_Barrier(MPI_COMM_WORLD);
  }
  free(data);
  MPI_Finalize();
  return 0;
}
