/* What the programs of these tests share: each sets `rank`, and ends the job where a check fails. */
#pragma once

#include <mpi.h>
#include <stdio.h>

static int rank;

#define CHECK(condition)                                                     \
  do {                                                                       \
    if (!(condition)) {                                                      \
      fprintf(stderr, "rank %d: line %d: %s\n", rank, __LINE__, #condition); \
      MPI_Abort(MPI_COMM_WORLD, 9);                                          \
    }                                                                        \
  } while (0)

static int class_of(int code) {
  int error_class;
  MPI_Error_class(code, &error_class);
  return error_class;
}
