/* The demonstration on a failing network: every rank streams blocks to the next one for some seconds, every
   byte is checked, and rank 0 shows the bandwidth of all ranks together over time. Exit code 1 if any byte
   was wrong. Build and run:  mpicc -O2 pulled_cable.c -o pulled_cable mpiexec -n 2 --fabric "two-switch
   --hosts 2 --rails 2 --rate 100MB/s" ./pulled_cable 10 */
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { block = 1 << 20, window = 4, tag = 3, row = 60 };
static const double interval = 0.5;

/* The same bytes everywhere but for the first eight, which say whose block it is. */
static void stamp(unsigned char* bytes, int rank, long round) {
  const long long word = (long long)rank << 48 | round;
  memcpy(bytes, &word, sizeof word);
}

static int is_right(unsigned char* bytes, const unsigned char* pattern, int rank, long round) {
  const long long expected = (long long)rank << 48 | round;
  const int right = memcmp(bytes, &expected, sizeof expected) == 0 &&
                    memcmp(bytes + sizeof expected, pattern + sizeof expected, block - sizeof expected) == 0;
  memset(bytes, 0, block);
  return right;
}

static void show(double time, double rate, double full) {
  char bar[row + 1];
  const int length = rate / full * row > row ? row : (int)(rate / full * row + 0.5);
  memset(bar, '#', (size_t)length);
  bar[length] = 0;
  printf("%6.1f s %7.1f MB/s %s\n", time, rate, bar);
  fflush(stdout);
}

int main(int argc, char** argv) {
  int rank, size;
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  const double seconds = argc > 1 ? atof(argv[1]) : 10, full = argc > 2 ? atof(argv[2]) : 400;
  if (size < 2 || seconds <= 0 || full <= 0) {
    if (rank == 0)
      fprintf(stderr, "usage: mpiexec -n N pulled_cable [SECONDS [MB/s OF A FULL BAR]], N at least 2\n");
    MPI_Abort(MPI_COMM_WORLD, 2);
  }
  unsigned char *pattern = malloc(block), *out[window], *in[window];
  for (int i = 0; i < block; ++i) pattern[i] = (unsigned char)(i * 13 + (i >> 8));
  for (int i = 0; i < window; ++i) {
    out[i] = malloc(block);
    in[i] = calloc(block, 1);
    memcpy(out[i], pattern, block);
  }
  const int next = (rank + 1) % size, previous = (rank + size - 1) % size;
  MPI_Request receives[window], sends[window];
  long round = 0, wrong = 0;
  double shown = 0, moved = 0;
  for (int i = 0; i < window; ++i) sends[i] = MPI_REQUEST_NULL;
  MPI_Barrier(MPI_COMM_WORLD);
  const double begin = MPI_Wtime();
  for (int go_on = 1; go_on; ++round) {
    for (int i = 0; i < window; ++i)
      MPI_Irecv(in[i], block, MPI_BYTE, previous, tag, MPI_COMM_WORLD, &receives[i]);
    for (int i = 0; i < window; ++i) {
      stamp(out[i], rank, round * window + i);
      MPI_Isend(out[i], block, MPI_BYTE, next, tag, MPI_COMM_WORLD, &sends[i]);
    }
    MPI_Waitall(window, receives, MPI_STATUSES_IGNORE);
    for (int i = 0; i < window; ++i) wrong += !is_right(in[i], pattern, previous, round * window + i);
    MPI_Waitall(window, sends, MPI_STATUSES_IGNORE);
    moved += (double)size * window * block;
    const double now = MPI_Wtime() - begin;
    if (rank == 0 && now - shown >= interval) {
      show(now, moved / (now - shown) / 1e6, full);
      shown = now;
      moved = 0;
    }
    go_on = now < seconds;
    MPI_Bcast(&go_on, 1, MPI_INT, 0, MPI_COMM_WORLD);
  }
  long total = 0;
  MPI_Allreduce(&wrong, &total, 1, MPI_LONG, MPI_SUM, MPI_COMM_WORLD);
  if (rank == 0)
    printf("%ld blocks of 1 MiB from each of %d ranks, %s\n", round * window, size,
           total == 0 ? "every byte right" : "SOME WRONG");
  for (int i = 0; i < window; ++i) {
    free(out[i]);
    free(in[i]);
  }
  free(pattern);
  MPI_Finalize();
  return total != 0;
}
