// Bandwidth over time: messages of 1 MiB without end from rank 0 to rank 1, or both ways at once, each of
// which is compared word by word.
//
//   flow one|both SECONDS BIN_MS
//
// Rank 0 prints for each bin its begin in ms and the MB/s that arrived, of both ways together, and then the
// longest time without an arrival at one rank ("gap MS"). Times are of MPI_Wtime, which begins with the job.
#include <inttypes.h>
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { words = (1 << 20) / 8, window = 16, most_bins = 4096 };

static uint64_t *out, *in;
static MPI_Request sends[window], receives[window];
static double before, longest, bin_seconds, bins[most_bins];
static uint64_t sent, received;
static int rank, other, ended;

static void fill(uint64_t* message, uint64_t number) {
  for (uint64_t i = 0; i < words; ++i) message[i] = number * words + i;
}

static void compare(const uint64_t* message, uint64_t number) {
  for (uint64_t i = 0; i < words; ++i)
    if (message[i] != number * words + i) {
      fprintf(stderr, "flow: message %" PRIu64 " is wrong at word %" PRIu64 "\n", number, i);
      MPI_Abort(MPI_COMM_WORLD, 3);
    }
}

// Bytes came evenly since the message before.
static void note_arrival(void) {
  const double now = MPI_Wtime(), took = now - before;
  if (took > longest) longest = took;
  for (double at = before; at < now;) {
    const int bin = (int)(at / bin_seconds + 1e-9);
    const double end = (bin + 1) * bin_seconds < now ? (bin + 1) * bin_seconds : now;
    if (bin < most_bins && took > 0) bins[bin] += 8.0 * words * (end - at) / took;
    at = end > at ? end : now;
  }
  before = now;
}

static void post_receive(int w) {
  MPI_Irecv(in + (size_t)w * words, words, MPI_UINT64_T, other, 1, MPI_COMM_WORLD, &receives[w]);
}

static void post_send(int w, int count) {
  if (count > 0) fill(out + (size_t)w * words, sent++);
  MPI_Isend(out + (size_t)w * words, count, MPI_UINT64_T, other, 1, MPI_COMM_WORLD, &sends[w]);
}

// A message without data says that there are no more.
static void took_message(int w, const MPI_Status* status) {
  int count = 0;
  MPI_Get_count(status, MPI_UINT64_T, &count);
  if (count == 0) {
    ended = 1;
    return;
  }
  compare(in + (size_t)w * words, received++);
  note_arrival();
  post_receive(w);
}

static void exchange(double seconds, int sending, int receiving) {
  int next_send = 0, next_receive = 0, open = sending;
  for (int w = 0; w < window; ++w) receives[w] = sends[w] = MPI_REQUEST_NULL;
  before = MPI_Wtime();
  for (int w = 0; w < window && receiving; ++w) post_receive(w);
  for (int w = 0; w < window && sending; ++w) post_send(w, words);
  ended = !receiving;
  while (open || !ended) {
    MPI_Request both[2] = {open ? sends[next_send] : MPI_REQUEST_NULL,
                           ended ? MPI_REQUEST_NULL : receives[next_receive]};
    MPI_Status status;
    int which;
    MPI_Waitany(2, both, &which, &status);
    if (which == 0) {
      sends[next_send] = MPI_REQUEST_NULL;
      open = MPI_Wtime() < seconds;
      post_send(next_send, open ? words : 0);
      next_send = (next_send + 1) % window;
    } else {
      receives[next_receive] = MPI_REQUEST_NULL;
      took_message(next_receive, &status);
      next_receive = (next_receive + 1) % window;
    }
  }
  MPI_Waitall(window, sends, MPI_STATUSES_IGNORE);
  // What was posted behind the last message.
  for (int w = 0; w < window; ++w)
    if (receives[w] != MPI_REQUEST_NULL) MPI_Cancel(&receives[w]);
  MPI_Waitall(window, receives, MPI_STATUSES_IGNORE);
}

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  if (argc != 4) {
    if (rank == 0) fprintf(stderr, "usage: flow one|both SECONDS BIN_MS\n");
    MPI_Abort(MPI_COMM_WORLD, 2);
  }
  const int both = strcmp(argv[1], "both") == 0;
  const double seconds = atof(argv[2]);
  bin_seconds = atof(argv[3]) / 1e3;
  other = 1 - rank;
  out = calloc((size_t)window * words, 8);
  in = calloc((size_t)window * words, 8);
  exchange(seconds, both || rank == 0, both || rank == 1);
  double all[most_bins], most;
  MPI_Reduce(bins, all, most_bins, MPI_DOUBLE, MPI_SUM, 0, MPI_COMM_WORLD);
  MPI_Reduce(&longest, &most, 1, MPI_DOUBLE, MPI_MAX, 0, MPI_COMM_WORLD);
  for (int b = 0; rank == 0 && b < (int)(seconds / bin_seconds); ++b)
    printf("%g %.2f\n", 1e3 * b * bin_seconds, all[b] / bin_seconds / 1e6);
  if (rank == 0) printf("gap %.3f\n", most * 1e3);
  free(out);
  free(in);
  MPI_Finalize();
  return 0;
}
