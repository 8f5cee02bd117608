/* Calls of windows that wait for a rank that is killed end in error: 3 ranks, of which rank 2 is killed. */
#include <mpi.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>

static int class_of(int code) {
  int error_class;
  MPI_Error_class(code, &error_class);
  return error_class;
}

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  int rank, one = 1, *memory, code = MPI_SUCCESS;
  const char* call = argv[1];
  MPI_Win win;
  MPI_Group all, target;
  MPI_Comm smaller;
  int last = 2, sum = 0, size = 0;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
  MPI_Win_allocate(1000 * sizeof(int), sizeof(int), MPI_INFO_NULL, MPI_COMM_WORLD, &memory, &win);
  MPI_Win_set_errhandler(win, MPI_ERRORS_RETURN);
  MPI_Win_fence(0, win);
  MPI_Win_fence(MPI_MODE_NOSUCCEED, win);
  if (rank == 2 && strcmp(call, "lock") == 0) MPI_Win_lock(MPI_LOCK_EXCLUSIVE, 2, 0, win);
  MPI_Barrier(MPI_COMM_WORLD);
  if (rank == 2) raise(SIGKILL);
  if (strcmp(call, "fence") == 0) {
    code = MPI_Win_fence(0, win);
  } else if (strcmp(call, "start") == 0) {
    MPI_Win_get_group(win, &all);
    MPI_Group_incl(all, 1, &last, &target);
    code = MPI_Win_start(target, 0, win);
    if (code == MPI_SUCCESS) MPI_Put(&one, 1, MPI_INT, 2, rank, 1, MPI_INT, win);
    if (code == MPI_SUCCESS) code = MPI_Win_complete(win);
  } else {
    code = MPI_Win_lock(MPI_LOCK_EXCLUSIVE, 2, 0, win);
    if (code == MPI_SUCCESS) MPI_Accumulate(&one, 1, MPI_INT, 2, 0, 1, MPI_INT, MPI_SUM, win);
    if (code == MPI_SUCCESS) code = MPI_Win_unlock(2, win);
  }
  if (class_of(code) != MPIX_ERR_PROC_FAILED) {
    fprintf(stderr, "rank %d: %s ended with %d\n", rank, call, class_of(code));
    MPI_Abort(MPI_COMM_WORLD, 5);
  }
  MPIX_Comm_shrink(MPI_COMM_WORLD, &smaller);
  MPI_Comm_size(smaller, &size);
  MPI_Allreduce(&one, &sum, 1, MPI_INT, MPI_SUM, smaller);
  if (rank == 0 && sum == 2 && size == 2) printf("the window's end was told\n");
  MPI_Finalize();
  return 0;
}
