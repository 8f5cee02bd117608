/* Rank 1 hears that another rank has failed. With an argument, rank 0 ends the job a little later. */
#include <mpi.h>
#include <unistd.h>

int main(int argc, char** argv) {
  int rank;
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Barrier(MPI_COMM_WORLD);
  if (rank == 1) MPI_Comm_call_errhandler(MPI_COMM_WORLD, MPIX_ERR_PROC_FAILED);
  if (rank == 0 && argc > 1) {
    usleep(100000);
    MPI_Abort(MPI_COMM_WORLD, 7);
  }
  MPI_Finalize();
  return 0;
}
