/* Long queues of receives and of unexpected messages, and probing. */
#include <stdio.h>
#include <stdlib.h>

#include "bench.h"

enum { tag_data = 1, tag_other = 1000, repetitions = 20, long_bytes = 1024 };

static const char* const names[] = {
    "queue_probe",          "queue_behind",     "queue_in_order",           "queue_reverse",
    "queue_any_unexpected", "queue_unexpected", "queue_unexpected_reverse", "queue_unexpected_long"};
enum {
  probe,
  behind,
  in_order,
  reverse,
  any_unexpected,
  unexpected,
  unexpected_reverse,
  unexpected_long,
  kinds
};

static int kind_of(const char* name) { return find_name(names, kinds, name); }

int is_queue(const char* name) { return kind_of(name) < kinds; }

static void receive(struct bench* bench, int source, int tag) {
  MPI_Recv(bench->receive, 8, MPI_CHAR, source, tag, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
}

static void send(struct bench* bench, int tag) {
  MPI_Send(bench->send, 8, MPI_CHAR, 1 - bench->rank, tag, MPI_COMM_WORLD);
}

/* A ping-pong in which each message is probed for, or received from MPI_ANY_SOURCE behind the receives that
   were posted before. Half a round trip in us. */
static double ping_pong(struct bench* bench, int probing) {
  const int iterations = iterations_for(&bench->options, 8),
            source = probing ? 1 - bench->rank : MPI_ANY_SOURCE;
  double begin = 0;
  MPI_Barrier(MPI_COMM_WORLD);
  for (int i = -iterations / 10; i < iterations; ++i) {
    if (i == 0) begin = MPI_Wtime();
    if (bench->rank == 0) send(bench, tag_data);
    for (int found = !probing; !found;)
      MPI_Iprobe(MPI_ANY_SOURCE, tag_data, MPI_COMM_WORLD, &found, MPI_STATUS_IGNORE);
    receive(bench, source, tag_data);
    if (bench->rank == 1) send(bench, tag_data);
  }
  return (MPI_Wtime() - begin) * 1e6 / (2.0 * iterations);
}

static double measure_behind(struct bench* bench, int depth, MPI_Request* requests) {
  for (int i = 0; i < depth; ++i)
    MPI_Irecv(bench->receive, 8, MPI_CHAR, MPI_ANY_SOURCE, tag_other + i, MPI_COMM_WORLD, &requests[i]);
  const double us = ping_pong(bench, 0);
  for (int i = 0; i < depth; ++i) send(bench, tag_other + i);
  MPI_Waitall(depth, requests, MPI_STATUSES_IGNORE);
  return us;
}

/* `depth` receives with tags of their own are posted; their messages come in that order or in reverse. us a
   message, of the receiver, from the first message to the end of all receives. */
static double measure_posted(struct bench* bench, int depth, int backwards, MPI_Request* requests) {
  double total = 0;
  for (int turn = -1; turn < repetitions; ++turn) {
    if (bench->rank == 1)
      for (int i = 0; i < depth; ++i)
        MPI_Irecv(bench->receive, 8, MPI_CHAR, MPI_ANY_SOURCE, tag_other + i, MPI_COMM_WORLD, &requests[i]);
    MPI_Barrier(MPI_COMM_WORLD);
    const double begin = MPI_Wtime();
    if (bench->rank == 0)
      for (int i = 0; i < depth; ++i) send(bench, tag_other + (backwards ? depth - 1 - i : i));
    else
      MPI_Waitall(depth, requests, MPI_STATUSES_IGNORE);
    MPI_Barrier(MPI_COMM_WORLD);
    if (turn >= 0) total += MPI_Wtime() - begin;
  }
  return total * 1e6 / repetitions / depth;
}

/* `depth` messages have come before their receives, which then take them in that order or in reverse. us a
 * receive. */
static double measure_unexpected(struct bench* bench, int depth, int kind, MPI_Request* requests) {
  const int bytes = kind == unexpected_long ? long_bytes : 8;
  double total = 0;
  for (int turn = -1; turn < repetitions; ++turn) {
    if (bench->rank == 0) {
      /* Not MPI_Send, which may wait for the receive of a long one. */
      for (int i = 0; i < depth; ++i)
        MPI_Isend(bench->send, bytes, MPI_CHAR, 1, tag_other + i, MPI_COMM_WORLD, &requests[i]);
      send(bench, tag_data);
      MPI_Waitall(depth, requests, MPI_STATUSES_IGNORE);
    } else {
      receive(bench, 0, tag_data);
      const double begin = MPI_Wtime();
      for (int i = 0; i < depth; ++i)
        MPI_Recv(bench->receive, bytes, MPI_CHAR, kind == any_unexpected ? MPI_ANY_SOURCE : 0,
                 tag_other + (kind == unexpected_reverse ? depth - 1 - i : i), MPI_COMM_WORLD,
                 MPI_STATUS_IGNORE);
      if (turn >= 0) total += MPI_Wtime() - begin;
    }
    MPI_Barrier(MPI_COMM_WORLD);
  }
  MPI_Bcast(&total, 1, MPI_DOUBLE, 1, MPI_COMM_WORLD);
  return total * 1e6 / repetitions / depth;
}

int run_queue(struct bench* bench, const char* name) {
  if (!need_two(bench)) return 2;
  const int kind = kind_of(name), depth = bench->options.window;
  MPI_Request* requests = malloc(sizeof(MPI_Request) * (size_t)depth);
  double us;
  if (kind == probe)
    us = ping_pong(bench, 1);
  else if (kind == behind)
    us = measure_behind(bench, depth, requests);
  else if (kind <= reverse)
    us = measure_posted(bench, depth, kind == reverse, requests);
  else
    us = measure_unexpected(bench, depth, kind, requests);
  if (bench->rank == 0)
    printf("# MPI %s Test\n%-10s%20s\n%-10d%20.3f\n", name, "# Depth", "Time (us)", depth, us);
  free(requests);
  return 0;
}
