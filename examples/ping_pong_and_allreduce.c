/* The demonstration: a ping-pong between rank 0 and the last rank, then an all-reduce over all ranks, every
   result checked, times printed as a table. Exit code 1 if any byte was wrong.
   Build and run:  mpicc -O2 ping_pong_and_allreduce.c -o demo && mpiexec -n 4 ./demo */
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>

enum { largest = 4 << 20, tag = 7 };

static long wrong_bytes;

static void fill(unsigned char* bytes, int count, int seed) {
  for (int i = 0; i < count; ++i) bytes[i] = (unsigned char)(i * 13 + seed);
}

static void check(const unsigned char* bytes, int count, int seed) {
  for (int i = 0; i < count; ++i) wrong_bytes += bytes[i] != (unsigned char)(i * 13 + seed);
}

static int rounds_for(int bytes) { return bytes <= 8192 ? 2000 : bytes <= 262144 ? 300 : 40; }

/* Microseconds one way. The first and the last message are checked. */
static double ping_pong(unsigned char* out, unsigned char* in, int bytes, int rank, int last) {
  const int rounds = rounds_for(bytes), peer = rank == 0 ? last : 0;
  fill(out, bytes, rank);
  double begin = 0;
  for (int i = -10; i < rounds; ++i) {
    if (i == 0) begin = MPI_Wtime();
    if (rank == 0) MPI_Send(out, bytes, MPI_BYTE, peer, tag, MPI_COMM_WORLD);
    MPI_Recv(in, bytes, MPI_BYTE, peer, tag, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    if (rank != 0) MPI_Send(out, bytes, MPI_BYTE, peer, tag, MPI_COMM_WORLD);
    if (i == -10) check(in, bytes, peer);
  }
  const double us = (MPI_Wtime() - begin) * 1e6 / rounds / 2;
  check(in, bytes, peer);
  return us;
}

/* Microseconds a call. Every element of every rank is checked once. */
static double all_reduce(double* out, double* in, int bytes, int rank, int size) {
  const int rounds = rounds_for(bytes) / 4, count = bytes / (int)sizeof(double);
  for (int i = 0; i < count; ++i) out[i] = rank + i % 1000;
  MPI_Allreduce(out, in, count, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD);
  for (int i = 0; i < count; ++i)
    wrong_bytes += in[i] != size * (size - 1) / 2.0 + (double)size * (i % 1000) ? (long)sizeof(double) : 0;
  const double begin = MPI_Wtime();
  for (int i = 0; i < rounds; ++i) MPI_Allreduce(out, in, count, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD);
  return (MPI_Wtime() - begin) * 1e6 / rounds;
}

int main(int argc, char** argv) {
  int rank, size;
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  if (size < 2) {
    fprintf(stderr, "this program needs at least 2 processes\n");
    MPI_Abort(MPI_COMM_WORLD, 2);
  }
  void *out = malloc(largest), *in = malloc(largest);
  if (out == NULL || in == NULL) MPI_Abort(MPI_COMM_WORLD, 2);
  if (rank == 0)
    printf("%12s %16s %16s %20s\n", "bytes", "ping-pong (us)", "one way (MB/s)", "all-reduce (us)");
  for (int bytes = 8; bytes <= largest; bytes *= 8) {
    double us = 0;
    MPI_Barrier(MPI_COMM_WORLD);
    if (rank == 0 || rank == size - 1) us = ping_pong(out, in, bytes, rank, size - 1);
    MPI_Barrier(MPI_COMM_WORLD);
    const double reduce_us = all_reduce(out, in, bytes, rank, size);
    if (rank == 0) printf("%12d %16.2f %16.1f %20.2f\n", bytes, us, bytes / us, reduce_us);
  }
  long all_wrong = 0;
  MPI_Allreduce(&wrong_bytes, &all_wrong, 1, MPI_LONG, MPI_SUM, MPI_COMM_WORLD);
  if (rank == 0) printf(all_wrong == 0 ? "all bytes right, %d ranks\n" : "%d ranks, WRONG bytes\n", size);
  MPI_Finalize();
  return all_wrong != 0;
}
