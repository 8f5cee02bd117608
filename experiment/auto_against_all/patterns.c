// Communication patterns whose time depends on the paths that messages take.
//
// Usage: patterns PATTERN BYTES [CLASS [ROUNDS [WARM-UP ROUNDS [STARTS]]]]
// Prints the time of a round in microseconds: mean over ROUNDS (10), by the slowest process. Processes that
// are exactly alike repeat one of several courses. So with STARTS, a seed above 0, each begins each round up
// to 200 ns late, by a number of its own.
//   ring D      every process sends BYTES to the process D ranks on, and receives from the one D ranks back
//   drc         displaced ring communication (V07, 3.2): ring 1, ring 2, ... ring n-1 are a round
//   alltoall    MPI_Alltoall, BYTES for each pair
//   allgather S   MPI_Allgather, BYTES from each; ranks in the order of a random permutation with seed S
//   reducescatter   MPI_Reduce_scatter_block, BYTES for each
//   random S    every process sends to the one that a random permutation with seed S names
//   bisection   process i and process i + n/2 send to each other, both at once
// CLASS, of the patterns that are not collective:
//   nonblocking   MPI_Irecv, MPI_Isend, MPI_Waitall (default)
//   blocking      MPI_Sendrecv
//   window        16 messages of BYTES each under way
//   put           MPI_Put and MPI_Win_flush, and then a barrier
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "permutation.h"

enum { most_under_way = 16, latest_start = 200 };  // ns

static int rank, size, argument;
static unsigned long long starts;  // 0: all begin at once
static int bytes;
static char *out, *in;
static const char* traffic = "nonblocking";
static MPI_Comm all;
static MPI_Win window;

static void exchange(int to, int from) {
  if (strcmp(traffic, "blocking") == 0) {
    MPI_Sendrecv(out, bytes, MPI_BYTE, to, 0, in, bytes, MPI_BYTE, from, 0, all, MPI_STATUS_IGNORE);
    return;
  }
  if (strcmp(traffic, "put") == 0) {
    MPI_Put(out, bytes, MPI_BYTE, to, 0, bytes, MPI_BYTE, window);
    MPI_Win_flush(to, window);
    MPI_Barrier(all);
    return;
  }
  const int messages = strcmp(traffic, "window") == 0 ? most_under_way : 1;
  MPI_Request requests[2 * most_under_way];
  for (int i = 0; i < messages; ++i) {
    MPI_Irecv(in + (size_t)i * bytes, bytes, MPI_BYTE, from, 0, all, &requests[2 * i]);
    MPI_Isend(out + (size_t)i * bytes, bytes, MPI_BYTE, to, 0, all, &requests[2 * i + 1]);
  }
  MPI_Waitall(2 * messages, requests, MPI_STATUSES_IGNORE);
}

static void ring(int distance) { exchange((rank + distance) % size, (rank - distance % size + size) % size); }

static void random_pairs(int seed) {
  int* to = malloc((size_t)size * sizeof(int));
  permute(to, size, seed);
  int from = 0;
  while (to[from] != rank) ++from;
  exchange(to[rank], from);
  free(to);
}

// What the processes draw has nothing in common (the mixing of SplitMix64).
static unsigned long long first_state(unsigned long long seed) {
  unsigned long long state = seed * (unsigned)size + (unsigned)rank;
  state = (state ^ state >> 30) * 0xbf58476d1ce4e5b9ull;
  state = (state ^ state >> 27) * 0x94d049bb133111ebull;
  return state ^ state >> 31;
}

static void begin_late(void) {
  if (starts == 0) return;
  starts = next_random(starts);
  const struct timespec late = {.tv_sec = 0, .tv_nsec = (long)((starts >> 33) % (latest_start + 1))};
  nanosleep(&late, NULL);
}

static void round_of(const char* pattern) {
  begin_late();
  if (strcmp(pattern, "ring") == 0) {
    ring(argument);
  } else if (strcmp(pattern, "drc") == 0) {
    for (int d = 1; d < size; ++d) ring(d);
  } else if (strcmp(pattern, "alltoall") == 0) {
    MPI_Alltoall(out, bytes, MPI_BYTE, in, bytes, MPI_BYTE, all);
  } else if (strcmp(pattern, "allgather") == 0) {
    MPI_Allgather(out, bytes, MPI_BYTE, in, bytes, MPI_BYTE, all);
  } else if (strcmp(pattern, "reducescatter") == 0) {
    MPI_Reduce_scatter_block(out, in, bytes, MPI_BYTE, MPI_BXOR, all);
  } else if (strcmp(pattern, "random") == 0) {
    random_pairs(argument);
  } else if (strcmp(pattern, "bisection") == 0) {
    ring(size / 2);
  } else {
    fprintf(stderr, "patterns: no pattern '%s'\n", pattern);
    MPI_Abort(MPI_COMM_WORLD, 2);
  }
}

// The ranks in the order that a permutation says.
static void place(int seed) {
  int* place_of = malloc((size_t)size * sizeof(int));
  permute(place_of, size, seed);
  MPI_Comm_split(MPI_COMM_WORLD, 0, place_of[rank], &all);
  free(place_of);
}

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  if (argc < 3) {
    if (rank == 0)
      fprintf(stderr, "usage: patterns PATTERN[:NUMBER] BYTES [CLASS [ROUNDS [WARM-UP ROUNDS [STARTS]]]]\n");
    MPI_Abort(MPI_COMM_WORLD, 2);
  }
  char pattern[64];
  snprintf(pattern, sizeof(pattern), "%s", argv[1]);
  char* colon = strchr(pattern, ':');
  argument = colon != NULL ? atoi(colon + 1) : 0;
  if (colon != NULL) *colon = 0;
  bytes = atoi(argv[2]);
  if (argc > 3) traffic = argv[3];
  const int rounds = argc > 4 ? atoi(argv[4]) : 10, warm_up = argc > 5 ? atoi(argv[5]) : 3;
  const unsigned long long seed = argc > 6 ? strtoull(argv[6], NULL, 10) : 0;
  if (seed > 0) starts = first_state(seed);
  all = MPI_COMM_WORLD;
  if (strcmp(pattern, "allgather") == 0 && argument != 0) place(argument);
  const size_t most = (size_t)(size > most_under_way ? size : most_under_way) * (size_t)bytes;
  out = calloc(most, 1);
  in = calloc(most, 1);
  const int puts = strcmp(traffic, "put") == 0;
  if (puts) {
    MPI_Win_create(in, bytes, 1, MPI_INFO_NULL, all, &window);
    MPI_Win_lock_all(MPI_MODE_NOCHECK, window);
  }
  for (int i = 0; i < warm_up; ++i) round_of(pattern);
  MPI_Barrier(all);
  const double begin = MPI_Wtime();
  for (int i = 0; i < rounds; ++i) round_of(pattern);
  double time = (MPI_Wtime() - begin) / rounds * 1e6, slowest = 0;
  MPI_Reduce(&time, &slowest, 1, MPI_DOUBLE, MPI_MAX, 0, MPI_COMM_WORLD);
  if (rank == 0) printf("%.1f\n", slowest);
  if (puts) {
    MPI_Win_unlock_all(window);
    MPI_Win_free(&window);
  }
  if (all != MPI_COMM_WORLD) MPI_Comm_free(&all);
  MPI_Finalize();
  free(out);
  free(in);
  return 0;
}
