/* Collective operations with large data within a node, often enough that every way of doing them is measured
 * and one is chosen, several times. All data are checked. With "refused", the kernel copies for one rank no
 * more after some operations: measured_ways [refused]. */
#include <mpi.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "refuse_copies.h"

enum { block = 9000, operations = 190, kinds = 8, most = 8 };

static int rank, size, round_number, root;
static MPI_Datatype spaced; /* an integer and a gap */
static int32_t send[2 * block * most], receive[2 * block * most];

/* What `from` has for `to`, at i. Sums of all ranks' are small. */
static int32_t value(int from, int to, int i) { return (from * 31 + to * 17 + i + round_number) % 100003; }

static int32_t sum(int to, int i) {
  int32_t all = 0;
  for (int from = 0; from < size; ++from) all += value(from, to, i);
  return all;
}

static void check(int good, const char* what, int i) {
  if (good) return;
  fprintf(stderr, "rank %d of %d, round %d: %s, %d\n", rank, size, round_number, what, i);
  MPI_Abort(MPI_COMM_WORLD, 3);
}

/* What this rank has for the first `blocks` ranks. */
static void fill(int32_t* to, int blocks, int stride) {
  for (int b = 0; b < blocks; ++b)
    for (int i = 0; i < block; ++i) to[(b * block + i) * stride] = value(rank, b, i);
}

/* That a received block is what `from` has for `to`. */
static void check_block(const int32_t* got, int stride, int from, int to, int count, const char* what) {
  for (int i = 0; i < count; ++i) check(got[i * stride] == value(from, to, i), what, i);
}

static void exchange(int kind, int form) {
  const int here = rank == root;
  const int in_place = form == 1, gaps = form == 2;
  const MPI_Datatype type = gaps ? spaced : MPI_INT32_T;
  const int stride = gaps ? 2 : 1;
  MPI_Comm world = MPI_COMM_WORLD;
  int counts[most], starts[most];
  for (int r = 0; r < size; ++r) counts[r] = block - r, starts[r] = r * block;
  memset(receive, 0xff, sizeof receive);
  fill(send, size, stride);
  const char* name = "";
  switch (kind) {
    case 0:
      name = "alltoall";
      if (in_place) fill(receive, size, stride);
      MPI_Alltoall(in_place ? MPI_IN_PLACE : send, block, type, receive, block, type, world);
      for (int r = 0; r < size; ++r) check_block(receive + r * block * stride, stride, r, rank, block, name);
      break;
    case 1:
      name = "allgather";
      if (in_place) memcpy(receive + rank * block, send, block * sizeof(int32_t));
      MPI_Allgather(in_place ? MPI_IN_PLACE : send, block, type, receive, block, type, world);
      for (int r = 0; r < size; ++r) check_block(receive + r * block * stride, stride, r, 0, block, name);
      break;
    case 2:
      name = "allgatherv";
      MPI_Allgatherv(send, counts[rank], type, receive, counts, starts, type, world);
      for (int r = 0; r < size; ++r) check_block(receive + r * block * stride, stride, r, 0, counts[r], name);
      break;
    case 3:
      name = "gather";
      if (in_place && here) memcpy(receive + rank * block, send, block * sizeof(int32_t));
      MPI_Gather(in_place && here ? MPI_IN_PLACE : send, block, type, receive, block, type, root, world);
      for (int r = 0; here && r < size; ++r)
        check_block(receive + r * block * stride, stride, r, 0, block, name);
      break;
    case 4:
      name = "scatter";
      MPI_Scatter(send, block, type, in_place && here ? MPI_IN_PLACE : receive, block, type, root, world);
      if (!(in_place && here)) check_block(receive, stride, root, rank, block, name);
      break;
    case 5:
      name = "bcast";
      if (here) fill(receive, 1, stride);
      MPI_Bcast(receive, block, type, root, world);
      check_block(receive, stride, root, 0, block, name);
      break;
    case 6:
      name = "reduce";
      fill(send, size, 1);
      if (in_place && here) fill(receive, 1, 1);
      MPI_Reduce(in_place && here ? MPI_IN_PLACE : send, receive, block, MPI_INT32_T, MPI_SUM, root, world);
      for (int i = 0; here && i < block; ++i) check(receive[i] == sum(0, i), name, i);
      break;
    default:
      name = "reduce_scatter_block";
      fill(send, size, 1);
      if (in_place) fill(receive, size, 1);
      MPI_Reduce_scatter_block(in_place ? MPI_IN_PLACE : send, receive, block, MPI_INT32_T, MPI_SUM, world);
      for (int i = 0; i < block; ++i) check(receive[i] == sum(rank, i), name, i);
      break;
  }
}

