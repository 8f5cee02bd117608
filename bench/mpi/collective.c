/* Collectives: the mean over the processes of the mean time of one call. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "bench.h"

enum collective {
  no_collective,
  barrier,
  bcast,
  reduce,
  allreduce,
  gather,
  scatter,
  allgather,
  alltoall,
  reduce_scatter,
  scan
};

static enum collective collective_named(const char* name) {
  static const char* const names[] = {"",          "barrier",        "bcast",   "reduce",
                                      "allreduce", "gather",         "scatter", "allgather",
                                      "alltoall",  "reduce_scatter", "scan"};
  for (int i = 1; i <= scan; ++i)
    if (strcmp(name, names[i]) == 0) return (enum collective)i;
  return no_collective;
}

int is_collective(const char* name) { return collective_named(name) != no_collective; }

/* Reductions work on floats, as in the OSU suite; `bytes` is per process. */
static void call(struct bench* bench, enum collective what, size_t bytes, int* counts) {
  char *send = bench->send, *receive = bench->receive;
  const int n = (int)bytes, floats = (int)(bytes / sizeof(float));
  MPI_Comm world = MPI_COMM_WORLD;
  switch (what) {
    case barrier:
      MPI_Barrier(world);
      break;
    case bcast:
      MPI_Bcast(send, n, MPI_CHAR, 0, world);
      break;
    case reduce:
      MPI_Reduce(send, receive, floats, MPI_FLOAT, MPI_SUM, 0, world);
      break;
    case allreduce:
      MPI_Allreduce(send, receive, floats, MPI_FLOAT, MPI_SUM, world);
      break;
    case gather:
      MPI_Gather(send, n, MPI_CHAR, receive, n, MPI_CHAR, 0, world);
      break;
    case scatter:
      MPI_Scatter(send, n, MPI_CHAR, receive, n, MPI_CHAR, 0, world);
      break;
    case allgather:
      MPI_Allgather(send, n, MPI_CHAR, receive, n, MPI_CHAR, world);
      break;
    case alltoall:
      MPI_Alltoall(send, n, MPI_CHAR, receive, n, MPI_CHAR, world);
      break;
    case reduce_scatter:
      MPI_Reduce_scatter(send, receive, counts, MPI_FLOAT, MPI_SUM, world);
      break;
    case scan:
      MPI_Scan(send, receive, floats, MPI_FLOAT, MPI_SUM, world);
      break;
    case no_collective:
      break;
  }
}

static int is_reduction(enum collective what) {
  return what == reduce || what == allreduce || what == reduce_scatter || what == scan;
}

static double time_calls(struct bench* bench, enum collective what, size_t bytes, int* counts,
                         int* iterations) {
  *iterations = iterations_for(&bench->options, bytes);
  if (bench->options.iterations == 0 && bytes > 8192) *iterations /= 4;
  const int warmup = warmup_for(&bench->options, bytes);
  double total = 0;
  for (int i = -warmup; i < *iterations; ++i) {
    const double begin = MPI_Wtime();
    call(bench, what, bytes, counts);
    if (i >= 0) total += MPI_Wtime() - begin;
    if (what != barrier) MPI_Barrier(MPI_COMM_WORLD);
  }
  return total * 1e6 / *iterations;
}

int run_collective(struct bench* bench, const char* name) {
  const enum collective what = collective_named(name);
  const int full = bench->options.full;
  int* counts = malloc(sizeof(int) * (size_t)bench->size);
  if (bench->rank == 0) {
    printf("# MPI %s Latency Test, %d processes\n", name, bench->size);
    printf("%-10s%20s", "# Size", "Avg Latency(us)");
    printf(full ? "%20s%20s%12s\n" : "\n", "Min Latency(us)", "Max Latency(us)", "Iterations");
  }
  size_t smallest = bench->options.min_bytes;
  if (is_reduction(what) && smallest < sizeof(float)) smallest = sizeof(float);
  for (size_t bytes = what == barrier ? 0 : smallest; bytes <= bench->options.max_bytes; bytes *= 2) {
    const int floats = (int)(bytes / sizeof(float));
    for (int i = 0; i < bench->size; ++i) counts[i] = floats / bench->size + (i < floats % bench->size);
    int iterations;
    double mine = time_calls(bench, what, bytes, counts, &iterations), sum, least, most;
    MPI_Reduce(&mine, &sum, 1, MPI_DOUBLE, MPI_SUM, 0, MPI_COMM_WORLD);
    MPI_Reduce(&mine, &least, 1, MPI_DOUBLE, MPI_MIN, 0, MPI_COMM_WORLD);
    MPI_Reduce(&mine, &most, 1, MPI_DOUBLE, MPI_MAX, 0, MPI_COMM_WORLD);
    if (bench->rank == 0) {
      printf("%-10zu%20.3f", bytes, sum / bench->size);
      if (full) printf("%20.3f%20.3f%12d", least, most, iterations);
      printf("\n");
      fflush(stdout);
    }
    if (what == barrier || bytes == 0) break;
  }
  free(counts);
  return 0;
}
