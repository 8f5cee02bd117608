// Computing beside one message, as S06 measures it (5.1). One of two ranks begins the message, computes and
// waits; the other one is in a blocking call. Usage:
//
//   overlap BYTES sender|receiver|late_receiver INTERRUPT_US COMPUTING_US...
//
// Prints a line for each time of computing, of the mean round: microseconds of computing, of the computing
// rank from the begin of the message to the end of its wait, of what the partner is in its blocking call, and
// interrupts. INTERRUPT_US is what an interrupt takes from the computing if the rank has one core: the
// computing ends so much later. 0: another core serves interrupts. A late receiver has seen the message
// (MPI_Probe) before it begins to receive, from which its time counts.
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { warm_up = 20, rounds = 10 };

static MPI_T_pvar_session session;
static MPI_T_pvar_handle useful;

static void count_interrupts(void) {
  int provided, index, count;
  MPI_T_init_thread(MPI_THREAD_SINGLE, &provided);
  MPI_T_pvar_session_create(&session);
  if (MPI_T_pvar_get_index("rail_interrupts_useful", MPI_T_PVAR_CLASS_COUNTER, &index) != MPI_SUCCESS)
    MPI_Abort(MPI_COMM_WORLD, 2);
  MPI_T_pvar_handle_alloc(session, index, NULL, &useful, &count);
  MPI_T_pvar_start(session, useful);
}

static unsigned long long interrupts(void) {
  unsigned long long found = 0;
  MPI_T_pvar_read(session, useful, &found);
  return found;
}

// Sleeping is virtual time that an interrupt does not prolong.
static void compute(double microseconds, double interrupt) {
  const unsigned long long before = interrupts();
  usleep((useconds_t)microseconds);
  unsigned long long paid = 0;
  while (interrupt > 0 && interrupts() - before > paid) {
    usleep((useconds_t)interrupt);
    ++paid;
  }
}

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  int rank, size;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  if (argc < 5 || size != 2) MPI_Abort(MPI_COMM_WORLD, 2);
  const int bytes = atoi(argv[1]), computing = strcmp(argv[2], "sender") == 0 ? 0 : 1;
  const int late = strcmp(argv[2], "late_receiver") == 0;
  const double interrupt = atof(argv[3]);
  char* const data = calloc(1, (size_t)bytes);
  count_interrupts();
  for (int i = 4; i < argc; ++i) {
    double mine[3] = {0, 0, 0}, all[3];
    for (int round = -warm_up; round < rounds; ++round) {
      MPI_Barrier(MPI_COMM_WORLD);
      if (late && rank == 1) MPI_Probe(0, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
      const unsigned long long before = interrupts();
      const double begin = MPI_Wtime();
      MPI_Request request = MPI_REQUEST_NULL;
      if (rank != computing && rank == 0)
        MPI_Send(data, bytes, MPI_BYTE, 1, 0, MPI_COMM_WORLD);
      else if (rank != computing)
        MPI_Recv(data, bytes, MPI_BYTE, 0, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
      else if (rank == 0)
        MPI_Isend(data, bytes, MPI_BYTE, 1, 0, MPI_COMM_WORLD, &request);
      else
        MPI_Irecv(data, bytes, MPI_BYTE, 0, 0, MPI_COMM_WORLD, &request);
      if (rank == computing) compute(atof(argv[i]), interrupt);
      MPI_Wait(&request, MPI_STATUS_IGNORE);
      if (round < 0) continue;
      mine[rank == computing ? 0 : 1] += (MPI_Wtime() - begin) * 1e6 / rounds;
      if (rank == computing) mine[2] += (double)(interrupts() - before) / rounds;
    }
    MPI_Reduce(mine, all, 3, MPI_DOUBLE, MPI_SUM, 0, MPI_COMM_WORLD);
    if (rank == 0) printf("%s %.2f %.2f %.1f\n", argv[i], all[0], all[1], all[2]);
  }
  free(data);
  MPI_T_pvar_handle_free(session, &useful);
  MPI_T_pvar_session_free(&session);
  MPI_T_finalize();
  MPI_Finalize();
  return 0;
}