/* A sum of floating-point numbers has the same bits each time. */
static void add_fractions(void) {
  static double terms[block], sums[3][block], first[3][block];
  for (int i = 0; i < block; ++i) terms[i] = 1.0 / (1 + i % 1000 + rank * 7);
  for (round_number = 0; round_number < operations; ++round_number) {
    MPI_Reduce(terms, sums[0], block, MPI_DOUBLE, MPI_SUM, 0, MPI_COMM_WORLD);
    MPI_Allreduce(terms, sums[1], block, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD);
    MPI_Reduce_scatter_block(terms, sums[2], block / size, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD);
    if (round_number == 0) memcpy(first, sums, sizeof sums);
    for (int i = 0; i < 3; ++i)
      check(memcmp(first[i], sums[i], sizeof sums[i]) == 0, "the sum has other bits than the first one", i);
  }
}

static void add_elements(void* in, void* inout, int* count, MPI_Datatype* type) {
  int bytes;
  MPI_Type_size(*type, &bytes);
  const int numbers = *count * (bytes / (int)sizeof(int32_t));
  for (int i = 0; i < numbers; ++i) ((int32_t*)inout)[i] += ((const int32_t*)in)[i];
}

/* Elements so large that a buffer of the shared area holds one, but not one of each rank. */
static void reduce_large_elements(void) {
  enum { numbers = 120000, elements = 3 };
  static int32_t data[elements * numbers], all[elements * numbers];
  MPI_Datatype type;
  MPI_Op add;
  MPI_Type_contiguous(numbers, MPI_INT32_T, &type);
  MPI_Type_commit(&type);
  MPI_Op_create(add_elements, 1, &add);
  for (round_number = 0; round_number < 60; ++round_number) {
    for (int i = 0; i < elements * numbers; ++i) data[i] = value(rank, 0, i);
    MPI_Reduce(data, all, elements, type, add, 0, MPI_COMM_WORLD);
    for (int i = 0; rank == 0 && i < elements * numbers; ++i)
      check(all[i] == sum(0, i), "reduce of large elements", i);
  }
  MPI_Op_free(&add);
  MPI_Type_free(&type);
}

int main(int argc, char** argv) {
  const int refused = argc > 1 && strcmp(argv[1], "refused") == 0;
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  MPI_Type_create_resized(MPI_INT32_T, 0, 2 * sizeof(int32_t), &spaced);
  MPI_Type_commit(&spaced);
  for (int kind = 0; kind < kinds; ++kind) {
    for (round_number = 0; round_number < operations; ++round_number) {
      root = round_number % size;
      if (refused && kind == 1 && round_number == 60 && rank == 0 && !refuse_copies()) {
        printf("no filters of system calls here\n");
        MPI_Abort(MPI_COMM_WORLD, 4);
      }
      /* Mostly what can be copied directly, and the other forms in between. */
      exchange(kind, round_number % 50 == 49 ? 1 : round_number % 50 == 48 ? 2 : 0);
    }
  }
  add_fractions();
  reduce_large_elements();
  MPI_Type_free(&spaced);
  MPI_Finalize();
  if (rank == 0) printf("all right\n");
  return 0;
}
