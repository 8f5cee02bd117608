// The latency of collective operations: from the moment at which all ranks begin until the last one ends. All
// ranks begin at the same time of a clock that they share, which the simulator's is. Prints a line for each
// size: operation, bytes, microseconds (the median of the rounds). The bytes are those of the whole vector in
// broadcast, reduce and allreduce, and else those of one rank's block.
// Usage: collectives OPERATION LEAST_BYTES MOST_BYTES MOST_BYTES_OF_A_BUFFER ROUNDS
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "../../src/tool/tune/call_collective.h"
#include "rounds.h"

static int rank, ranks;
static int *from, *to;

// Element i of what `sender` contributes.
static int element(int sender, long i) { return sender * 31 + (int)(i & 0xffff) * 7 + 1; }
static int sum(long i) { return 31 * (ranks * (ranks - 1) / 2) + ranks * ((int)(i & 0xffff) * 7 + 1); }

// How many elements of the result are wrong.
static long wrong(const char* name, long n) {
  long bad = 0;
  if (strcmp(name, "broadcast") == 0)
    for (long i = 0; i < n && rank != 0; ++i) bad += to[i] != element(0, i);
  if (strcmp(name, "scatter") == 0)
    for (long i = 0; i < n; ++i) bad += to[i] != element(0, rank * n + i);
  if (strcmp(name, "allgather") == 0 || (strcmp(name, "gather") == 0 && rank == 0))
    for (long i = 0; i < n * ranks; ++i) bad += to[i] != element((int)(i / n), i % n);
  if (strcmp(name, "alltoall") == 0)
    for (long i = 0; i < n * ranks; ++i) bad += to[i] != element((int)(i / n), rank * n + i % n);
  if (strcmp(name, "allreduce") == 0 || (strcmp(name, "reduce") == 0 && rank == 0))
    for (long i = 0; i < n; ++i) bad += to[i] != sum(i);
  if (strcmp(name, "reduce_scatter_block") == 0)
    for (long i = 0; i < n; ++i) bad += to[i] != sum(rank * n + i);
  return bad;
}

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &ranks);
  if (argc != 6) MPI_Abort(MPI_COMM_WORLD, 2);
  const char* const name = argv[1];
  const long least = atol(argv[2]), most = atol(argv[3]), room = atol(argv[4]);
  const int rounds = atoi(argv[5]);
  const int vector = strcmp(name, "broadcast") == 0 || strcmp(name, "reduce") == 0 ||
                     strcmp(name, "allreduce") == 0 || strcmp(name, "barrier") == 0;
  from = malloc((size_t)room);
  to = malloc((size_t)room);
  double* const took = malloc((size_t)rounds * sizeof(double));
  for (long i = 0; i < room / 4; ++i) from[i] = element(rank, i);
  for (long bytes = least; bytes <= most; bytes = bytes < most && bytes * 4 > most ? most : bytes * 4) {
    if (bytes * (vector ? 1 : ranks) > room) break;
    // Peers are connected only after some messages, and each size may have others.
    const int warm_up = bytes <= 32768 ? 20 : 4;
    long bad = 0, all_bad = 0;
    for (int i = 0; i < warm_up + rounds; ++i) {
      if (i == 0) memset(to, 0, (size_t)(bytes * (vector ? 1 : ranks)));
      const double begin = begin_round(ranks);
      call_collective(name, rank, from, to, (int)(bytes / 4));
      const double slowest = end_round(begin);
      if (i >= warm_up) took[i - warm_up] = slowest;
      if (i == 0) bad = wrong(name, bytes / 4);
    }
    MPI_Allreduce(&bad, &all_bad, 1, MPI_LONG, MPI_SUM, MPI_COMM_WORLD);
    if (all_bad > 0) MPI_Abort(MPI_COMM_WORLD, 1);
    qsort(took, (size_t)rounds, sizeof(double), compare);
    if (rank == 0) printf("%s %ld %.2f\n", name, bytes, took[rounds / 2]);
    if (strcmp(name, "barrier") == 0) break;
  }
  free(from);
  free(to);
  free(took);
  MPI_Finalize();
  return 0;
}
