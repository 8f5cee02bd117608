// What ranks cost: they meet in collectives, or each talks to each.
#include <mpi.h>
#include <stdio.h>
#include <string.h>

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  int rank, ranks, wrong = 0, all;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &ranks);
  const int each_with_each = argc > 1 && strcmp(argv[1], "pairs") == 0;
  for (int step = 1; each_with_each && step < ranks; ++step) {
    const double own = rank;
    double heard = -1;
    const int from = (rank + ranks - step) % ranks;
    MPI_Sendrecv(&own, 1, MPI_DOUBLE, (rank + step) % ranks, step, &heard, 1, MPI_DOUBLE, from, step,
                 MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    wrong += heard != from;
  }
  for (int i = 0; i < 3; ++i) {
    MPI_Barrier(MPI_COMM_WORLD);
    const double own = rank;
    double sum = 0;
    MPI_Allreduce(&own, &sum, 1, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD);
    wrong += sum != ranks * (ranks - 1.0) / 2;
  }
  MPI_Reduce(&wrong, &all, 1, MPI_INT, MPI_SUM, 0, MPI_COMM_WORLD);
  if (rank == 0) printf("%d wrong\n", all);
  MPI_Finalize();
  return 0;
}
