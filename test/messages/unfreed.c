/* Leaves two windows to MPI_Finalize, one of them with an epoch that nobody ended; frees a third. */
#include <mpi.h>
#include <stdio.h>

int main(int argc, char** argv) {
  int rank, size, value = 0;
  void* memory;
  MPI_Win win, named, freed;
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  MPI_Win_create(&value, sizeof value, 1, MPI_INFO_NULL, MPI_COMM_WORLD, &freed);
  MPI_Win_free(&freed);
  MPI_Win_allocate(1 << 20, 1, MPI_INFO_NULL, MPI_COMM_WORLD, &memory, &named);
  MPI_Win_set_name(named, "halo");
  MPI_Win_create(&value, sizeof value, 1, MPI_INFO_NULL, MPI_COMM_WORLD, &win);
  MPI_Win_fence(0, win);
  MPI_Put(&rank, 1, MPI_INT, (rank + 1) % size, 0, 1, MPI_INT, win);
  MPI_Finalize();
  printf("rank %d is done\n", rank);
  return 0;
}
