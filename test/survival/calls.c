/* What each call of User-Level Failure Mitigation does: 4 ranks, of which rank 2 is killed. */
#include <mpi.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>

#include "check.h"

static int large[100000];

static int members(MPI_Group group, int first) {
  int size;
  MPI_Group world;
  MPI_Group_size(group, &size);
  if (size > 0) {
    int zero = 0, member;
    MPI_Comm_group(MPI_COMM_WORLD, &world);
    MPI_Group_translate_ranks(group, 1, &zero, world, &member);
    CHECK(member == first);
    MPI_Group_free(&world);
  }
  MPI_Group_free(&group);
  return size;
}

/* Until the failure is known here. */
static void await_failure(void) {
  MPI_Group group;
  int known = 0;
  while (known == 0) {
    MPIX_Comm_get_failed(MPI_COMM_WORLD, &group);
    known = members(group, 2);
  }
  CHECK(known == 1);
}

static void messages_with_the_failed(void) {
  int value = 0;
  MPI_Request request;
  CHECK(class_of(MPI_Recv(&value, 1, MPI_INT, 2, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE)) ==
        MPIX_ERR_PROC_FAILED);
  CHECK(class_of(MPI_Send(&value, 1, MPI_INT, 2, 0, MPI_COMM_WORLD)) == MPIX_ERR_PROC_FAILED);
  CHECK(class_of(MPI_Ssend(large, 100000, MPI_INT, 2, 0, MPI_COMM_WORLD)) == MPIX_ERR_PROC_FAILED);
  CHECK(MPI_Isend(&value, 1, MPI_INT, 2, 0, MPI_COMM_WORLD, &request) == MPI_SUCCESS);
  CHECK(class_of(MPI_Wait(&request, MPI_STATUS_IGNORE)) == MPIX_ERR_PROC_FAILED);
  CHECK(request == MPI_REQUEST_NULL);
  CHECK(MPI_Irecv(&value, 1, MPI_INT, 2, 0, MPI_COMM_WORLD, &request) == MPI_SUCCESS);
  int done = 0, code = MPI_SUCCESS;
  while (!done && code == MPI_SUCCESS) code = MPI_Test(&request, &done, MPI_STATUS_IGNORE);
  CHECK(class_of(code) == MPIX_ERR_PROC_FAILED);
  CHECK(class_of(MPI_Probe(2, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE)) == MPIX_ERR_PROC_FAILED);
  CHECK(class_of(MPI_Barrier(MPI_COMM_WORLD)) == MPIX_ERR_PROC_FAILED);
  CHECK(MPI_Ibarrier(MPI_COMM_WORLD, &request) == MPI_SUCCESS);
  CHECK(class_of(MPI_Wait(&request, MPI_STATUS_IGNORE)) == MPIX_ERR_PROC_FAILED);
}

/* The others still reach each other. */
static void messages_with_the_living(void) {
  int others[] = {0, 1, 3}, next = 0, value = -1;
  for (int i = 0; i < 3; ++i)
    if (others[i] == rank) next = i + 1;
  MPI_Status status;
  CHECK(MPI_Sendrecv(&rank, 1, MPI_INT, others[next % 3], 5, &value, 1, MPI_INT, others[(next + 1) % 3], 5,
                     MPI_COMM_WORLD, &status) == MPI_SUCCESS);
  CHECK(value == others[(next + 1) % 3]);
}

static void any_source(void) {
  int value = -1, acknowledged = -1, flag = 0;
  MPI_Request request;
  MPI_Group group;
  MPIX_Comm_failure_get_acked(MPI_COMM_WORLD, &group);
  CHECK(members(group, 2) == 0);
  CHECK(class_of(MPI_Recv(&value, 1, MPI_INT, MPI_ANY_SOURCE, 6, MPI_COMM_WORLD, MPI_STATUS_IGNORE)) ==
        MPIX_ERR_PROC_FAILED);
  CHECK(MPI_Irecv(&value, 1, MPI_INT, MPI_ANY_SOURCE, 7, MPI_COMM_WORLD, &request) == MPI_SUCCESS);
  for (int again = 0; again < 2; ++again) {
    CHECK(class_of(MPI_Wait(&request, MPI_STATUS_IGNORE)) == MPIX_ERR_PROC_FAILED_PENDING);
    CHECK(request != MPI_REQUEST_NULL);
  }
  CHECK(MPIX_Comm_ack_failed(MPI_COMM_WORLD, 0, &acknowledged) == MPI_SUCCESS && acknowledged == 0);
  CHECK(MPIX_Comm_ack_failed(MPI_COMM_WORLD, 4, &acknowledged) == MPI_SUCCESS && acknowledged == 1);
  MPIX_Comm_failure_get_acked(MPI_COMM_WORLD, &group);
  CHECK(members(group, 2) == 1);
  CHECK(MPI_Test(&request, &flag, MPI_STATUS_IGNORE) == MPI_SUCCESS);
  /* Nobody sends before all have come here. */
  messages_with_the_living();
  messages_with_the_living();
  int to = rank == 0 ? 1 : rank == 1 ? 3 : 0;
  CHECK(MPI_Send(&rank, 1, MPI_INT, to, 7, MPI_COMM_WORLD) == MPI_SUCCESS);
  if (!flag) CHECK(MPI_Wait(&request, MPI_STATUS_IGNORE) == MPI_SUCCESS);
  CHECK(value == (rank == 0 ? 3 : rank == 1 ? 0 : 1));
  CHECK(MPI_Irecv(&value, 1, MPI_INT, MPI_ANY_SOURCE, 8, MPI_COMM_WORLD, &request) == MPI_SUCCESS);
  CHECK(MPI_Cancel(&request) == MPI_SUCCESS);
  CHECK(MPI_Wait(&request, MPI_STATUS_IGNORE) == MPI_SUCCESS);
}

