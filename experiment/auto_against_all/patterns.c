// Communication patterns whose time depends on the paths that messages take.
//
// Usage: patterns PATTERN BYTES [ROUNDS [WARM-UP ROUNDS]]
// Prints the time of a round in microseconds: mean over ROUNDS (10), by the slowest process.
//   ring D      every process sends BYTES to the process D ranks on, and receives from the one D ranks back
//   drc         displaced ring communication (V07, 3.2): ring 1, ring 2, ... ring n-1 are a round
//   alltoall    MPI_Alltoall, BYTES for each pair
//   allgather   MPI_Allgather, BYTES from each
//   reducescatter   MPI_Reduce_scatter_block, BYTES for each
//   random S    every process sends to the one that a random permutation with seed S names
//   bisection   process i and process i + n/2 send to each other, both at once
//   window D    as ring D with 16 messages of BYTES each under way
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { window = 16 };

static int rank, size, argument;
static int bytes;
static char *out, *in;

static void exchange(int to, int from, int messages) {
  MPI_Request requests[2 * window];
  for (int i = 0; i < messages; ++i) {
    MPI_Irecv(in + (size_t)i * bytes, bytes, MPI_BYTE, from, 0, MPI_COMM_WORLD, &requests[2 * i]);
    MPI_Isend(out + (size_t)i * bytes, bytes, MPI_BYTE, to, 0, MPI_COMM_WORLD, &requests[2 * i + 1]);
  }
  MPI_Waitall(2 * messages, requests, MPI_STATUSES_IGNORE);
}

static void ring(int distance, int messages) {
  exchange((rank + distance) % size, (rank - distance % size + size) % size, messages);
}

static void random_pairs(int seed) {
  int* to = malloc((size_t)size * sizeof(int));
  unsigned long long state = (unsigned long long)seed * 2654435761u + 12345;
  for (int i = 0; i < size; ++i) to[i] = i;
  for (int i = size - 1; i > 0; --i) {
    state = state * 6364136223846793005ull + 1442695040888963407ull;
    const int j = (int)((state >> 33) % (unsigned)(i + 1)), kept = to[i];
    to[i] = to[j];
    to[j] = kept;
  }
  int from = 0;
  while (to[from] != rank) ++from;
  exchange(to[rank], from, 1);
  free(to);
}

static void round_of(const char* pattern) {
  if (strcmp(pattern, "ring") == 0) {
    ring(argument, 1);
  } else if (strcmp(pattern, "window") == 0) {
    ring(argument, window);
  } else if (strcmp(pattern, "drc") == 0) {
    for (int d = 1; d < size; ++d) ring(d, 1);
  } else if (strcmp(pattern, "alltoall") == 0) {
    MPI_Alltoall(out, bytes, MPI_BYTE, in, bytes, MPI_BYTE, MPI_COMM_WORLD);
  } else if (strcmp(pattern, "allgather") == 0) {
    MPI_Allgather(out, bytes, MPI_BYTE, in, bytes, MPI_BYTE, MPI_COMM_WORLD);
  } else if (strcmp(pattern, "reducescatter") == 0) {
    MPI_Reduce_scatter_block(out, in, bytes, MPI_BYTE, MPI_BXOR, MPI_COMM_WORLD);
  } else if (strcmp(pattern, "random") == 0) {
    random_pairs(argument);
  } else if (strcmp(pattern, "bisection") == 0) {
    ring(size / 2, 1);
  } else {
    fprintf(stderr, "patterns: no pattern '%s'\n", pattern);
    MPI_Abort(MPI_COMM_WORLD, 2);
  }
}

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  if (argc < 3) {
    if (rank == 0) fprintf(stderr, "usage: patterns PATTERN[:NUMBER] BYTES [ROUNDS [WARM-UP ROUNDS]]\n");
    MPI_Abort(MPI_COMM_WORLD, 2);
  }
  char pattern[64];
  snprintf(pattern, sizeof(pattern), "%s", argv[1]);
  char* colon = strchr(pattern, ':');
  argument = colon != NULL ? atoi(colon + 1) : 1;
  if (colon != NULL) *colon = 0;
  bytes = atoi(argv[2]);
  const int rounds = argc > 3 ? atoi(argv[3]) : 10, warm_up = argc > 4 ? atoi(argv[4]) : 3;
  const size_t most = (size_t)(size > window ? size : window) * (size_t)bytes;
  out = calloc(most, 1);
  in = calloc(most, 1);
  for (int i = 0; i < warm_up; ++i) round_of(pattern);
  MPI_Barrier(MPI_COMM_WORLD);
  const double begin = MPI_Wtime();
  for (int i = 0; i < rounds; ++i) round_of(pattern);
  double time = (MPI_Wtime() - begin) / rounds * 1e6, slowest = 0;
  MPI_Reduce(&time, &slowest, 1, MPI_DOUBLE, MPI_MAX, 0, MPI_COMM_WORLD);
  if (rank == 0) printf("%.1f\n", slowest);
  MPI_Finalize();
  free(out);
  free(in);
  return 0;
}
