#include <mpi.h>
#include <omp.h>
#include <stdio.h>

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  int rank, sum = 0;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
#pragma omp parallel for reduction(+ : sum)
  for (int i = 0; i < 100; ++i) sum += i + rank;
  printf("%d: %d threads, sum %d\n", rank, omp_get_max_threads(), sum);
  MPI_Finalize();
  return 0;
}
