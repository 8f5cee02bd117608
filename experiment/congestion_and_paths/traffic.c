// Rounds of communication, as plain MPI, with the time of the average rank and of the slowest one.
//
//   traffic PATTERN[:NUMBER] BYTES [ROUNDS [WARM-UP ROUNDS]]
//
// PATTERN:
//   ring:D      every process sends to the one D ranks on, and receives from the one D ranks back
//   random:S    every process sends to the one that a random permutation with seed S names
//   alltoall    MPI_Alltoall, BYTES for each pair
//   incast:W    processes of several leaves of 12 hosts crowd process 0 with messages of 1 MiB, W from each
//   under
//               way (0: there is no crowd), while pairs of bystanders, which share switches with the crowd
//               but not adapters, send messages of BYTES
// Each round of the first three begins with a barrier, which is not counted. Process 0 prints the time of a
// round in microseconds: the mean of all processes, and the mean over rounds of the slowest one. With incast
// it prints that of a bystander's message, mean and slowest pair, and the MB/s that reach process 0.
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "../auto_against_all/permutation.h"

enum {
  leaf = 12,
  crowd_bytes = 1 << 20,
  most_under_way = 4,
  tag_data = 1,
  tag_stop = 2,
  tag_done = 3,
  tag_pair = 4
};

static int rank, size, argument, rounds = 20, warm_up = 5;
static int bytes;
static char *out, *in;

static void die(const char* why) {
  fprintf(stderr, "traffic: rank %d: %s\n", rank, why);
  MPI_Abort(MPI_COMM_WORLD, 2);
}

static char content(int from, int to, int at) { return (char)(from * 31 + to * 17 + at % 251); }

static void fill(char* data, int to) {
  for (int i = 0; i < bytes; ++i) data[i] = content(rank, to, i);
}

static void check(const char* data, int from) {
  for (int i = 0; i < bytes; ++i)
    if (data[i] != content(from, rank, i)) die("wrong bytes have arrived");
}

// Whom this process sends to, and from whom it receives.
static void partners(const char* pattern, int* to, int* from) {
  if (strcmp(pattern, "ring") == 0) {
    *to = (rank + argument) % size;
    *from = (rank - argument % size + size) % size;
    return;
  }
  int* all = malloc((size_t)size * sizeof(int));
  permute(all, size, argument);
  *to = all[rank];
  for (*from = 0; all[*from] != rank;) ++*from;
  free(all);
}

static void exchange(int to, int from) {
  MPI_Request requests[2];
  MPI_Irecv(in, bytes, MPI_BYTE, from, 0, MPI_COMM_WORLD, &requests[0]);
  MPI_Isend(out, bytes, MPI_BYTE, to, 0, MPI_COMM_WORLD, &requests[1]);
  MPI_Waitall(2, requests, MPI_STATUSES_IGNORE);
}

static void run_rounds(const char* pattern) {
  const int all = strcmp(pattern, "alltoall") == 0;
  const size_t parts = all ? (size_t)size : 1;
  out = malloc(parts * bytes);
  in = malloc(parts * bytes);
  double* times = malloc((size_t)rounds * sizeof(double));
  double* slowest = malloc((size_t)rounds * sizeof(double));
  int to = 0, from = 0;
  if (!all) partners(pattern, &to, &from);
  for (size_t i = 0; i < parts; ++i) fill(out + i * bytes, all ? (int)i : to);
  for (int round = -warm_up; round < rounds; ++round) {
    MPI_Barrier(MPI_COMM_WORLD);
    const double begin = MPI_Wtime();
    if (all)
      MPI_Alltoall(out, bytes, MPI_BYTE, in, bytes, MPI_BYTE, MPI_COMM_WORLD);
    else
      exchange(to, from);
    if (round >= 0) times[round] = (MPI_Wtime() - begin) * 1e6;
  }
  for (size_t i = 0; i < parts; ++i) check(in + i * bytes, all ? (int)i : from);
  double mine = 0, sum = 0, worst = 0;
  for (int i = 0; i < rounds; ++i) mine += times[i] / rounds;
  MPI_Reduce(&mine, &sum, 1, MPI_DOUBLE, MPI_SUM, 0, MPI_COMM_WORLD);
  MPI_Reduce(times, slowest, rounds, MPI_DOUBLE, MPI_MAX, 0, MPI_COMM_WORLD);
  if (rank == 0) {
    for (int i = 0; i < rounds; ++i) worst += slowest[i] / rounds;
    printf("%.1f %.1f\n", sum / size, worst);
  }
  free(times);
  free(slowest);
}

// Of each leaf but the first: 0 to 2 receive from the leaf before, 3 to 7 crowd process 0, 8 sends to the
// first leaf, 9 to 11 to the next leaf.
static int crowds(int who) { return argument > 0 && who >= leaf && who % leaf >= 3 && who % leaf < 8; }
static int target_of(int who) {  // -1: is no bystander that sends
  const int at = who / leaf, index = who % leaf, last = size / leaf - 1;
  if (at == 0 || index < 8) return -1;
  return index == 8 ? at : (at % last + 1) * leaf + index - 9;
}

static void crowd_process_0(void) {
  char* data = calloc(1, crowd_bytes);
  MPI_Request requests[most_under_way + 1];
  MPI_Irecv(NULL, 0, MPI_BYTE, 0, tag_stop, MPI_COMM_WORLD, &requests[argument]);
  for (int i = 0; i < argument; ++i)
    MPI_Isend(data, crowd_bytes, MPI_BYTE, 0, tag_data, MPI_COMM_WORLD, &requests[i]);
  for (;;) {
    int which = 0;
    MPI_Waitany(argument + 1, requests, &which, MPI_STATUS_IGNORE);
    if (which == argument) break;
    MPI_Isend(data, crowd_bytes, MPI_BYTE, 0, tag_data, MPI_COMM_WORLD, &requests[which]);
  }
  MPI_Waitall(argument, requests, MPI_STATUSES_IGNORE);
  for (int i = 0; i < argument; ++i)  // answers the receives that process 0 has posted: there is no more
    MPI_Send(NULL, 0, MPI_BYTE, 0, tag_data, MPI_COMM_WORLD);
  free(data);
}

