/* Goes on without the ranks that are killed: survive SEED KILLS ROUNDS MICROSECONDS
 *
 * KILLS ranks, drawn by SEED, are killed at random times up to MICROSECONDS after the start, wherever they
 * are then. The others do ROUNDS rounds of messages and collective operations, and more
 * until all these are dead. After each they agree whether
 * all went well; if not, they shrink the communicator and do the round again. What is received is checked. */
#include <mpi.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/time.h>

enum { large = 200 * 1000, medium = 3000 };

static MPI_Comm comm;
static int rank, size, world_rank;
static unsigned char *out, *in;

static unsigned next(unsigned long long* state) {
  *state = *state * 6364136223846793005ull + 1442695040888963407ull;
  return (unsigned)(*state >> 33);
}

static void wrong(const char* what) {
  fprintf(stderr, "rank %d: %s is wrong\n", world_rank, what);
  MPI_Abort(MPI_COMM_WORLD, 3);
}

/* A call may only fail because of what happened. */
static int good(int code, const char* what) {
  int error_class;
  if (code == MPI_SUCCESS) return 1;
  MPI_Error_class(code, &error_class);
  if (error_class != MPIX_ERR_PROC_FAILED && error_class != MPIX_ERR_PROC_FAILED_PENDING &&
      error_class != MPIX_ERR_REVOKED && error_class != MPI_ERR_IN_STATUS) {
    char text[MPI_MAX_ERROR_STRING];
    int length;
    MPI_Error_string(code, text, &length);
    fprintf(stderr, "rank %d: %s failed with %s\n", world_rank, what, text);
    MPI_Abort(MPI_COMM_WORLD, 4);
  }
  return 0;
}

static void check_from(int source, int bytes, const char* what) {
  for (int i = 0; i < bytes; i += 97)
    if (in[i] != (unsigned char)(source + i)) wrong(what);
}

static int exchange(int bytes) {
  int to = (rank + 1) % size, from = (rank + size - 1) % size;
  MPI_Request requests[2];
  for (int i = 0; i < bytes; ++i) out[i] = (unsigned char)(rank + i);
  MPI_Irecv(in, bytes, MPI_BYTE, from, 1, comm, &requests[0]);
  MPI_Isend(out, bytes, MPI_BYTE, to, 1, comm, &requests[1]);
  if (!good(MPI_Waitall(2, requests, MPI_STATUSES_IGNORE), "the exchange")) {
    /* The buffers are needed again. */
    MPIX_Comm_revoke(comm);
    for (int i = 0; i < 2; ++i)
      while (requests[i] != MPI_REQUEST_NULL) MPI_Wait(&requests[i], MPI_STATUS_IGNORE);
    return 0;
  }
  check_from(from, bytes, "an exchanged message");
  return 1;
}

static int gather_by_any_source(void) {
  if (rank != 0) return good(MPI_Ssend(&rank, 1, MPI_INT, 0, 2, comm), "MPI_Ssend");
  long sum = 0;
  for (int i = 1; i < size; ++i) {
    int got = -1;
    MPI_Status status;
    if (!good(MPI_Recv(&got, 1, MPI_INT, MPI_ANY_SOURCE, 2, comm, &status), "MPI_Recv from any")) return 0;
    if (got != status.MPI_SOURCE) wrong("what came from any source");
    sum += got;
  }
  if (sum != (long)size * (size - 1) / 2) wrong("the sum of what came from any source");
  return 1;
}

static int reduce_all(int count) {
  int *ours = (int*)out, *sums = (int*)in;
  for (int i = 0; i < count; ++i) ours[i] = i + 1;
  if (!good(MPI_Allreduce(ours, sums, count, MPI_INT, MPI_SUM, comm), "MPI_Allreduce")) return 0;
  for (int i = 0; i < count; ++i)
    if (sums[i] != (i + 1) * size) {
      fprintf(stderr, "element %d of %d: %d instead of %d\n", i, count, sums[i], (i + 1) * size);
      wrong("MPI_Allreduce");
    }
  return 1;
}

/* Short blocks, a long one, and none. */
static int bytes_between(int from, int to) {
  if (to == (from + 1) % size) return large / 2;
  return (from + to) % 3 == 0 ? 0 : (from + 2 * to) % 5 == 0 ? medium : 5;
}

static int exchange_blocks(void) {
  int to[64], to_begin[64], from[64], from_begin[64], sent = 0, received = 0;
  for (int r = 0; r < size; ++r) {
    to_begin[r] = sent;
    from_begin[r] = received;
    sent += to[r] = bytes_between(rank, r);
    received += from[r] = bytes_between(r, rank);
    memset(out + to_begin[r], rank + 2 * r, (size_t)to[r]);
  }
  if (!good(MPI_Alltoallv(out, to, to_begin, MPI_BYTE, in, from, from_begin, MPI_BYTE, comm),
            "MPI_Alltoallv"))
    return 0;
  for (int r = 0; r < size; ++r)
    for (int i = 0; i < from[r]; ++i)
      if (in[from_begin[r] + i] != (unsigned char)(r + 2 * rank)) wrong("MPI_Alltoallv");
  return 1;
}

