/* Latency, bandwidth and message rate between processes. */
#include <stdio.h>
#include <stdlib.h>

#include "bench.h"

enum { tag_data = 1, tag_done = 2 };

/* Larger than all when there is none. */
static size_t next_size(const struct options* options, size_t bytes) {
  if (options->sizes[0] == 0) return bytes == 0 ? 1 : bytes * 2;
  const size_t next = size_after(options, bytes);
  return next == 0 ? options->max_bytes + 1 : next;
}

int run_latency(struct bench* bench) {
  if (!need_two(bench)) return 2;
  struct options* options = &bench->options;
  const int peer = 1 - bench->rank;
  if (bench->rank == 0) printf("# MPI Latency Test\n%-10s%20s\n", "# Size", "Latency (us)");
  for (size_t bytes = options->min_bytes; bytes <= options->max_bytes; bytes = next_size(options, bytes)) {
    const int iterations = iterations_for(&bench->options, bytes),
              warmup = warmup_for(&bench->options, bytes);
    double begin = 0;
    MPI_Barrier(MPI_COMM_WORLD);
    for (int i = -warmup; i < iterations; ++i) {
      if (i == 0) begin = MPI_Wtime();
      if (bench->options.validate) fill_pattern(bench->send, bytes, (unsigned)i);
      if (bench->rank == 0) {
        MPI_Send(bench->send, (int)bytes, MPI_CHAR, peer, tag_data, MPI_COMM_WORLD);
        MPI_Recv(bench->receive, (int)bytes, MPI_CHAR, peer, tag_data, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
      } else {
        MPI_Recv(bench->receive, (int)bytes, MPI_CHAR, peer, tag_data, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        MPI_Send(bench->send, (int)bytes, MPI_CHAR, peer, tag_data, MPI_COMM_WORLD);
      }
      if (bench->options.validate)
        require_right(bench, count_wrong(bench->receive, bytes, (unsigned)i), bytes);
    }
    const double us = (MPI_Wtime() - begin) * 1e6 / (2.0 * iterations);
    if (bench->rank == 0) {
      printf("%-10zu%20.3f\n", bytes, us);
      fflush(stdout);
    }
  }
  return 0;
}

/* One window: this process sends and/or receives `window` messages and waits for them. */
static void exchange_window(struct bench* bench, int peer, size_t bytes, int sends, int receives,
                            MPI_Request* requests) {
  const int window = bench->options.window;
  int count = 0;
  for (int w = 0; receives && w < window; ++w)
    MPI_Irecv(bench->receive, (int)bytes, MPI_CHAR, peer, tag_data, MPI_COMM_WORLD, &requests[count++]);
  for (int w = 0; sends && w < window; ++w)
    MPI_Isend(bench->send, (int)bytes, MPI_CHAR, peer, tag_data, MPI_COMM_WORLD, &requests[count++]);
  MPI_Waitall(count, requests, MPI_STATUSES_IGNORE);
}

/* Seconds for `iterations` windows from the lower to the upper process of a pair (or both ways), each
   loop closed by a short reply. */
static double time_windows(struct bench* bench, int peer, int lower, int both_ways, size_t bytes,
                           MPI_Request* requests) {
  const int iterations = iterations_for(&bench->options, bytes) / 10 + 1;
  const int warmup = warmup_for(&bench->options, bytes) / 10 + 1;
  double begin = 0;
  char reply = 0;
  MPI_Barrier(MPI_COMM_WORLD);
  for (int i = -warmup; i < iterations; ++i) {
    if (i == 0) begin = MPI_Wtime();
    exchange_window(bench, peer, bytes, lower || both_ways, !lower || both_ways, requests);
    if (lower)
      MPI_Recv(&reply, 1, MPI_CHAR, peer, tag_done, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    else
      MPI_Send(&reply, 1, MPI_CHAR, peer, tag_done, MPI_COMM_WORLD);
  }
  return (MPI_Wtime() - begin) / iterations;
}

enum { most_window = 512, least_window = 16, window_bytes = 128 << 20 };

/* Windows for the volume that was asked for: each ends with a queue that runs empty, so they are large. */
static void window_for_volume(struct options* options, size_t bytes) {
  const size_t fit = window_bytes / bytes;
  options->window = fit < least_window ? least_window : fit > most_window ? most_window : (int)fit;
  const size_t windows = options->volume / ((size_t)options->window * bytes);
  options->iterations = windows < 2 ? 10 : (int)windows * 10 - 10;
  options->warmup = 0;
}

int run_bandwidth(struct bench* bench, int both_ways) {
  if (!need_two(bench)) return 2;
  struct options* options = &bench->options;
  const int lower = bench->rank == 0;
  const size_t most = options->volume > 0 ? most_window : (size_t)options->window;
  MPI_Request* requests = malloc(sizeof(MPI_Request) * 2 * most);
  if (lower)
    printf("# MPI %sBandwidth Test\n%-10s%20s\n", both_ways ? "Bi-Directional " : "", "# Size",
           "Bandwidth (MB/s)");
  for (size_t bytes = options->min_bytes; bytes <= options->max_bytes; bytes = next_size(options, bytes)) {
    if (bytes == 0) continue;
    if (options->volume > 0) window_for_volume(options, bytes);
    const double seconds = time_windows(bench, 1 - bench->rank, lower, both_ways, bytes, requests);
    const double moved = (double)bytes * bench->options.window * (both_ways ? 2 : 1);
    if (lower) {
      printf("%-10zu%20.2f\n", bytes, moved / seconds / 1e6);
      fflush(stdout);
    }
  }
  free(requests);
  return 0;
}

int run_message_rate(struct bench* bench) {
  const struct options* options = &bench->options;
  const int pairs = bench->options.pairs > 0 ? bench->options.pairs : bench->size / 2;
  if (pairs < 1 || 2 * pairs > bench->size) {
    if (bench->rank == 0)
      fprintf(stderr, "mpibench: %d pairs need %d processes, not %d\n", pairs, 2 * pairs, bench->size);
    return 2;
  }
  const int member = bench->rank < 2 * pairs, lower = bench->rank < pairs;
  const int peer = lower ? bench->rank + pairs : bench->rank - pairs;
  MPI_Request* requests = malloc(sizeof(MPI_Request) * 2 * (size_t)bench->options.window);
  if (bench->rank == 0)
    printf(
        "# MPI Multiple Bandwidth / Message Rate Test\n# [ pairs: %d ] [ window size: %d ]\n%-10s%20s%20s\n",
        pairs, bench->options.window, "# Size", "MB/s", "Messages/s");
  for (size_t bytes = options->min_bytes; bytes <= options->max_bytes; bytes = next_size(options, bytes)) {
    if (bytes == 0) continue;
    double seconds = 0, slowest = 0;
    if (member)
      seconds = time_windows(bench, peer, lower, 0, bytes, requests);
    else
      MPI_Barrier(MPI_COMM_WORLD);
    MPI_Reduce(&seconds, &slowest, 1, MPI_DOUBLE, MPI_MAX, 0, MPI_COMM_WORLD);
    if (bench->rank == 0) {
      const double messages = (double)bench->options.window * pairs / slowest;
      printf("%-10zu%20.2f%20.2f\n", bytes, messages * (double)bytes / 1e6, messages);
      fflush(stdout);
    }
  }
  free(requests);
  return 0;
}
