// What the kernels share: how they are called, how they are timed, and how they end.
//
//   KERNEL CLASS [spoil]
//
// CLASS is s, w or a. A kernel checks its own result, prints the time of its timed part in microseconds (the
// slowest rank's) and ends with 0; or says what is wrong, and ends with 1. With `spoil` it changes one number
// that a message has brought, so that its check has to fail.
#pragma once

#include <math.h>
#include <mpi.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static int rank, size, spoil;
static double begun;

static void* room(size_t count, size_t bytes) {
  void* memory = calloc(count > 0 ? count : 1, bytes);
  if (memory == NULL) {
    fprintf(stderr, "rank %d: no memory for %zu x %zu bytes\n", rank, count, bytes);
    MPI_Abort(MPI_COMM_WORLD, 2);
  }
  return memory;
}

static void refuse(const char* why) {
  if (rank == 0) fprintf(stderr, "%s\n", why);
  MPI_Abort(MPI_COMM_WORLD, 2);
}

// Returns 0, 1 or 2: the class.
static int begin_kernel(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  if (argc < 2 || strlen(argv[1]) != 1 || strchr("swa", argv[1][0]) == NULL)
    refuse("usage: KERNEL s|w|a [spoil]");
  spoil = argc > 2 && strcmp(argv[2], "spoil") == 0;
  return (int)(strchr("swa", argv[1][0]) - "swa");
}

static void start_clock(void) {
  MPI_Barrier(MPI_COMM_WORLD);
  begun = MPI_Wtime();
}

static double stop_clock(void) {
  const double mine = (MPI_Wtime() - begun) * 1e6;
  double slowest = 0;
  MPI_Allreduce(&mine, &slowest, 1, MPI_DOUBLE, MPI_MAX, MPI_COMM_WORLD);
  return slowest;
}

// `right`: whether this rank found its part right.
static int end_kernel(const char* name, double time, int right) {
  int wrong = !right, all_wrong = 0;
  MPI_Allreduce(&wrong, &all_wrong, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
  if (rank == 0 && all_wrong == 0) printf("%.1f\n", time);
  if (rank == 0 && all_wrong != 0) fprintf(stderr, "%s: the result is wrong on %d ranks\n", name, all_wrong);
  MPI_Finalize();
  return all_wrong == 0 ? 0 : 1;
}

// A number that depends on `of` alone, evenly spread.
static uint64_t mixed(uint64_t of) {
  of += 0x9e3779b97f4a7c15u;
  of = (of ^ (of >> 30)) * 0xbf58476d1ce4e5b9u;
  of = (of ^ (of >> 27)) * 0x94d049bb133111ebu;
  return of ^ (of >> 31);
}

// From 0 to 1.
static double fraction(uint64_t of) { return (double)(mixed(of) >> 11) / 9007199254740992.0; }
