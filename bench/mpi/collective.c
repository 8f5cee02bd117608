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

enum { most_batches = 64, least_batches = 4 };

struct batch {
  double call, cycle; /* us: the mean time of a call, and with the barrier that follows it */
};

static struct batch run_batch(struct bench* bench, enum collective what, size_t bytes, int* counts,
                              int calls) {
  double total = 0;
  MPI_Barrier(MPI_COMM_WORLD);
  const double start = MPI_Wtime();
  for (int i = 0; i < calls; ++i) {
    const double begin = MPI_Wtime();
    call(bench, what, bytes, counts);
    total += MPI_Wtime() - begin;
    if (what != barrier) MPI_Barrier(MPI_COMM_WORLD);
  }
  const struct batch batch = {total * 1e6 / calls, (MPI_Wtime() - start) * 1e6 / calls};
  return batch;
}

static int ascending(const void* a, const void* b) {
  const double x = *(const double*)a, y = *(const double*)b;
  return (x > y) - (x < y);
}

static double lower_quartile(double* values, int count) {
  qsort(values, (size_t)count, sizeof(double), ascending);
  return values[count / 4];
}

/* The lower quartile over batches of the mean over the processes: batches in which somebody else took a core
   do not count. Calls for a quarter of the time first, to warm up and to find how many fit the rest. */
static struct batch time_batches(struct bench* bench, enum collective what, size_t bytes, int* counts) {
  const double goal = bench->options.seconds * 1e6;
  double spent = 0, cycle = 0;
  for (int calls = 1; spent < goal / 4; calls *= 2) {
    cycle = run_batch(bench, what, bytes, counts, calls).cycle;
    MPI_Bcast(&cycle, 1, MPI_DOUBLE, 0, MPI_COMM_WORLD);
    spent += cycle * calls;
  }
  const double fit = goal * 3 / 4 / cycle;
  const int batches = fit < least_batches ? least_batches : fit < most_batches ? (int)fit : most_batches;
  const int calls = fit < batches ? 1 : fit > 1e6 ? 1000000 / batches : (int)fit / batches;
  double mine[2][most_batches], sum[2][most_batches];
  for (int i = 0; i < batches; ++i) {
    const struct batch batch = run_batch(bench, what, bytes, counts, calls);
    mine[0][i] = batch.call;
    mine[1][i] = batch.cycle;
  }
  MPI_Reduce(mine[0], sum[0], batches, MPI_DOUBLE, MPI_SUM, 0, MPI_COMM_WORLD);
  MPI_Reduce(mine[1], sum[1], batches, MPI_DOUBLE, MPI_SUM, 0, MPI_COMM_WORLD);
  struct batch result = {0, 0};
  if (bench->rank == 0) {
    result.call = lower_quartile(sum[0], batches) / bench->size;
    result.cycle = lower_quartile(sum[1], batches) / bench->size;
  }
  return result;
}

static void print_head(const struct bench* bench, const char* name) {
  printf("# MPI %s Latency Test, %d processes\n", name, bench->size);
  printf("%-10s%20s", "# Size", bench->options.seconds > 0 ? "Latency(us)" : "Avg Latency(us)");
  if (bench->options.seconds > 0)
    printf("%20s\n", "With barrier(us)");
  else
    printf(bench->options.full ? "%20s%20s%12s\n" : "\n", "Min Latency(us)", "Max Latency(us)", "Iterations");
}

static void print_means(struct bench* bench, enum collective what, size_t bytes, int* counts) {
  int iterations;
  double mine = time_calls(bench, what, bytes, counts, &iterations), sum, least, most;
  MPI_Reduce(&mine, &sum, 1, MPI_DOUBLE, MPI_SUM, 0, MPI_COMM_WORLD);
  MPI_Reduce(&mine, &least, 1, MPI_DOUBLE, MPI_MIN, 0, MPI_COMM_WORLD);
  MPI_Reduce(&mine, &most, 1, MPI_DOUBLE, MPI_MAX, 0, MPI_COMM_WORLD);
  if (bench->rank != 0) return;
  printf("%-10zu%20.3f", bytes, sum / bench->size);
  if (bench->options.full) printf("%20.3f%20.3f%12d", least, most, iterations);
  printf("\n");
}

int run_collective(struct bench* bench, const char* name) {
  const enum collective what = collective_named(name);
  int* counts = malloc(sizeof(int) * (size_t)bench->size);
  if (bench->rank == 0) print_head(bench, name);
  size_t bytes = bench->options.min_bytes;
  if (is_reduction(what) && bytes < sizeof(float)) bytes = sizeof(float);
  if (what == barrier) bytes = 0;
  do {
    const int floats = (int)(bytes / sizeof(float));
    for (int i = 0; i < bench->size; ++i) counts[i] = floats / bench->size + (i < floats % bench->size);
    if (bench->options.seconds > 0) {
      const struct batch batch = time_batches(bench, what, bytes, counts);
      if (bench->rank == 0) printf("%-10zu%20.3f%20.3f\n", bytes, batch.call, batch.cycle);
    } else {
      print_means(bench, what, bytes, counts);
    }
    fflush(stdout);
    bytes = bytes == 0 ? 0 : size_after(&bench->options, bytes);
  } while (bytes != 0);
  free(counts);
  return 0;
}
