/* Ranks that exchange checked data until rank 0's input ends. usage: exchange [GATE]
 * Each rank says its number and its process once MPI is there, and then waits until somebody opens GATE, a
 * named pipe, for writing. For each line of its input, rank 0 answers after one more round. */
#include <fcntl.h>
#include <mpi.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

enum { largest = 1 << 20 };
static const int sizes[] = {0, 8, 3000, 40000, largest};

static int rank, size;

static unsigned char expected(int from, int round, int at) {
  return (unsigned char)(at * 131 + round * 17 + from);
}

static void check(int good, const char* what) {
  if (good) return;
  fprintf(stderr, "rank %d: %s\n", rank, what);
  MPI_Abort(MPI_COMM_WORLD, 3);
}

static void to_the_next(unsigned char* out, unsigned char* in, int round, int bytes) {
  const int before = (rank + size - 1) % size;
  for (int i = 0; i < bytes; ++i) out[i] = expected(rank, round, i);
  MPI_Sendrecv(out, bytes, MPI_BYTE, (rank + 1) % size, 0, in, bytes, MPI_BYTE, before, 0, MPI_COMM_WORLD,
               MPI_STATUS_IGNORE);
  for (int i = 0; i < bytes; ++i) check(in[i] == expected(before, round, i), "other data came");
}

/* What the input says: 0 nothing, 1 a line, 2 its end. Waits for it a little, so that the other ranks fall
 * asleep. */
static int input(void) {
  struct pollfd in = {0, POLLIN, 0};
  char byte = 0;
  while (poll(&in, 1, 20) > 0) {
    if (read(0, &byte, 1) != 1) return 2;
    if (byte == '\n') return 1;
  }
  return 0;
}

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  printf("rank %d is %d\n", rank, (int)getpid());
  fflush(stdout);
  if (argc > 1) close(open(argv[1], O_RDONLY));
  unsigned char *out = malloc(largest), *in = malloc(largest);
  check(out != NULL && in != NULL, "no memory");
  for (int round = 0, said = 0; said != 2; ++round) {
    if (rank == 0) said = input();
    for (unsigned i = 0; i < sizeof sizes / sizeof *sizes; ++i) to_the_next(out, in, round, sizes[i]);
    int sum = 0;
    MPI_Allreduce(&rank, &sum, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
    check(sum == size * (size - 1) / 2, "a wrong sum");
    MPI_Bcast(&said, 1, MPI_INT, 0, MPI_COMM_WORLD);
    if (rank == 0 && said == 1) printf("round %d\n", round), fflush(stdout);
  }
  MPI_Finalize();
  if (rank == 0) printf("all right\n");
  free(out);
  free(in);
  return 0;
}
