/* A stream of messages from rank 0 to rank 1 until rank 0's input ends. Rank 1 then prints, with times of the
   machine's monotonic clock in nanoseconds,
     gap FROM TO     between two arrivals that were further apart than the given time
     bin START BYTES what arrived in every 100 ms
     messages N
   "put": rank 0 puts into rank 1's memory instead, and flushes behind each WINDOW of puts. Then the end of a
   flush is an arrival, and rank 0 prints.
   usage: stream [BYTES [WINDOW [GAP_US [put]]]] */
#include <mpi.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

enum { most_bins = 72000, most_gaps = 200000, most_window = 256, tag = 3 };
static const long long bin_width = 100 * 1000 * 1000;

struct seen {
  long long start, before, (*gaps)[2], threshold;
  long gap_count, messages;
  long long* bins;
};

static long long now(void) {
  struct timespec t;
  clock_gettime(CLOCK_MONOTONIC, &t);
  return t.tv_sec * 1000000000LL + t.tv_nsec;
}

static void note_arrival(struct seen* seen, long long bytes) {
  const long long at = now();
  if (seen->messages++ == 0) seen->start = seen->before = at;
  if (at - seen->before > seen->threshold && seen->gap_count < most_gaps) {
    seen->gaps[seen->gap_count][0] = seen->before;
    seen->gaps[seen->gap_count++][1] = at;
  }
  const long long bin = (at - seen->start) / bin_width;
  if (bin < most_bins) seen->bins[bin] += bytes;
  seen->before = at;
}

static int input_ended(void) {
  struct pollfd input = {0, POLLIN, 0};
  char line[64];
  return poll(&input, 1, 0) > 0 && read(0, line, sizeof line) <= 0;
}

static void send_stream(char* buffers, int bytes, int window) {
  MPI_Request requests[most_window];
  for (int w = 0; w < window; ++w) requests[w] = MPI_REQUEST_NULL;
  long long number = 0;
  do {
    for (int w = 0; w < window; ++w, ++number) {
      MPI_Wait(&requests[w], MPI_STATUS_IGNORE);
      memcpy(buffers + (size_t)w * (size_t)bytes, &number, sizeof number);
      MPI_Isend(buffers + (size_t)w * (size_t)bytes, bytes, MPI_BYTE, 1, tag, MPI_COMM_WORLD, &requests[w]);
    }
  } while (!input_ended());
  MPI_Waitall(window, requests, MPI_STATUSES_IGNORE);
  for (int w = 0; w < window; ++w) MPI_Send(NULL, 0, MPI_BYTE, 1, tag, MPI_COMM_WORLD);
}

static void receive_stream(struct seen* seen, char* buffers, int bytes, int window) {
  MPI_Request requests[most_window];
  for (int w = 0; w < window; ++w)
    MPI_Irecv(buffers + (size_t)w * (size_t)bytes, bytes, MPI_BYTE, 0, tag, MPI_COMM_WORLD, &requests[w]);
  int ended = 0;
  for (long long next = 0; ended < window; ++next) {
    const int w = (int)(next % window);
    char* const buffer = buffers + (size_t)w * (size_t)bytes;
    MPI_Status status;
    int count;
    MPI_Wait(&requests[w], &status);
    MPI_Get_count(&status, MPI_BYTE, &count);
    if (count == 0) {
      ++ended;
      continue;
    }
    long long number;
    memcpy(&number, buffer, sizeof number);
    if (count != bytes || number != next) {
      fprintf(stderr, "stream: message %lld came with %d bytes as number %lld\n", next, count, number);
      MPI_Abort(MPI_COMM_WORLD, 3);
    }
    note_arrival(seen, bytes);
    MPI_Irecv(buffer, bytes, MPI_BYTE, 0, tag, MPI_COMM_WORLD, &requests[w]);
  }
}

/* Rank 1 waits until all is there, and looks at the numbers. */
static void put_stream(struct seen* seen, int rank, char* buffers, int bytes, int window) {
  MPI_Win memory;
  MPI_Win_create(buffers, (MPI_Aint)window * bytes, 1, MPI_INFO_NULL, MPI_COMM_WORLD, &memory);
  long long number = 0;
  if (rank == 0) {
    MPI_Win_lock_all(0, memory);
    do {
      for (int w = 0; w < window; ++w, ++number) {
        char* const buffer = buffers + (size_t)w * (size_t)bytes;
        memcpy(buffer, &number, sizeof number);
        MPI_Put(buffer, bytes, MPI_BYTE, 1, (MPI_Aint)w * bytes, bytes, MPI_BYTE, memory);
      }
      MPI_Win_flush(1, memory);
      note_arrival(seen, (long long)window * bytes);
    } while (!input_ended());
    MPI_Win_unlock_all(memory);
  }
  MPI_Bcast(&number, 1, MPI_LONG_LONG, 0, MPI_COMM_WORLD);
  for (int w = 0; rank == 1 && w < window; ++w) {
    long long found;
    memcpy(&found, buffers + (size_t)w * (size_t)bytes, sizeof found);
    if (found == number - window + w) continue;
    fprintf(stderr, "stream: put %lld is in place of %lld\n", found, number - window + w);
    MPI_Abort(MPI_COMM_WORLD, 3);
  }
  MPI_Win_free(&memory);
}

static void print(const struct seen* seen) {
  for (long i = 0; i < seen->gap_count; ++i) printf("gap %lld %lld\n", seen->gaps[i][0], seen->gaps[i][1]);
  const long long bins = seen->messages > 0 ? (seen->before - seen->start) / bin_width : 0;
  for (long long i = 0; i < bins && i < most_bins; ++i)
    printf("bin %lld %lld\n", seen->start + i * bin_width, seen->bins[i]);
  printf("messages %ld\n", seen->messages);
}

int main(int argc, char** argv) {
  const int bytes = argc > 1 ? atoi(argv[1]) : 65536, window = argc > 2 ? atoi(argv[2]) : 16;
  if (bytes < 8 || window < 1 || window > most_window) {
    fprintf(stderr, "stream: needs at least 8 bytes, and a window of 1 to %d\n", most_window);
    return 2;
  }
  MPI_Init(&argc, &argv);
  int rank;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  char* buffers = calloc((size_t)window, (size_t)bytes);
  struct seen seen = {.threshold = (argc > 3 ? atoll(argv[3]) : 1000) * 1000};
  seen.gaps = calloc(most_gaps, sizeof *seen.gaps);
  seen.bins = calloc(most_bins, sizeof *seen.bins);
  if (rank == 0) printf("running\n"), fflush(stdout);
  const int puts = argc > 4 && strcmp(argv[4], "put") == 0;
  if (puts)
    put_stream(&seen, rank, buffers, bytes, window);
  else if (rank == 0)
    send_stream(buffers, bytes, window);
  else
    receive_stream(&seen, buffers, bytes, window);
  if (rank == (puts ? 0 : 1)) print(&seen);
  MPI_Finalize();
  free(buffers);
  free(seen.gaps);
  free(seen.bins);
  return 0;
}
