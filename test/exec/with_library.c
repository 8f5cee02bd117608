/* A program and a shared library of its own, whose variables it uses. */
#include <mpi.h>
#include <stdio.h>
extern int library_variable;
int library_calls(void);
int main(int argc, char** argv) {
  int rank, calls = 0;
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  for (int i = 0; i <= rank; ++i) calls = library_calls();
  library_variable += rank;
  MPI_Barrier(MPI_COMM_WORLD);
  printf("%d: calls %d, variable %d\n", rank, calls, library_variable);
  MPI_Finalize();
  return 0;
}