static void agreement(int acknowledged) {
  int flag = rank == 3 ? 6 : 7;
  int code = MPIX_Comm_agree(MPI_COMM_WORLD, &flag);
  CHECK(class_of(code) == (acknowledged ? MPI_SUCCESS : MPIX_ERR_PROC_FAILED));
  CHECK(flag == 6);
}

static void revoking(MPI_Comm comm) {
  int value = 0, revoked = 0, own, size;
  MPI_Comm made;
  MPI_Request requests[4];
  MPI_Comm_rank(comm, &own);
  MPI_Comm_size(comm, &size);
  CHECK(MPI_Irecv(&value, 1, MPI_INT, (own + 1) % size, 1, comm, &requests[0]) == MPI_SUCCESS);
  CHECK(MPI_Isend(large, 100000, MPI_INT, (own + 1) % size, 2, comm, &requests[1]) == MPI_SUCCESS);
  CHECK(MPI_Issend(&own, 1, MPI_INT, (own + 1) % size, 3, comm, &requests[2]) == MPI_SUCCESS);
  CHECK(MPI_Issend(large, 100000, MPI_INT, (own + 1) % size, 4, comm, &requests[3]) == MPI_SUCCESS);
  if (own == 1) MPIX_Comm_revoke(comm);
  /* Nobody receives them. */
  CHECK(class_of(MPI_Wait(&requests[2], MPI_STATUS_IGNORE)) == MPIX_ERR_REVOKED);
  CHECK(class_of(MPI_Wait(&requests[3], MPI_STATUS_IGNORE)) == MPIX_ERR_REVOKED);
  CHECK(class_of(MPI_Wait(&requests[0], MPI_STATUS_IGNORE)) == MPIX_ERR_REVOKED);
  /* That a send is over says only that its buffer is free. */
  int sent = class_of(MPI_Wait(&requests[1], MPI_STATUS_IGNORE));
  CHECK(sent == MPIX_ERR_REVOKED || sent == MPI_SUCCESS);
  MPIX_Comm_is_revoked(comm, &revoked);
  CHECK(revoked);
  CHECK(class_of(MPI_Send(&value, 1, MPI_INT, 0, 0, comm)) == MPIX_ERR_REVOKED);
  CHECK(class_of(MPI_Recv(&value, 1, MPI_INT, MPI_ANY_SOURCE, 0, comm, MPI_STATUS_IGNORE)) ==
        MPIX_ERR_REVOKED);
  CHECK(class_of(MPI_Bcast(&value, 1, MPI_INT, 0, comm)) == MPIX_ERR_REVOKED);
  CHECK(class_of(MPI_Comm_dup(comm, &made)) == MPIX_ERR_REVOKED);
  CHECK(MPIX_Comm_agree(comm, &value) == MPI_SUCCESS);
  CHECK(MPIX_Comm_shrink(comm, &made) == MPI_SUCCESS);
  CHECK(MPI_Allreduce(&own, &value, 1, MPI_INT, MPI_SUM, made) == MPI_SUCCESS);
  CHECK(value == size * (size - 1) / 2);
  CHECK(MPI_Comm_free(&made) == MPI_SUCCESS);
}

int main(int argc, char** argv) {
  MPI_Comm living, other;
  int size, own;
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  if (argc > 1 && rank != 2) { /* nothing is handled */
    MPI_Barrier(MPI_COMM_WORLD);
    MPI_Barrier(MPI_COMM_WORLD);
    MPI_Finalize();
    return 0;
  }
  MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
  MPI_Barrier(MPI_COMM_WORLD);
  if (rank == 2) raise(SIGKILL);
  await_failure();
  messages_with_the_failed();
  messages_with_the_living();
  agreement(0);
  any_source();
  agreement(1);
  CHECK(MPIX_Comm_shrink(MPI_COMM_WORLD, &living) == MPI_SUCCESS);
  MPI_Comm_size(living, &size);
  MPI_Comm_rank(living, &own);
  CHECK(size == 3 && own == (rank == 3 ? 2 : rank));
  CHECK(MPI_Barrier(living) == MPI_SUCCESS);
  MPI_Comm_dup(living, &other);
  revoking(other);
  CHECK(MPI_Comm_free(&other) == MPI_SUCCESS);
  CHECK(MPI_Barrier(living) == MPI_SUCCESS);
  CHECK(MPI_Comm_free(&living) == MPI_SUCCESS);
  if (rank == 0) printf("all calls are as they should be\n");
  MPI_Finalize();
  return 0;
}
