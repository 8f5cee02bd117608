// The communication of V07's chapters 7 and 8, with processes placed in order or at random.
//
// Usage: hot_spots PATTERN PROCESSES PLACEMENT ROUNDS WARM-UP BYTES...
// PATTERN:
//   alltoall, allgather, reducescatter, allreduce: prints "BYTES MICROSECONDS" for each size, the mean of a
//     round by the slowest process. BYTES are for each pair, of each, for each, and of the whole vector
//   drc: displaced ring communication. In step j process i sends to the one j ranks on, BYTES in each round.
//     Prints for each step the MB/s at which each process sends
//   pingpong: the first process and the last one; prints half the round trip
// PROCESSES take part; the job may have more, which wait.
// PLACEMENT 0: rank i is process i of the job; otherwise the seed of a permutation.
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "../auto_against_all/permutation.h"

static int rank, size, rounds, warm_up;
static char *out, *in;
static MPI_Comm all;

static void die(const char* why) {
  fprintf(stderr, "hot_spots: %s\n", why);
  MPI_Abort(MPI_COMM_WORLD, 2);
}

// The communicator of those that take part; MPI_COMM_NULL in the others.
static void place(int processes, int seed) {
  int me, hosts;
  MPI_Comm_rank(MPI_COMM_WORLD, &me);
  MPI_Comm_size(MPI_COMM_WORLD, &hosts);
  if (processes < 1 || processes > hosts) die("more processes than the job has");
  int* process_of = malloc((size_t)hosts * sizeof(int));
  for (int i = 0; i < hosts; ++i) process_of[i] = i;
  if (seed != 0) permute(process_of, hosts, seed);
  int mine = 0;
  while (process_of[mine] != me) ++mine;
  free(process_of);
  MPI_Comm_split(MPI_COMM_WORLD, mine < processes ? 0 : MPI_UNDEFINED, mine, &all);
}

static void exchange(int to, int from, int bytes) {
  MPI_Request requests[2];
  MPI_Irecv(in, bytes, MPI_BYTE, from, 0, all, &requests[0]);
  MPI_Isend(out, bytes, MPI_BYTE, to, 0, all, &requests[1]);
  MPI_Waitall(2, requests, MPI_STATUSES_IGNORE);
}

static void displaced_ring(int bytes) {
  double* rates = malloc((size_t)size * sizeof(double));
  for (int step = 1; step < size; ++step) {
    const int to = (rank + step) % size, from = (rank - step + size) % size;
    MPI_Barrier(all);
    for (int i = 0; i < warm_up; ++i) exchange(to, from, bytes);
    const double begin = MPI_Wtime();
    for (int i = 0; i < rounds; ++i) exchange(to, from, bytes);
    const double rate = (double)bytes * rounds / (MPI_Wtime() - begin) / 1e6;
    MPI_Gather(&rate, 1, MPI_DOUBLE, rates, 1, MPI_DOUBLE, 0, all);
    if (rank != 0) continue;
    printf("%d", step);
    for (int i = 0; i < size; ++i) printf(" %.0f", rates[i]);
    printf("\n");
  }
  free(rates);
}

static void round_of(const char* pattern, int bytes) {
  if (strcmp(pattern, "alltoall") == 0) {
    MPI_Alltoall(out, bytes, MPI_BYTE, in, bytes, MPI_BYTE, all);
  } else if (strcmp(pattern, "allgather") == 0) {
    MPI_Allgather(out, bytes, MPI_BYTE, in, bytes, MPI_BYTE, all);
  } else if (strcmp(pattern, "reducescatter") == 0) {
    MPI_Reduce_scatter_block(out, in, bytes, MPI_BYTE, MPI_BXOR, all);
  } else if (strcmp(pattern, "allreduce") == 0) {
    MPI_Allreduce(out, in, bytes, MPI_BYTE, MPI_BXOR, all);
  } else if (strcmp(pattern, "pingpong") == 0) {
    if (rank == 0) MPI_Send(out, bytes, MPI_BYTE, size - 1, 0, all);
    if (rank == 0 || rank == size - 1)
      MPI_Recv(in, bytes, MPI_BYTE, rank == 0 ? size - 1 : 0, 0, all, MPI_STATUS_IGNORE);
    if (rank == size - 1) MPI_Send(out, bytes, MPI_BYTE, 0, 0, all);
  } else {
    die("no such pattern");
  }
}

static void time_rounds(const char* pattern, int bytes) {
  for (int i = 0; i < warm_up; ++i) round_of(pattern, bytes);
  MPI_Barrier(all);
  const double begin = MPI_Wtime();
  for (int i = 0; i < rounds; ++i) round_of(pattern, bytes);
  const int ways = strcmp(pattern, "pingpong") == 0 ? 2 : 1;
  double time = (MPI_Wtime() - begin) / rounds / ways * 1e6, slowest = 0;
  MPI_Reduce(&time, &slowest, 1, MPI_DOUBLE, MPI_MAX, 0, all);
  if (rank == 0) printf("%d %.2f\n", bytes, slowest);
}

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  if (argc < 7) die("usage: hot_spots PATTERN PROCESSES PLACEMENT ROUNDS WARM-UP BYTES...");
  rounds = atoi(argv[4]);
  warm_up = atoi(argv[5]);
  place(atoi(argv[2]), atoi(argv[3]));
  if (all != MPI_COMM_NULL) {
    MPI_Comm_rank(all, &rank);
    MPI_Comm_size(all, &size);
    for (int i = 6; i < argc; ++i) {
      const int bytes = atoi(argv[i]);
      out = calloc((size_t)size, (size_t)bytes);
      in = calloc((size_t)size, (size_t)bytes);
      if (strcmp(argv[1], "drc") == 0)
        displaced_ring(bytes);
      else
        time_rounds(argv[1], bytes);
      free(out);
      free(in);
    }
    MPI_Comm_free(&all);
  }
  MPI_Barrier(MPI_COMM_WORLD);
  MPI_Finalize();
  return 0;
}
