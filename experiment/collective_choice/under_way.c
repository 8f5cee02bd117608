// The latency of collective operations of which several are under way: from the moment at which all ranks
// begin until the last one ends. Each rank starts so many and waits for all of them; 0: one that blocks. All
// ranks begin at the same time of a clock that they share, which the simulator's is. Prints a line for each
// size: operation, how many, bytes, microseconds (the median of the rounds). The bytes are those of the whole
// vector in barrier, broadcast, reduce and allreduce, and else of one rank's block.
// Usage: under_way OPERATION LEAST_BYTES MOST_BYTES HOW_MANY ROUNDS
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "../../src/tool/tune/call_collective.h"
#include "rounds.h"

enum { most_under_way = 8 };
static int rank, ranks;
static int *from[most_under_way], *to[most_under_way];

// Element i of what `sender` contributes to the operation of this number.
static int element(int number, int sender, long i) {
  return number * 1009 + sender * 31 + (int)(i & 0xffff) * 7 + 1;
}
static int sum(int number, long i) {
  return 31 * (ranks * (ranks - 1) / 2) + ranks * (number * 1009 + (int)(i & 0xffff) * 7 + 1);
}

// How many elements of the result are wrong.
static long wrong(const char* name, int number, long n) {
  long bad = 0;
  if (strcmp(name, "broadcast") == 0)
    for (long i = 0; i < n && rank != 0; ++i) bad += to[number][i] != element(number, 0, i);
  if (strcmp(name, "scatter") == 0)
    for (long i = 0; i < n; ++i) bad += to[number][i] != element(number, 0, rank * n + i);
  if (strcmp(name, "alltoall") == 0)
    for (long i = 0; i < n * ranks; ++i)
      bad += to[number][i] != element(number, (int)(i / n), rank * n + i % n);
  if (strcmp(name, "reduce_scatter_block") == 0)
    for (long i = 0; i < n; ++i) bad += to[number][i] != sum(number, rank * n + i);
  if (strcmp(name, "allgather") == 0 || (strcmp(name, "gather") == 0 && rank == 0))
    for (long i = 0; i < n * ranks; ++i) bad += to[number][i] != element(number, (int)(i / n), i % n);
  if (strcmp(name, "allreduce") == 0 || (strcmp(name, "reduce") == 0 && rank == 0))
    for (long i = 0; i < n; ++i) bad += to[number][i] != sum(number, i);
  return bad;
}

static void start(const char* name, int number, int count, MPI_Request* request) {
  const MPI_Comm all = MPI_COMM_WORLD;
  int *const out = from[number], *const in = to[number];
  if (strcmp(name, "barrier") == 0) MPI_Ibarrier(all, request);
  if (strcmp(name, "broadcast") == 0) MPI_Ibcast(rank == 0 ? out : in, count, MPI_INT, 0, all, request);
  if (strcmp(name, "allgather") == 0) MPI_Iallgather(out, count, MPI_INT, in, count, MPI_INT, all, request);
  if (strcmp(name, "gather") == 0) MPI_Igather(out, count, MPI_INT, in, count, MPI_INT, 0, all, request);
  if (strcmp(name, "scatter") == 0) MPI_Iscatter(out, count, MPI_INT, in, count, MPI_INT, 0, all, request);
  if (strcmp(name, "alltoall") == 0) MPI_Ialltoall(out, count, MPI_INT, in, count, MPI_INT, all, request);
  if (strcmp(name, "reduce_scatter_block") == 0)
    MPI_Ireduce_scatter_block(out, in, count, MPI_INT, MPI_SUM, all, request);
  if (strcmp(name, "reduce") == 0) MPI_Ireduce(out, in, count, MPI_INT, MPI_SUM, 0, all, request);
  if (strcmp(name, "allreduce") == 0) MPI_Iallreduce(out, in, count, MPI_INT, MPI_SUM, all, request);
}

// The time of one round in microseconds, at rank 0.
static double round_of(const char* name, int how_many, int count) {
  MPI_Request requests[most_under_way];
  const double begin = begin_round(ranks);
  if (how_many == 0) call_collective(name, rank, from[0], to[0], count);
  for (int i = 0; i < how_many; ++i) start(name, i, count, &requests[i]);
  if (how_many > 0) MPI_Waitall(how_many, requests, MPI_STATUSES_IGNORE);
  return end_round(begin);
}

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &ranks);
  if (argc != 6) MPI_Abort(MPI_COMM_WORLD, 2);
  const char* const name = argv[1];
  const long least = atol(argv[2]), most = atol(argv[3]);
  const int how_many = atoi(argv[4]), rounds = atoi(argv[5]);
  if (how_many > most_under_way) MPI_Abort(MPI_COMM_WORLD, 2);
  const int buffers = how_many == 0 ? 1 : how_many;
  const int vector = strcmp(name, "broadcast") == 0 || strcmp(name, "reduce") == 0 ||
                     strcmp(name, "allreduce") == 0 || strcmp(name, "barrier") == 0;
  const long room = most * (vector ? 1 : ranks);
  for (int b = 0; b < buffers; ++b) {
    from[b] = malloc((size_t)room);
    to[b] = malloc((size_t)room);
    for (long i = 0; i < room / 4; ++i) from[b][i] = element(b, rank, i);
  }
  double* const took = malloc((size_t)rounds * sizeof(double));
  for (long bytes = least; bytes <= most; bytes = bytes < most && bytes * 4 > most ? most : bytes * 4) {
    // Peers are connected only after some messages, and each size may have others.
    const int warm_up = 20;
    long bad = 0, all_bad = 0;
    for (int i = 0; i < warm_up + rounds; ++i) {
      const double time = round_of(name, how_many, (int)(bytes / 4));
      if (i >= warm_up) took[i - warm_up] = time;
      for (int b = 0; b < buffers; ++b) {
        bad += wrong(name, b, bytes / 4);
        memset(to[b], 0, (size_t)room);
      }
    }
    MPI_Allreduce(&bad, &all_bad, 1, MPI_LONG, MPI_SUM, MPI_COMM_WORLD);
    if (all_bad > 0) MPI_Abort(MPI_COMM_WORLD, 1);
    qsort(took, (size_t)rounds, sizeof(double), compare);
    if (rank == 0) printf("%s %d %ld %.3f\n", name, how_many, bytes, took[rounds / 2]);
    if (strcmp(name, "barrier") == 0) break;
  }
  for (int b = 0; b < buffers; ++b) {
    free(from[b]);
    free(to[b]);
  }
  free(took);
  MPI_Finalize();
  return 0;
}
