/* Large messages within a node to a rank that computes: rank 1 posts a receive and calls no function of MPI
 * until rank 0's send is over, so this ends only if rank 0 brings the message there itself. */
#include <mpi.h>
#include <sched.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { longest = 300000, rounds = 40 };

static int rank, round_number;
static int32_t* over; /* in memory of both: rounds that rank 0 is through with */
static int32_t data[longest], got[longest];
static MPI_Comm world;

static void check(int good, const char* what) {
  if (good) return;
  fprintf(stderr, "rank %d, round %d: %s\n", rank, round_number, what);
  MPI_Abort(world, 3);
}

static int32_t value(int i) { return round_number * 1000003 + i; }

static int words_of_round(void) { return 40000 + round_number * 6500; }

/* Which call posts the receive, or none: with MPI_ANY_TAG every second round. */
enum way { nonblocking, persistent, with_a_send, ways };

static void compute(void) {
  const double end = MPI_Wtime() + 60;
  while (__atomic_load_n(over, __ATOMIC_ACQUIRE) <= round_number) {
    sched_yield();
    check(MPI_Wtime() < end, "the send is not over after 60 s");
  }
}

static void receive(enum way way) {
  MPI_Request request;
  MPI_Status status;
  const int tag = round_number % 2 == 0 ? MPI_ANY_TAG : 7;
  int word = round_number, count;
  memset(got, 0, sizeof got);
  if (way == nonblocking) {
    MPI_Irecv(got, longest, MPI_INT32_T, 0, tag, world, &request);
  } else if (way == persistent) {
    MPI_Recv_init(got, longest, MPI_INT32_T, 0, tag, world, &request);
    MPI_Start(&request);
  } else {
    MPI_Isendrecv(&word, 1, MPI_INT, 0, 1, got, longest, MPI_INT32_T, 0, tag, world, &request);
  }
  compute();
  MPI_Wait(&request, &status);
  if (way == persistent) MPI_Request_free(&request);
  MPI_Get_count(&status, MPI_INT32_T, &count);
  check(status.MPI_SOURCE == 0 && status.MPI_TAG == 7 && count == words_of_round(), "another message came");
  for (int i = 0; i < longest; ++i)
    check(got[i] == (i < count ? value(i) : 0), "the message came otherwise than it was sent");
}

static void send(enum way way) {
  for (int i = 0; i < longest; ++i) data[i] = value(i);
  MPI_Send(data, words_of_round(), MPI_INT32_T, 1, 7, world);
  __atomic_store_n(over, round_number + 1, __ATOMIC_RELEASE);
  int word = -1;
  if (way == with_a_send) MPI_Recv(&word, 1, MPI_INT, 1, 1, world, MPI_STATUS_IGNORE);
  check(way != with_a_send || word == round_number, "the other message came otherwise than it was sent");
}

int main(int argc, char** argv) {
  MPI_Win window;
  MPI_Aint size;
  int unit;
  MPI_Init(&argc, &argv);
  MPI_Comm_dup(MPI_COMM_WORLD, &world);
  MPI_Comm_rank(world, &rank);
  MPI_Win_allocate_shared(rank == 0 ? sizeof(int32_t) : 0, sizeof(int32_t), MPI_INFO_NULL, world, &over,
                          &window);
  MPI_Win_shared_query(window, 0, &size, &unit, &over);
  if (rank == 0) *over = 0;
  MPI_Barrier(world);
  for (round_number = 0; round_number < rounds; ++round_number) {
    const enum way way = (enum way)(round_number % ways);
    if (rank == 0)
      send(way);
    else
      receive(way);
    MPI_Barrier(world);
  }
  MPI_Win_free(&window);
  MPI_Comm_free(&world);
  if (rank == 0) puts("all right");
  MPI_Finalize();
  return 0;
}
