// The latency of broadcasts as M06 means it: from the moment at which the root begins until the slowest rank
// has the data. All ranks begin at the same time of a clock that they share, which the simulator's is. Prints
// a line for each size: bytes, microseconds (the median of the rounds). Usage: broadcast MOST_BYTES ROUNDS
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static int compare(const void* a, const void* b) {
  const double x = *(const double*)a, y = *(const double*)b;
  return x < y ? -1 : x > y;
}

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  int rank = 0;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  const long most = argc > 1 ? atol(argv[1]) : 1 << 20;
  const int rounds = argc > 2 ? atoi(argv[2]) : 9, warm_up = 6;
  char* const data = malloc((size_t)most);
  double* const took = malloc((size_t)rounds * sizeof(double));
  for (long bytes = 8; bytes <= most; bytes *= 2) {
    int wrong = 0;
    for (int i = 0; i < warm_up + rounds; ++i) {
      memset(data, rank == 0 ? i + 1 : 0, (size_t)bytes);
      double begin = (double)(long)(MPI_Wtime() * 1e6 + 400) * 1e-6, slowest = 0;
      MPI_Bcast(&begin, 1, MPI_DOUBLE, 0, MPI_COMM_WORLD);
      const double left = begin - MPI_Wtime();
      if (left > 0) usleep((useconds_t)(left * 1e6));
      MPI_Bcast(data, (int)bytes, MPI_BYTE, 0, MPI_COMM_WORLD);
      const double mine = MPI_Wtime() - begin;
      for (long k = 0; k < bytes; ++k) wrong += data[k] != (char)(i + 1);
      MPI_Reduce(&mine, &slowest, 1, MPI_DOUBLE, MPI_MAX, 0, MPI_COMM_WORLD);
      if (i >= warm_up) took[i - warm_up] = slowest * 1e6;
    }
    int bad = 0;
    MPI_Allreduce(&wrong, &bad, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
    if (bad > 0) MPI_Abort(MPI_COMM_WORLD, 1);
    qsort(took, (size_t)rounds, sizeof(double), compare);
    if (rank == 0) printf("%ld %.2f\n", bytes, took[rounds / 2]);
  }
  free(data);
  free(took);
  MPI_Finalize();
  return 0;
}