// Receives from the crowd until all bystanders are done, and then what is left. Returns MB/s.
static double be_crowded(int bystanders) {
  int senders = 0;
  for (int i = 0; i < size; ++i) senders += crowds(i);
  const int most = senders * argument;
  MPI_Request* requests = malloc((size_t)(most + bystanders) * sizeof(MPI_Request));
  int* sender = malloc((size_t)(most + 1) * sizeof(int));
  char* data = malloc((size_t)(most + 1) * crowd_bytes);
  for (int who = 0, i = 0; who < size; ++who)
    for (int j = 0; crowds(who) && j < argument; ++j, ++i) {
      sender[i] = who;
      MPI_Irecv(data + (size_t)i * crowd_bytes, crowd_bytes, MPI_BYTE, who, tag_data, MPI_COMM_WORLD,
                &requests[i]);
    }
  for (int i = 0; i < bystanders; ++i)
    MPI_Irecv(NULL, 0, MPI_BYTE, MPI_ANY_SOURCE, tag_done, MPI_COMM_WORLD, &requests[most + i]);
  const double begin = MPI_Wtime();
  double received = 0, end = begin;
  int busy = bystanders;
  for (;;) {
    int which = 0, count = 0;
    MPI_Status status;
    MPI_Waitany(most + bystanders, requests, &which, &status);
    if (which == MPI_UNDEFINED) break;
    if (which >= most) {
      if (--busy > 0) continue;
      end = MPI_Wtime();
      for (int who = 0; who < size; ++who)
        if (crowds(who)) MPI_Send(NULL, 0, MPI_BYTE, who, tag_stop, MPI_COMM_WORLD);
      continue;
    }
    MPI_Get_count(&status, MPI_BYTE, &count);
    if (count == 0) continue;
    if (busy > 0) received += count;
    MPI_Irecv(data + (size_t)which * crowd_bytes, crowd_bytes, MPI_BYTE, sender[which], tag_data,
              MPI_COMM_WORLD, &requests[which]);
  }
  free(requests);
  free(sender);
  free(data);
  return received / (end - begin) / 1e6;
}

// Messages one after the other, each answered when it is there. Returns the time of one, at the receiver.
static double stand_by(int to, int from) {
  out = malloc(bytes);
  in = malloc(bytes);
  if (to >= 0) fill(out, to);
  double begin = 0;
  for (int round = -warm_up; round < rounds; ++round) {
    if (to >= 0) {
      MPI_Send(out, bytes, MPI_BYTE, to, tag_pair, MPI_COMM_WORLD);
      MPI_Recv(NULL, 0, MPI_BYTE, to, tag_pair, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
      continue;
    }
    if (round == 0) begin = MPI_Wtime();
    MPI_Recv(in, bytes, MPI_BYTE, from, tag_pair, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    MPI_Send(NULL, 0, MPI_BYTE, from, tag_pair, MPI_COMM_WORLD);
  }
  if (to >= 0) return 0;
  const double time = (MPI_Wtime() - begin) / rounds * 1e6;
  check(in, from);
  MPI_Send(NULL, 0, MPI_BYTE, 0, tag_done, MPI_COMM_WORLD);
  return time;
}

static void run_incast(void) {
  if (size % leaf != 0 || size < 3 * leaf || argument > most_under_way)
    die("incast is for 36, 48, ... processes");
  int bystanders = 0, from = -1;
  for (int who = 0; who < size; ++who) {
    const int to = target_of(who);
    bystanders += to >= 0;
    if (to == rank) from = who;
  }
  const int to = target_of(rank);
  double mine = 0, sum = 0, worst = 0, reached = 0;
  MPI_Barrier(MPI_COMM_WORLD);
  if (rank == 0)
    reached = be_crowded(bystanders);
  else if (crowds(rank))
    crowd_process_0();
  else if (to >= 0 || from >= 0)
    mine = stand_by(to, from);
  MPI_Reduce(&mine, &sum, 1, MPI_DOUBLE, MPI_SUM, 0, MPI_COMM_WORLD);
  MPI_Reduce(&mine, &worst, 1, MPI_DOUBLE, MPI_MAX, 0, MPI_COMM_WORLD);
  if (rank == 0) printf("%.1f %.1f %.1f\n", sum / bystanders, worst, reached);
}

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  if (argc < 3) die("usage: traffic PATTERN[:NUMBER] BYTES [ROUNDS [WARM-UP ROUNDS]]");
  char pattern[64];
  snprintf(pattern, sizeof(pattern), "%s", argv[1]);
  char* colon = strchr(pattern, ':');
  argument = colon != NULL ? atoi(colon + 1) : 0;
  if (colon != NULL) *colon = 0;
  bytes = atoi(argv[2]);
  if (argc > 3) rounds = atoi(argv[3]);
  if (argc > 4) warm_up = atoi(argv[4]);
  if (strcmp(pattern, "incast") == 0)
    run_incast();
  else if (strcmp(pattern, "ring") == 0 || strcmp(pattern, "random") == 0 || strcmp(pattern, "alltoall") == 0)
    run_rounds(pattern);
  else
    die("no such pattern");
  free(out);
  free(in);
  MPI_Finalize();
  return 0;
}
