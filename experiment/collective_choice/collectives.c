// The latency of collective operations: from the moment at which all ranks begin until the last one ends. All
// ranks begin at the same time of a clock that they share, which the simulator's is. Prints a line for each
// size: operation, bytes, microseconds (the median of the rounds). The bytes are those of the whole vector in
// broadcast, reduce and allreduce, and else those of one rank's block.
// Usage: collectives OPERATION LEAST_BYTES MOST_BYTES MOST_BYTES_OF_A_BUFFER ROUNDS
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "../../src/tool/tune/call_collective.h"

static int rank, ranks;
static int *from, *to;

static int compare(const void* a, const void* b) {
  const double x = *(const double*)a, y = *(const double*)b;
  return x < y ? -1 : x > y;
}

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

static void rest_until(double time) {
  const double left = time - MPI_Wtime();
  const struct timespec rest = {0, (long)(left * 1e9)};
  if (left > 0) nanosleep(&rest, NULL);
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
      double now = MPI_Wtime(), latest = 0, slowest = 0;
      MPI_Allreduce(&now, &latest, 1, MPI_DOUBLE, MPI_MAX, MPI_COMM_WORLD);
      const double begin = (double)(long)(latest * 1e6 + 300) * 1e-6;
      // What the operations before left to be taken up is none of this one's time.
      rest_until(begin - 150e-6);
      for (int any, pass = 0; pass < 4 + ranks / 16; ++pass)
        MPI_Iprobe(MPI_ANY_SOURCE, 0, MPI_COMM_WORLD, &any, MPI_STATUS_IGNORE);
      rest_until(begin);
      call_collective(name, rank, from, to, (int)(bytes / 4));
      const double mine = MPI_Wtime() - begin;
      MPI_Reduce(&mine, &slowest, 1, MPI_DOUBLE, MPI_MAX, 0, MPI_COMM_WORLD);
      if (i >= warm_up) took[i - warm_up] = slowest * 1e6;
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
