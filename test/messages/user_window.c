/* Puts and gets in user's memory (MPI_Win_create) within a node.  usage: user_window computes|refused
 *
 * computes: rank 1 calls no function of MPI until rank 0 has put and got often enough.
 * refused: the kernel stops copying between the processes after a while. */
#include <mpi.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "refuse_copies.h"

enum { words = 40000, rounds = 2000 };

static int rank;
static int64_t memory[words], data[words], got[words];
static MPI_Win window;

static void check(int good, const char* what) {
  if (good) return;
  fprintf(stderr, "rank %d: %s\n", rank, what);
  MPI_Abort(MPI_COMM_WORLD, 3);
}

static void put(int64_t value, int first, int count) {
  for (int i = 0; i < count; ++i) data[i] = value + i;
  MPI_Put(data, count, MPI_INT64_T, 1, first, count, MPI_INT64_T, window);
}

static void get(int first, int count) {
  memset(got, 0, sizeof got);
  MPI_Get(got, count, MPI_INT64_T, 1, first, count, MPI_INT64_T, window);
}

static void check_got(int64_t value, int count) {
  for (int i = 0; i < count; ++i) check(got[i] == value + i, "a get brought something else");
}

static void put_and_get(int64_t value, int first, int count) {
  put(value, first, count);
  MPI_Win_flush(1, window);
  get(first, count);
  MPI_Win_flush(1, window);
  check_got(value, count);
}

static void put_often(int64_t first) {
  MPI_Win_lock_all(MPI_MODE_NOCHECK, window); /* a lock needs rank 1 */
  for (int64_t i = 0; i < rounds; ++i) put_and_get(first + i, 0, 1 + (int)(i % 70));
  MPI_Win_unlock_all(window);
}

static void computes(void) {
  MPI_Barrier(MPI_COMM_WORLD);
  if (rank == 0) put_often(0); /* while rank 1 waits in the next call */
  MPI_Barrier(MPI_COMM_WORLD);
  if (rank == 0) {
    const double begin = MPI_Wtime();
    put_often(100000);
    printf("%.3f us for a put and a get\n", (MPI_Wtime() - begin) / rounds * 1e6);
    MPI_Win_lock(MPI_LOCK_SHARED, 1, MPI_MODE_NOCHECK, window);
    put(1, words - 1, 1);
    MPI_Win_unlock(1, window);
  } else {
    const double end = MPI_Wtime() + 60;
    while (__atomic_load_n(&memory[words - 1], __ATOMIC_ACQUIRE) == 0)
      check(MPI_Wtime() < end, "rank 0 waits for a rank that computes");
  }
  MPI_Barrier(MPI_COMM_WORLD);
}

/* Every way to end operations, with what was put before. */
static void in_all_epochs(int64_t value, int count) {
  MPI_Group all, other;
  const int peer = 1 - rank;
  MPI_Win_fence(0, window);
  if (rank == 0) put(value, 0, count);
  MPI_Win_fence(0, window);
  if (rank == 0) get(0, count);
  MPI_Win_fence(MPI_MODE_NOSUCCEED, window);
  if (rank == 0) check_got(value, count);
  MPI_Win_get_group(window, &all);
  MPI_Group_incl(all, 1, &peer, &other);
  for (int i = 0; i < 2; ++i) {
    if (rank == 1) {
      MPI_Win_post(other, 0, window);
      MPI_Win_wait(window);
      continue;
    }
    MPI_Win_start(other, 0, window);
    i == 0 ? put(value + 1, 0, count) : get(0, count);
    MPI_Win_complete(window);
  }
  if (rank == 0) check_got(value + 1, count);
  MPI_Group_free(&all);
  MPI_Group_free(&other);
  if (rank == 0) {
    for (int exclusive = 0; exclusive < 2; ++exclusive) {
      const int type = exclusive ? MPI_LOCK_EXCLUSIVE : MPI_LOCK_SHARED;
      MPI_Win_lock(type, 1, 0, window);
      put(value + 2, 0, count);
      MPI_Win_unlock(1, window);
      MPI_Win_lock(type, 1, 0, window);
      get(0, count);
      MPI_Win_unlock(1, window);
      check_got(value + 2, count);
      MPI_Win_lock(type, 1, 0, window);
      put_and_get(value + 3, 0, count);
      MPI_Win_unlock(1, window);
    }
  }
  MPI_Barrier(MPI_COMM_WORLD);
}

static void refused(void) {
  static const int counts[] = {1, 3, 20, 100, 3000, words};
  const int kinds = (int)(sizeof counts / sizeof counts[0]);
  for (int i = 0; i < kinds; ++i) in_all_epochs(1000 * i, counts[i]);
  if (rank == 0 && !refuse_copies()) {
    printf("no filters of system calls here\n");
    MPI_Abort(MPI_COMM_WORLD, 4);
  }
  for (int i = 0; i < kinds; ++i) in_all_epochs(1000000 + 1000 * i, counts[i]);
  if (rank == 0) put_often(5);
  MPI_Barrier(MPI_COMM_WORLD);
}

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Win_create(memory, sizeof memory, sizeof memory[0], MPI_INFO_NULL, MPI_COMM_WORLD, &window);
  if (argc > 1 && strcmp(argv[1], "computes") == 0)
    computes();
  else
    refused();
  MPI_Win_free(&window);
  if (rank == 0) printf("all right\n");
  MPI_Finalize();
  return 0;
}
