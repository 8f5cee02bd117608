// What the programs here have in common: rounds that all ranks begin at the same time of a clock that they
// share, which the simulator's is.
#pragma once

#include <mpi.h>
#include <stddef.h>
#include <time.h>

static int compare(const void* a, const void* b) {
  const double x = *(const double*)a, y = *(const double*)b;
  return x < y ? -1 : x > y;
}

static void rest_until(double time) {
  const double left = time - MPI_Wtime();
  const struct timespec rest = {0, (long)(left * 1e9)};
  if (left > 0) nanosleep(&rest, NULL);
}

// Waits until the round begins; when that is.
static double begin_round(int ranks) {
  double now = MPI_Wtime(), latest = 0;
  MPI_Allreduce(&now, &latest, 1, MPI_DOUBLE, MPI_MAX, MPI_COMM_WORLD);
  const double begin = (double)(long)(latest * 1e6 + 300) * 1e-6;
  // What the operations before left to be taken up is none of this one's time.
  rest_until(begin - 150e-6);
  for (int any, pass = 0; pass < 4 + ranks / 16; ++pass)
    MPI_Iprobe(MPI_ANY_SOURCE, 0, MPI_COMM_WORLD, &any, MPI_STATUS_IGNORE);
  rest_until(begin);
  return begin;
}

// How long the slowest rank took, in microseconds; at rank 0.
static double end_round(double begin) {
  const double mine = MPI_Wtime() - begin;
  double slowest = 0;
  MPI_Reduce(&mine, &slowest, 1, MPI_DOUBLE, MPI_MAX, 0, MPI_COMM_WORLD);
  return slowest * 1e6;
}
