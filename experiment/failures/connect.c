// How long rank 0 takes to connect to all others: each sends it a message of 16 KiB and gets one.
//
//   connect SECONDS
//
// Prints when the last message was there, in us since the job began, and stays in MPI until SECONDS, so that
// what the library does afterwards (alternate paths) is done.
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

enum { bytes = 16384 };

int main(int argc, char** argv) {
  int rank, size, done = 0;
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  const int peers = rank == 0 ? size - 1 : 1;
  char *out = calloc(1, bytes), *in = calloc((size_t)peers, bytes);
  MPI_Request* requests = calloc(2 * (size_t)peers, sizeof *requests);
  for (int i = 0; i < peers; ++i) {
    const int peer = rank == 0 ? i + 1 : 0;
    MPI_Irecv(in + (size_t)i * bytes, bytes, MPI_BYTE, peer, 0, MPI_COMM_WORLD, &requests[i]);
    MPI_Isend(out, bytes, MPI_BYTE, peer, 0, MPI_COMM_WORLD, &requests[peers + i]);
  }
  MPI_Waitall(2 * peers, requests, MPI_STATUSES_IGNORE);
  if (rank == 0) printf("%.3f\n", MPI_Wtime() * 1e6);
  while (MPI_Wtime() < atof(argv[1])) {
    MPI_Iprobe(MPI_ANY_SOURCE, 1, MPI_COMM_WORLD, &done, MPI_STATUS_IGNORE);
    usleep(20);
  }
  free(out);
  free(in);
  free(requests);
  MPI_Finalize();
  return 0;
}
