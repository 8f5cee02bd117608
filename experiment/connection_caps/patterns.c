// Programs as in V11: each rank talks with many others over time, and with few at a time.
//
// Usage: patterns PATTERN ROUNDS COMPUTING-US
//   neighbours   each round: 1 KiB to and from the four nearest ranks; in every fourth round also with a
//                random other one, at the same distance for all
//   arrays       as Global Arrays' programs: each round gets 4 KiB from a random rank and accumulates 2 KiB
//                in another one; in every fourth round it draws a task from a counter of rank 0
//   phases       each round: an all-to-all of 256 bytes among 8 neighbouring ranks; in every 16th among all
// After each round, every rank computes for so long. Prints the time in microseconds, by the slowest rank.
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { doubles = 512, largest = 1 << 20 };

static int rank, size, rounds;
static char out[largest], in[largest];
static unsigned long long state;

static unsigned draw(unsigned below) {
  state = state * 6364136223846793005ull + 1442695040888963407ull;
  return (unsigned)(state >> 33) % below;
}

static void exchange(int to, int from, int bytes) {
  MPI_Sendrecv(out, bytes, MPI_BYTE, to, 0, in, bytes, MPI_BYTE, from, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
}

static void neighbours(int round) {
  int side = 1;
  while ((side + 1) * (side + 1) <= size) ++side;
  const int steps[] = {1, size - 1, side, size - side};
  for (int i = 0; i < 4; ++i) exchange((rank + steps[i]) % size, (rank - steps[i] + size) % size, 1024);
  if (round % 4 != 0) return;
  state = (unsigned long long)round * 2654435761u + 12345; /* all draw the same */
  const int shift = 1 + (int)draw((unsigned)size - 1);
  exchange((rank + shift) % size, (rank - shift + size) % size, 1024);
}

static void arrays(int round, MPI_Win memory, MPI_Win counter) {
  double got[doubles];
  long one = 1, task;
  if (round % 4 == 0) {
    MPI_Fetch_and_op(&one, &task, MPI_LONG, 0, 0, MPI_SUM, counter);
    MPI_Win_flush(0, counter);
  }
  const int source = (int)draw((unsigned)size), target = (int)draw((unsigned)size);
  MPI_Get(got, doubles, MPI_DOUBLE, source, 0, doubles, MPI_DOUBLE, memory);
  MPI_Win_flush(source, memory);
  MPI_Accumulate(got, doubles / 2, MPI_DOUBLE, target, doubles, doubles / 2, MPI_DOUBLE, MPI_SUM, memory);
  MPI_Win_flush(target, memory);
}

static void phases(int round, MPI_Comm few) {
  if (round % 16 == 15)
    MPI_Alltoall(out, 256, MPI_BYTE, in, 256, MPI_BYTE, MPI_COMM_WORLD);
  else
    MPI_Alltoall(out, 256, MPI_BYTE, in, 256, MPI_BYTE, few);
}

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  if (argc != 4 || size > largest / 256) MPI_Abort(MPI_COMM_WORLD, 2);
  rounds = atoi(argv[2]);
  const useconds_t computing = (useconds_t)atoi(argv[3]);
  state = (unsigned long long)rank * 7919 + 1;
  double* own = NULL;
  long* count = NULL;
  MPI_Win memory = MPI_WIN_NULL, counter = MPI_WIN_NULL;
  MPI_Comm few;
  MPI_Comm_split(MPI_COMM_WORLD, rank / 8, rank, &few);
  if (strcmp(argv[1], "arrays") == 0) {
    MPI_Win_allocate(2 * doubles * sizeof(double), sizeof(double), MPI_INFO_NULL, MPI_COMM_WORLD, &own,
                     &memory);
    MPI_Win_allocate(sizeof(long), sizeof(long), MPI_INFO_NULL, MPI_COMM_WORLD, &count, &counter);
    memset(own, 0, 2 * doubles * sizeof(double));
    *count = 0;
    MPI_Win_lock_all(MPI_MODE_NOCHECK, memory);
    MPI_Win_lock_all(MPI_MODE_NOCHECK, counter);
  }
  MPI_Barrier(MPI_COMM_WORLD);
  const double begin = MPI_Wtime();
  for (int round = 0; round < rounds; ++round) {
    if (strcmp(argv[1], "neighbours") == 0)
      neighbours(round);
    else if (strcmp(argv[1], "arrays") == 0)
      arrays(round, memory, counter);
    else
      phases(round, few);
    if (computing > 0) usleep(computing);
  }
  double took = (MPI_Wtime() - begin) * 1e6, slowest;
  MPI_Reduce(&took, &slowest, 1, MPI_DOUBLE, MPI_MAX, 0, MPI_COMM_WORLD);
  if (rank == 0) printf("%.1f\n", slowest);
  if (memory != MPI_WIN_NULL) {
    MPI_Win_unlock_all(memory);
    MPI_Win_unlock_all(counter);
    MPI_Win_free(&memory);
    MPI_Win_free(&counter);
  }
  MPI_Comm_free(&few);
  MPI_Finalize();
  return 0;
}