/* The first is under way while the second is awaited. */
static int in_background(void) {
  static int ours[medium], sums[medium];
  MPI_Request requests[2];
  int done = 0, well;
  for (int i = 0; i < medium; ++i) {
    in[i] = rank == size - 1 ? (unsigned char)(rank + i) : 0;
    ours[i] = i;
  }
  if (!good(MPI_Iallreduce(ours, sums, medium, MPI_INT, MPI_SUM, comm, &requests[0]), "MPI_Iallreduce"))
    return 0;
  if (!(well = good(MPI_Ibcast(in, medium, MPI_BYTE, size - 1, comm, &requests[1]), "MPI_Ibcast")))
    requests[1] = MPI_REQUEST_NULL;
  while (well && !done) well = good(MPI_Test(&requests[1], &done, MPI_STATUS_IGNORE), "MPI_Test");
  /* The buffers are needed again. */
  if (!well) MPIX_Comm_revoke(comm);
  for (int i = 0; i < 2; ++i)
    while (requests[i] != MPI_REQUEST_NULL)
      well = good(MPI_Wait(&requests[i], MPI_STATUS_IGNORE), "MPI_Wait") && well;
  if (!well) return 0;
  check_from(size - 1, medium, "MPI_Ibcast");
  for (int i = 0; i < medium; ++i)
    if (sums[i] != i * size) wrong("MPI_Iallreduce");
  return 1;
}

/* Each rank starts them in its own order. */
static int persistently(void) {
  static int ours[medium], sums[medium];
  MPI_Request requests[2];
  int well = good(MPI_Allreduce_init(ours, sums, medium, MPI_INT, MPI_SUM, comm, MPI_INFO_NULL, &requests[0]),
                  "MPI_Allreduce_init");
  if (!well) return 0;
  if (!good(MPI_Bcast_init(in, large, MPI_BYTE, size - 1, comm, MPI_INFO_NULL, &requests[1]),
            "MPI_Bcast_init")) {
    MPI_Request_free(&requests[0]);
    return 0;
  }
  for (int start = 0; start < 5 && well; ++start) {
    for (int i = 0; i < medium; ++i) ours[i] = i + start;
    for (int i = 0; i < large; ++i) in[i] = rank == size - 1 ? (unsigned char)(rank + i) : 0;
    for (int i = 0; i < 2; ++i) well = good(MPI_Start(&requests[(rank + i) % 2]), "MPI_Start") && well;
    for (int i = 0; i < 2; ++i) {
      if (!well) MPIX_Comm_revoke(comm);
      well = good(MPI_Wait(&requests[i], MPI_STATUS_IGNORE), "MPI_Wait") && well;
    }
    if (!well) break;
    check_from(size - 1, large, "a persistent broadcast");
    for (int i = 0; i < medium; ++i)
      if (sums[i] != (i + start) * size) wrong("a persistent allreduce");
  }
  for (int i = 0; i < 2; ++i) MPI_Request_free(&requests[i]);
  return well;
}

static int one_round(unsigned kind) {
  switch (kind % 10) {
    case 0:
      return exchange(8);
    case 1:
      return reduce_all(1);
    case 2:
      return exchange(large);
    case 3:
      return gather_by_any_source();
    case 4:
      return in_background();
    case 5:
      return exchange(medium);
    case 6:
      return reduce_all(large / 4);
    case 7:
      return exchange_blocks();
    case 8:
      return persistently();
    default:
      return good(MPI_Barrier(comm), "MPI_Barrier");
  }
}

static void repair(void) {
  MPI_Comm smaller;
  int old = size;
  MPIX_Comm_revoke(comm);
  if (!good(MPIX_Comm_shrink(comm, &smaller), "MPIX_Comm_shrink")) wrong("MPIX_Comm_shrink");
  if (comm != MPI_COMM_WORLD) MPI_Comm_free(&comm);
  comm = smaller;
  MPI_Comm_rank(comm, &rank);
  MPI_Comm_size(comm, &size);
  if (size > old) wrong("the size after MPIX_Comm_shrink");
}

static void die(int signal) {
  (void)signal;
  raise(SIGKILL);
}

static void arm(unsigned long long seed, int kills, unsigned longest) {
  unsigned long long state = seed * 2654435761u + 17;
  char doomed[1024] = {0};
  for (int i = 0; i < kills;) {
    int victim = (int)(next(&state) % (unsigned)size);
    unsigned when = 1 + next(&state) % longest;
    if (doomed[victim]) continue;
    doomed[victim] = 1;
    ++i;
    if (victim != rank) continue;
    struct itimerval timer = {{0, 0}, {when / 1000000, when % 1000000}};
    signal(SIGALRM, die);
    setitimer(ITIMER_REAL, &timer, NULL);
  }
}

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  unsigned long long seed = strtoull(argv[1], NULL, 10), state = seed;
  int kills = atoi(argv[2]), rounds = atoi(argv[3]);
  out = malloc(large);
  in = malloc(large);
  comm = MPI_COMM_WORLD;
  MPI_Comm_set_errhandler(comm, MPI_ERRORS_RETURN);
  MPI_Comm_rank(comm, &rank);
  MPI_Comm_size(comm, &size);
  world_rank = rank;
  MPI_Barrier(comm);
  arm(seed, kills, (unsigned)atoi(argv[4]));
  const int most_left = size - kills;
  for (int round = 0; round < rounds || size > most_left;) {
    int well = one_round(next(&state));
    if (!well) MPIX_Comm_revoke(comm);
    int code = MPIX_Comm_agree(comm, &well);
    if (good(code, "MPIX_Comm_agree") && well) {
      ++round;
      continue;
    }
    repair();
    state = seed + (unsigned)round; /* alike on all */
  }
  printf("%d ranks are left\n", size);
  MPI_Finalize();
  return 0;
}
