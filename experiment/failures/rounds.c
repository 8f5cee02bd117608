// Pings from rank 0 to each other rank in turn, round after round, as V07 9.4.4 takes its queue pairs in
// turn.
//
//   rounds BYTES ROUNDS SETTLED
//
// Before the rounds, rank 0 talks to all until SETTLED seconds after the job began. Prints for each ping when
// it began, in us, and half the time that it and its answer took. Answers are compared.
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { ping = 1, end = 2 };

static void answer(char* data, int bytes) {
  for (;;) {
    MPI_Status status;
    MPI_Recv(data, bytes, MPI_BYTE, 0, MPI_ANY_TAG, MPI_COMM_WORLD, &status);
    if (status.MPI_TAG == end) return;
    MPI_Send(data, bytes, MPI_BYTE, 0, ping, MPI_COMM_WORLD);
  }
}

static void ask(int peer, char* data, char* back, int bytes, int number) {
  memset(data, number % 251, (size_t)bytes);
  MPI_Send(data, bytes, MPI_BYTE, peer, ping, MPI_COMM_WORLD);
  MPI_Recv(back, bytes, MPI_BYTE, peer, ping, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
  if (memcmp(data, back, (size_t)bytes) == 0) return;
  fprintf(stderr, "rounds: ping %d to rank %d came back changed\n", number, peer);
  MPI_Abort(MPI_COMM_WORLD, 3);
}

int main(int argc, char** argv) {
  int rank, size;
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  if (argc != 4) {
    if (rank == 0) fprintf(stderr, "usage: rounds BYTES ROUNDS SETTLED\n");
    MPI_Abort(MPI_COMM_WORLD, 2);
  }
  const int bytes = atoi(argv[1]), rounds = atoi(argv[2]);
  const double settled = atof(argv[3]);
  char *data = calloc(1, (size_t)bytes), *back = calloc(1, (size_t)bytes);
  if (rank > 0) answer(data, bytes);
  int number = 0;
  while (rank == 0 && MPI_Wtime() < settled)
    for (int peer = 1; peer < size; ++peer) ask(peer, data, back, bytes, ++number);
  for (int i = 0; rank == 0 && i < rounds * (size - 1); ++i) {
    const double begin = MPI_Wtime();
    ask(i % (size - 1) + 1, data, back, bytes, ++number);
    printf("%.3f %.3f\n", begin * 1e6, (MPI_Wtime() - begin) * 1e6 / 2);
  }
  for (int peer = 1; rank == 0 && peer < size; ++peer) MPI_Send(NULL, 0, MPI_BYTE, peer, end, MPI_COMM_WORLD);
  free(data);
  free(back);
  MPI_Finalize();
  return 0;
}
