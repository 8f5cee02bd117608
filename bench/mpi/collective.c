/* Collectives: the mean over the processes of the mean time of one call. */
#include <stdio.h>
#include <stdlib.h>

#include "bench.h"

int is_collective(const char* name) { return operation_named(name) != NULL; }

static int is_barrier(const struct call* call) { return call->what->least_bytes == 0; }

/* The arguments for so many bytes a process; the caller has made the lists. */
static void set_bytes(struct call* call, size_t bytes) {
  call->bytes = (int)bytes;
  call->floats = (int)(bytes / sizeof(float));
  for (int i = 0; i < call->size; ++i) {
    call->shares[i] = call->floats / call->size + (i < call->floats % call->size);
    call->amounts[i] = call->bytes;
    call->places[i] = call->bytes * i;
  }
  call->strided_bytes = call->bytes / 16 * 8;
  MPI_Type_vector(call->bytes / 16, 1, 2, MPI_DOUBLE, &call->strided);
  MPI_Type_commit(&call->strided);
}

static double time_calls(struct bench* bench, const struct call* call, int* iterations) {
  *iterations = iterations_for(&bench->options, (size_t)call->bytes);
  if (bench->options.iterations == 0 && call->bytes > 8192) *iterations /= 4;
  const int warmup = warmup_for(&bench->options, (size_t)call->bytes);
  double total = 0;
  for (int i = -warmup; i < *iterations; ++i) {
    const double begin = MPI_Wtime();
    call->what->run(call);
    if (i >= 0) total += MPI_Wtime() - begin;
    if (!is_barrier(call)) MPI_Barrier(MPI_COMM_WORLD);
  }
  return total * 1e6 / *iterations;
}

enum { most_batches = 64, least_batches = 4, least_warmup = 10 };

struct batch {
  double call, cycle; /* us: the mean time of a call, and with the barrier that follows it */
};

static struct batch run_batch(const struct call* call, int calls) {
  double total = 0;
  MPI_Barrier(MPI_COMM_WORLD);
  const double start = MPI_Wtime();
  for (int i = 0; i < calls; ++i) {
    const double begin = MPI_Wtime();
    call->what->run(call);
    total += MPI_Wtime() - begin;
    if (!is_barrier(call)) MPI_Barrier(MPI_COMM_WORLD);
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
   do not count. Calls for a quarter of the time first, and at least ten as in the OSU suite, to warm up and
   to find how many fit the rest. */
static struct batch time_batches(struct bench* bench, const struct call* call) {
  const double goal = bench->options.seconds * 1e6;
  double spent = 0, cycle = 0;
  for (int calls = 1; spent < goal / 4 || calls <= least_warmup; calls *= 2) {
    cycle = run_batch(call, calls).cycle;
    MPI_Bcast(&cycle, 1, MPI_DOUBLE, 0, MPI_COMM_WORLD);
    spent += cycle * calls;
  }
  const double fit = goal * 3 / 4 / cycle;
  const int batches = fit < least_batches ? least_batches : fit < most_batches ? (int)fit : most_batches;
  const int calls = fit < batches ? 1 : fit > 1e6 ? 1000000 / batches : (int)fit / batches;
  double mine[2][most_batches], sum[2][most_batches];
  for (int i = 0; i < batches; ++i) {
    const struct batch batch = run_batch(call, calls);
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

static void print_means(struct bench* bench, const struct call* call) {
  int iterations;
  double mine = time_calls(bench, call, &iterations), sum, least, most;
  MPI_Reduce(&mine, &sum, 1, MPI_DOUBLE, MPI_SUM, 0, MPI_COMM_WORLD);
  MPI_Reduce(&mine, &least, 1, MPI_DOUBLE, MPI_MIN, 0, MPI_COMM_WORLD);
  MPI_Reduce(&mine, &most, 1, MPI_DOUBLE, MPI_MAX, 0, MPI_COMM_WORLD);
  if (bench->rank != 0) return;
  printf("%-10d%20.3f", call->bytes, sum / bench->size);
  if (bench->options.full) printf("%20.3f%20.3f%12d", least, most, iterations);
  printf("\n");
}

int run_collective(struct bench* bench, const char* name) {
  int* lists = malloc(sizeof(int) * 3 * (size_t)bench->size);
  struct call call = {.what = operation_named(name),
                      .rank = bench->rank,
                      .size = bench->size,
                      .send = bench->send,
                      .receive = bench->receive,
                      .shares = lists,
                      .amounts = lists + bench->size,
                      .places = lists + 2 * bench->size};
  if (bench->rank == 0) print_head(bench, name);
  size_t bytes = bench->options.min_bytes;
  if (bytes < call.what->least_bytes) bytes = call.what->least_bytes;
  if (is_barrier(&call)) bytes = 0;
  do {
    set_bytes(&call, bytes);
    if (bench->options.seconds > 0) {
      const struct batch batch = time_batches(bench, &call);
      if (bench->rank == 0) printf("%-10zu%20.3f%20.3f\n", bytes, batch.call, batch.cycle);
    } else {
      print_means(bench, &call);
    }
    fflush(stdout);
    MPI_Type_free(&call.strided);
    bytes = bytes == 0 ? 0 : size_after(&bench->options, bytes);
  } while (bytes != 0);
  free(lists);
  return 0;
}
