/* Overlap of computation and communication, as the OSU suite defines it: what of the communication's time
   does not come on top of the computation's. The computation takes as long as the communication alone.

   overlap = 100 * (1 - (together - computation) / communication), between 0 and 100 %.

   Between processes of one node nobody but the cores themselves copies the bytes, so without calls of MPI in
   between little can be hidden but the waiting; the figure says how well a library does with what calls it
   gets. Where one side alone computes, the other, which waits, may do all the copying. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "bench.h"

enum { repetitions = 60, most_requests = 2 };

enum overlapped {
  no_overlap,
  exchange,
  one_way,
  computing_sender,
  computing_receiver,
  iallreduce,
  ibcast,
  ialltoall,
  iallgather
};

static enum overlapped overlapped_named(const char* name) {
  static const char* const names[] = {"",
                                      "overlap_exchange",
                                      "overlap_one_way",
                                      "overlap_sender",
                                      "overlap_receiver",
                                      "overlap_iallreduce",
                                      "overlap_ibcast",
                                      "overlap_ialltoall",
                                      "overlap_iallgather"};
  for (int i = 1; i <= iallgather; ++i)
    if (strcmp(name, names[i]) == 0) return (enum overlapped)i;
  return no_overlap;
}

int is_overlap(const char* name) { return overlapped_named(name) != no_overlap; }

/* Starts the communication; how many requests. Processes 2k and 2k + 1 are partners. */
static int start(struct bench* bench, enum overlapped what, size_t bytes, MPI_Request* requests) {
  const int n = (int)bytes, peer = bench->rank ^ 1;
  int count = 0;
  MPI_Comm world = MPI_COMM_WORLD;
  switch (what) {
    case exchange:
      MPI_Irecv(bench->receive, n, MPI_CHAR, peer, 0, world, &requests[count++]);
      MPI_Isend(bench->send, n, MPI_CHAR, peer, 0, world, &requests[count++]);
      break;
    case one_way:
    case computing_sender:
    case computing_receiver:
      if (bench->rank % 2 == 0)
        MPI_Isend(bench->send, n, MPI_CHAR, peer, 0, world, &requests[count++]);
      else
        MPI_Irecv(bench->receive, n, MPI_CHAR, peer, 0, world, &requests[count++]);
      break;
    case iallreduce:
      MPI_Iallreduce(bench->send, bench->receive, n / (int)sizeof(float), MPI_FLOAT, MPI_SUM, world,
                     &requests[count++]);
      break;
    case ibcast:
      MPI_Ibcast(bench->send, n, MPI_CHAR, 0, world, &requests[count++]);
      break;
    case ialltoall:
      MPI_Ialltoall(bench->send, n, MPI_CHAR, bench->receive, n, MPI_CHAR, world, &requests[count++]);
      break;
    case iallgather:
      MPI_Iallgather(bench->send, n, MPI_CHAR, bench->receive, n, MPI_CHAR, world, &requests[count++]);
      break;
    case no_overlap:
      break;
  }
  return count;
}

/* Work that stays in registers. */
static double compute(double value, long steps) {
  for (long i = 0; i < steps; ++i) value = value * 0.999999 + 1e-6;
  return value;
}

static volatile double sink;

static int computes(const struct bench* bench, enum overlapped what) {
  if (what == computing_sender) return bench->rank % 2 == 0;
  return what != computing_receiver || bench->rank % 2 == 1;
}

/* One communication with `steps` of computation in `tests` + 1 parts (0 steps: none), in us. */
static double together(struct bench* bench, enum overlapped what, size_t bytes, long steps, int tests) {
  MPI_Request requests[most_requests];
  int done;
  MPI_Barrier(MPI_COMM_WORLD);
  const double begin = MPI_Wtime();
  const int count = start(bench, what, bytes, requests);
  if (!computes(bench, what)) steps = 0;
  for (int part = 0; steps > 0 && part <= tests; ++part) {
    sink = compute(sink, steps / (tests + 1));
    if (part < tests) MPI_Testall(count, requests, &done, MPI_STATUSES_IGNORE);
  }
  MPI_Waitall(count, requests, MPI_STATUSES_IGNORE);
  return (MPI_Wtime() - begin) * 1e6;
}

static double computation(long steps) {
  MPI_Barrier(MPI_COMM_WORLD);
  const double begin = MPI_Wtime();
  sink = compute(sink, steps);
  return (MPI_Wtime() - begin) * 1e6;
}

static int ascending(const void* a, const void* b) {
  const double x = *(const double*)a, y = *(const double*)b;
  return (x > y) - (x < y);
}

/* The lower quartile of what the slowest process took, known to all. */
static double settle(double* mine) {
  double slowest[repetitions];
  MPI_Allreduce(mine, slowest, repetitions, MPI_DOUBLE, MPI_MAX, MPI_COMM_WORLD);
  qsort(slowest, repetitions, sizeof(double), ascending);
  return slowest[repetitions / 4];
}

int run_overlap(struct bench* bench, const char* name) {
  const enum overlapped what = overlapped_named(name);
  const int tests = bench->options.tests;
  if (bench->size % 2 != 0) {
    if (bench->rank == 0) fprintf(stderr, "mpibench: this benchmark needs an even number of processes\n");
    return 2;
  }
  if (bench->rank == 0)
    printf("# %s, %d calls of MPI_Testall in the computation\n%-10s%20s%20s%20s%12s\n", name, tests, "# Size",
           "Communication(us)", "Computation(us)", "Together(us)", "Overlap(%)");
  double alone[repetitions], computing[repetitions], both[repetitions];
  size_t bytes = bench->options.min_bytes;
  do {
    for (int i = 0; i < repetitions; ++i) alone[i] = together(bench, what, bytes, 0, 0);
    const double goal = settle(alone);
    for (int i = 0; i < repetitions; ++i) computing[i] = computation(100000);
    const long steps = (long)(goal / settle(computing) * 100000) + 1;
    for (int i = 0; i < repetitions; ++i) {
      alone[i] = together(bench, what, bytes, 0, 0);
      computing[i] = computation(steps);
      both[i] = together(bench, what, bytes, steps, tests);
    }
    const double communication = settle(alone), computed = settle(computing), total = settle(both);
    double overlap = 100 * (1 - (total - computed) / communication);
    if (overlap < 0) overlap = 0;
    if (overlap > 100) overlap = 100;
    if (bench->rank == 0)
      printf("%-10zu%20.3f%20.3f%20.3f%12.1f\n", bytes, communication, computed, total, overlap);
    fflush(stdout);
    bytes = size_after(&bench->options, bytes);
  } while (bytes != 0);
  return 0;
}
