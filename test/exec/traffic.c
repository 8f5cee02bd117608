/* A ring of long messages and an all-reduce, several times; every byte is compared. */
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
int main(int argc, char** argv) {
  int rank, size;
  const int rounds = argc > 1 ? atoi(argv[1]) : 4, count = argc > 2 ? atoi(argv[2]) : 1 << 16;
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  int* out = malloc(sizeof(int) * count);
  int* in = malloc(sizeof(int) * count);
  long wrong = 0, sum = 0;
  for (int round = 0; round < rounds; ++round) {
    const int from = (rank + size - 1) % size;
    for (int i = 0; i < count; ++i) out[i] = rank * 1000 + round + i;
    MPI_Sendrecv(out, count, MPI_INT, (rank + 1) % size, round, in, count, MPI_INT, from, round,
                 MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    for (int i = 0; i < count; ++i) wrong += in[i] != from * 1000 + round + i;
    long one = rank;
    MPI_Allreduce(&one, &sum, 1, MPI_LONG, MPI_SUM, MPI_COMM_WORLD);
    wrong += sum != (long)size * (size - 1) / 2;
  }
  MPI_Reduce(rank == 0 ? MPI_IN_PLACE : &wrong, &wrong, 1, MPI_LONG, MPI_SUM, 0, MPI_COMM_WORLD);
  if (rank == 0) printf("%ld wrong\n", wrong);
  MPI_Finalize();
  return wrong != 0;
}
