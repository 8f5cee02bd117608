/* Goes on while hosts are cut off: partition MILLISECONDS
 *
 * Sums over all that live until others were left out, or all agree that so much time has passed; then some
 * rounds more. Prints a line when it begins, and who is left. */
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>

enum { more_rounds = 50 };

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  MPI_Comm comm = MPI_COMM_WORLD;
  MPI_Comm_set_errhandler(comm, MPI_ERRORS_RETURN);
  int own, first_size, size, sum = 0, left = more_rounds;
  MPI_Comm_rank(comm, &own);
  MPI_Comm_size(comm, &first_size);
  size = first_size;
  MPI_Barrier(comm);
  if (own == 0) {
    printf("begins\n");
    fflush(stdout);
  }
  const double end = MPI_Wtime() + atof(argv[1]) / 1000;
  while (left > 0) {
    int well = MPI_Allreduce(&own, &sum, 1, MPI_INT, MPI_SUM, comm) == MPI_SUCCESS;
    if (!well) MPIX_Comm_revoke(comm);
    int words = well | (MPI_Wtime() > end ? 2 : 0);
    if (MPIX_Comm_agree(comm, &words) != MPI_SUCCESS || !(words & 1)) {
      MPI_Comm smaller;
      if (MPIX_Comm_shrink(comm, &smaller) != MPI_SUCCESS) MPI_Abort(MPI_COMM_WORLD, 3);
      if (comm != MPI_COMM_WORLD) MPI_Comm_free(&comm);
      comm = smaller;
      MPI_Comm_size(comm, &size);
    } else if (size < first_size || (words & 2)) {
      --left;
    }
  }
  printf("rank %d is one of %d, their sum is %d\n", own, size, sum);
  MPI_Finalize();
  return 0;
}
