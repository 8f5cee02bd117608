/* Requests of one-sided operations end when their target is killed: 3 ranks, of which rank 2 is killed in the
 * middle, and does not call MPI before. usage: window_requests shared|apart
 * With "apart", what needs an answer cannot succeed. */
#include <mpi.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "check.h"

enum { operations = 6, count = 100000 };
static int from[count], into[operations][count];

/* Small and large ones; the last two need what rank 2 does. */
static void begin(MPI_Win win, MPI_Request* requests) {
  MPI_Rput(from, 1, MPI_INT, 2, 0, 1, MPI_INT, win, &requests[0]);
  MPI_Rput(from, count, MPI_INT, 2, 0, count, MPI_INT, win, &requests[1]);
  MPI_Rget(into[2], 1, MPI_INT, 2, 0, 1, MPI_INT, win, &requests[2]);
  MPI_Rget(into[3], count, MPI_INT, 2, 0, count, MPI_INT, win, &requests[3]);
  MPI_Rget_accumulate(from, 1, MPI_INT, into[4], 1, MPI_INT, 2, 0, 1, MPI_INT, MPI_SUM, win, &requests[4]);
  MPI_Rget_accumulate(from, count, MPI_INT, into[5], count, MPI_INT, 2, 0, count, MPI_INT, MPI_SUM, win,
                      &requests[5]);
}

static void end(MPI_Request* requests, int apart) {
  for (int i = 0; i < operations; ++i) {
    const int class = class_of(MPI_Wait(&requests[i], MPI_STATUS_IGNORE));
    CHECK(class == MPIX_ERR_PROC_FAILED || (class == MPI_SUCCESS && !(apart && i >= 4)));
    CHECK(requests[i] == MPI_REQUEST_NULL);
  }
}

/* Until the process makes no progress any more. */
static void await_stop(int process) {
  char name[64], text[512] = "";
  snprintf(name, sizeof name, "/proc/%d/stat", process);
  for (char state = 0; state != 'T'; usleep(1000)) {
    FILE* file = fopen(name, "r");
    CHECK(file != NULL && fgets(text, sizeof text, file) != NULL);
    fclose(file);
    state = strrchr(text, ')')[2];
  }
}

int main(int argc, char** argv) {
  MPI_Win win;
  MPI_Comm smaller;
  MPI_Group failed;
  MPI_Request requests[operations];
  int *memory, size = 0, known = 0, victim = (int)getpid();
  MPI_Init(&argc, &argv);
  const int apart = argc > 1 && strcmp(argv[1], "apart") == 0;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
  MPI_Win_allocate(count * sizeof(int), sizeof(int), MPI_INFO_NULL, MPI_COMM_WORLD, &memory, &win);
  MPI_Win_set_errhandler(win, MPI_ERRORS_RETURN);
  MPI_Win_lock_all(MPI_MODE_NOCHECK, win);
  MPI_Bcast(&victim, 1, MPI_INT, 2, MPI_COMM_WORLD);
  MPI_Barrier(MPI_COMM_WORLD);
  while (rank == 2) raise(SIGSTOP);
  await_stop(victim);
  begin(win, requests);
  int other = 0;
  MPI_Sendrecv(&rank, 1, MPI_INT, 1 - rank, 0, &other, 1, MPI_INT, 1 - rank, 0, MPI_COMM_WORLD,
               MPI_STATUS_IGNORE);
  if (rank == 0) kill(victim, SIGKILL);
  end(requests, apart);
  while (known == 0) {
    MPIX_Comm_get_failed(MPI_COMM_WORLD, &failed);
    MPI_Group_size(failed, &known);
    MPI_Group_free(&failed);
  }
  begin(win, requests);
  end(requests, apart);
  MPIX_Comm_shrink(MPI_COMM_WORLD, &smaller);
  MPI_Comm_size(smaller, &size);
  CHECK(size == 2);
  if (rank == 0) printf("all requests have ended\n");
  MPI_Finalize();
  return 0;
}
