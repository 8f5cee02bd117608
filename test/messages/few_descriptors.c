/* Rank 1 has no descriptor left for a connection when it sends its first message. usage: few_descriptors
 * [handles]: then the program handles errors, but not those of this communicator. */
#include <mpi.h>
#include <stdlib.h>
#include <sys/resource.h>

int main(int argc, char** argv) {
  enum { size = 1 << 20 };
  int rank;
  char* const bytes = calloc(size, 1);
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  if (argc > 1) MPI_Comm_set_errhandler(MPI_COMM_SELF, MPI_ERRORS_RETURN);
  if (rank == 1) {
    const struct rlimit none = {3, 3};
    setrlimit(RLIMIT_NOFILE, &none);
    MPI_Send(bytes, size, MPI_BYTE, 0, 0, MPI_COMM_WORLD);
  } else {
    MPI_Recv(bytes, size, MPI_BYTE, 1, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
  }
  MPI_Finalize();
  free(bytes);
  return 0;
}
