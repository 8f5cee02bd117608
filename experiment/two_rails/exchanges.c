// What the tests of V07, chapters 4 and 5, exchange that bench/mpi does not have.
//
// Usage: exchanges TEST ROUNDS WARM-UP BYTES...
// Prints a line for each size: bytes, and MB/s of all data together.
//   pairs_one_way     4 processes, 2 a node: 0 sends to 2 and 3 sends to 1, windows of 64 (figure 4.7)
//   pairs_both_ways   the same, but 0 and 2, and 1 and 3, send to each other (figure 4.8)
//   put_both_ways     2 processes put 16 times into each other's window, and flush (figures 5.6, 5.7)
//   puts_gets         process 0 puts 16 times and gets 16 times in one epoch (figures 5.16, 5.17)
//   puts_then_gets    the same, but all puts end before the gets begin, as where the order is kept
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { window = 64, operations = 16 };

static int rank;
static size_t bytes;
static char *mine, *theirs;
static char* shared;  // of the MPI window: room for what is put, then for what is got
static MPI_Win win;

static void exchange(int peer, int sends, int receives) {
  MPI_Request requests[2 * window];
  int count = 0;
  for (int i = 0; receives && i < window; ++i)
    MPI_Irecv(theirs, (int)bytes, MPI_CHAR, peer, 0, MPI_COMM_WORLD, &requests[count++]);
  for (int i = 0; sends && i < window; ++i)
    MPI_Isend(mine, (int)bytes, MPI_CHAR, peer, 0, MPI_COMM_WORLD, &requests[count++]);
  MPI_Waitall(count, requests, MPI_STATUSES_IGNORE);
  char reply = 0;
  if (receives) MPI_Send(&reply, 1, MPI_CHAR, peer, 1, MPI_COMM_WORLD);
  if (sends) MPI_Recv(&reply, 1, MPI_CHAR, peer, 1, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
}

static void puts_to(int peer) {
  for (int i = 0; i < operations; ++i)
    MPI_Put(mine, (int)bytes, MPI_CHAR, peer, 0, (int)bytes, MPI_CHAR, win);
}

static void gets_from(int peer) {
  for (int i = 0; i < operations; ++i)
    MPI_Get(theirs, (int)bytes, MPI_CHAR, peer, (MPI_Aint)bytes, (int)bytes, MPI_CHAR, win);
}

// One round; how many bytes move in it, of all processes.
static double round_of(const char* test) {
  const double each = (double)bytes;
  if (strcmp(test, "pairs_one_way") == 0) {
    const int sends = rank == 0 || rank == 3;
    exchange((rank + 2) % 4, sends, !sends);
    return 2 * window * each;
  }
  if (strcmp(test, "pairs_both_ways") == 0) {
    exchange((rank + 2) % 4, 1, 1);
    return 4 * window * each;
  }
  if (strcmp(test, "put_both_ways") == 0) {
    puts_to(1 - rank);
    MPI_Win_flush(1 - rank, win);
    return 2 * operations * each;
  }
  if (rank == 0) {
    puts_to(1);
    if (strcmp(test, "puts_then_gets") == 0) MPI_Win_flush(1, win);
    gets_from(1);
    MPI_Win_flush(1, win);
  }
  return 2 * operations * each;
}

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  if (argc < 5) {
    if (rank == 0) fprintf(stderr, "usage: exchanges TEST ROUNDS WARM-UP BYTES...\n");
    MPI_Abort(MPI_COMM_WORLD, 2);
  }
  const size_t most = strtoull(argv[argc - 1], NULL, 10);
  mine = calloc(most, 1);
  theirs = calloc(most, 1);
  MPI_Win_allocate((MPI_Aint)(2 * most), 1, MPI_INFO_NULL, MPI_COMM_WORLD, &shared, &win);
  MPI_Win_lock_all(0, win);
  const int rounds = atoi(argv[2]), warm_up = atoi(argv[3]);
  for (int a = 4; a < argc; ++a) {
    bytes = strtoull(argv[a], NULL, 10);
    double begin = 0, moved = 0;
    for (int i = -warm_up; i < rounds; ++i) {
      if (i == 0) {
        MPI_Barrier(MPI_COMM_WORLD);
        begin = MPI_Wtime();
      }
      moved = round_of(argv[1]);
    }
    double time = (MPI_Wtime() - begin) / rounds, slowest = 0;
    // Nobody begins with the next size while others are at this one.
    MPI_Allreduce(&time, &slowest, 1, MPI_DOUBLE, MPI_MAX, MPI_COMM_WORLD);
    if (rank == 0) printf("%zu %.2f\n", bytes, moved / slowest / 1e6);
  }
  MPI_Win_unlock_all(win);
  MPI_Win_free(&win);
  MPI_Finalize();
  free(mine);
  free(theirs);
  return 0;
}
