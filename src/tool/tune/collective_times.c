/* hawser-tune-times: how long collective operations take; `hawser tune` runs it. Prints "ranks N nodes N",
   and for each operation and size a line "OPERATION BYTES MICROSECONDS": the bytes of a block, or of a
   reduction's or broadcast's whole vector, and the median over many calls of the time until the slowest
   process is done.

   usage: hawser-tune-times SECONDS MOST ROOM OPERATION...
   SECONDS for each size, sizes up to MOST bytes, as long as a process's whole buffer has at most ROOM. */
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "call_collective.h"

enum { smallest = 8, step = 4, most_calls = 2000, least_calls = 5, first_calls = 3 };

static int rank, ranks;
static int *from, *to;

/* How many times as large the larger buffer is. */
static long blocks_of(const char* operation) {
  static const char* const whole[] = {"broadcast", "reduce", "allreduce", "reduce_scatter_block"};
  for (size_t i = 0; i < sizeof whole / sizeof *whole; ++i)
    if (strcmp(operation, whole[i]) == 0) return 1;
  return ranks;
}

static int ascending(const void* left, const void* right) {
  const double a = *(const double*)left, b = *(const double*)right;
  return (a > b) - (a < b);
}

/* One call of everybody, from a barrier to its own end. */
static double time_of_call(const char* operation, int count) {
  MPI_Barrier(MPI_COMM_WORLD);
  const double begin = MPI_Wtime();
  call_collective(operation, rank, from, to, count);
  return MPI_Wtime() - begin;
}

static double median_time(const char* operation, int count, double seconds) {
  static double own[most_calls], slowest[most_calls];
  double longest = 0;
  for (int i = 0; i < first_calls; ++i) longest = time_of_call(operation, count);
  MPI_Allreduce(MPI_IN_PLACE, &longest, 1, MPI_DOUBLE, MPI_MAX, MPI_COMM_WORLD);
  const double affordable = longest > 0 ? seconds / longest : most_calls;
  const int calls = affordable > most_calls    ? most_calls
                    : affordable < least_calls ? least_calls
                                               : (int)affordable;
  for (int i = 0; i < calls; ++i) own[i] = time_of_call(operation, count);
  MPI_Reduce(own, slowest, calls, MPI_DOUBLE, MPI_MAX, 0, MPI_COMM_WORLD);
  qsort(slowest, (size_t)calls, sizeof *slowest, ascending);
  return slowest[calls / 2];
}

static int count_nodes(void) {
  MPI_Comm node;
  int place, nodes;
  MPI_Comm_split_type(MPI_COMM_WORLD, MPI_COMM_TYPE_SHARED, 0, MPI_INFO_NULL, &node);
  MPI_Comm_rank(node, &place);
  const int first = place == 0;
  MPI_Allreduce(&first, &nodes, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
  MPI_Comm_free(&node);
  return nodes;
}

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &ranks);
  if (argc < 4) {
    if (rank == 0) fprintf(stderr, "usage: hawser-tune-times SECONDS MOST ROOM OPERATION...\n");
    MPI_Abort(MPI_COMM_WORLD, 2);
  }
  const double seconds = atof(argv[1]);
  const long most = atol(argv[2]), room = atol(argv[3]);
  from = calloc(1, (size_t)room);
  to = calloc(1, (size_t)room);
  if (from == NULL || to == NULL) {
    fprintf(stderr, "hawser-tune-times: no memory for two buffers of %ld bytes\n", room);
    MPI_Abort(MPI_COMM_WORLD, 1);
  }
  const int nodes = count_nodes();
  if (rank == 0) printf("ranks %d nodes %d\n", ranks, nodes);
  for (int i = 4; i < argc; ++i) {
    const int barrier = strcmp(argv[i], "barrier") == 0;
    for (long bytes = smallest; bytes <= most && bytes * blocks_of(argv[i]) <= room; bytes *= step) {
      const int blocks = strcmp(argv[i], "reduce_scatter_block") == 0 ? ranks : 1;
      const int count = (int)(bytes / (long)sizeof(int)) / blocks;
      if (count == 0) continue;
      const double time = median_time(argv[i], count, seconds);
      if (rank == 0) printf("%s %ld %.3f\n", argv[i], barrier ? 0 : bytes, time * 1e6);
      if (barrier) break;
    }
  }
  free(from);
  free(to);
  MPI_Finalize();
  return 0;
}
