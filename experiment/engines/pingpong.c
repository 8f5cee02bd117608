// Ping-pong of sizes in any order, since what the library learns from one size serves the next one.
//
// Usage: pingpong ROUNDS WARM-UP BYTES...
// Prints a line for each size: bytes, and half of a round in microseconds.
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>

static int rank;
static char* data;

static void round_of(int bytes) {
  const int peer = 1 - rank;
  if (rank == 0) MPI_Send(data, bytes, MPI_CHAR, peer, 0, MPI_COMM_WORLD);
  MPI_Recv(data, bytes, MPI_CHAR, peer, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
  if (rank == 1) MPI_Send(data, bytes, MPI_CHAR, peer, 0, MPI_COMM_WORLD);
}

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  if (argc < 4) {
    if (rank == 0) fprintf(stderr, "usage: pingpong ROUNDS WARM-UP BYTES...\n");
    MPI_Abort(MPI_COMM_WORLD, 2);
  }
  int most = 1;
  for (int a = 3; a < argc; ++a) most = atoi(argv[a]) > most ? atoi(argv[a]) : most;
  data = calloc((size_t)most, 1);
  const int rounds = atoi(argv[1]), warm_up = atoi(argv[2]);
  for (int a = 3; a < argc; ++a) {
    const int bytes = atoi(argv[a]);
    double begin = 0;
    for (int i = -warm_up; i < rounds; ++i) {
      if (i == 0) begin = MPI_Wtime();
      round_of(bytes);
    }
    if (rank == 0) printf("%d %.3f\n", bytes, (MPI_Wtime() - begin) * 1e6 / (2.0 * rounds));
  }
  MPI_Finalize();
  free(data);
  return 0;
}
