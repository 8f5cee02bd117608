/* Sends far more than receivers ask for, and receives it later.  usage: unexpected COUNT BYTES [limited]
 *
 * Rank 0 receives from all others, and from itself. Message i is the words i, i+1, ... of one array, so that
 * senders need no memory for each. "limited": rank 0 may map little more than it has, so that memory ends. */
#include <mpi.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>

enum { flood_tag = 5, token_tag = 6, more_tag = 7, count_tag = 8 };

static int rank, size, count, words;
static int64_t* data;

static void check(int good, const char* what, int number) {
  if (good) return;
  fprintf(stderr, "rank %d: %s (message %d)\n", rank, what, number);
  MPI_Abort(MPI_COMM_WORLD, 3);
}

static long status_kb(const char* field) {
  char line[256];
  long kb = 0;
  FILE* status = fopen("/proc/self/status", "r");
  while (fgets(line, sizeof line, status) != NULL)
    if (strncmp(line, field, strlen(field)) == 0) kb = atol(line + strlen(field) + 1);
  fclose(status);
  return kb;
}

/* Receives one of the messages that are left of sources first to last, in every way there is; i says which.
 * next holds the number that is to come from each source. */
static void receive(int64_t* into, int i, int first, int last, int* next) {
  MPI_Status status;
  MPI_Message message;
  MPI_Request request;
  int source = first;
  while (next[source] == count) ++source;
  switch (i % 6) {
    case 0:
      MPI_Recv(into, words, MPI_INT64_T, source, flood_tag, MPI_COMM_WORLD, &status);
      break;
    case 1:
      MPI_Mprobe(MPI_ANY_SOURCE, flood_tag, MPI_COMM_WORLD, &message, &status);
      MPI_Mrecv(into, words, MPI_INT64_T, &message, &status);
      break;
    case 2:
      MPI_Irecv(into, words, MPI_INT64_T, source, flood_tag, MPI_COMM_WORLD, &request);
      MPI_Wait(&request, &status);
      break;
    case 3:
      MPI_Probe(MPI_ANY_SOURCE, flood_tag, MPI_COMM_WORLD, &status);
      MPI_Recv(into, words, MPI_INT64_T, status.MPI_SOURCE, status.MPI_TAG, MPI_COMM_WORLD, &status);
      break;
    case 4:
      MPI_Recv(into, words, MPI_INT64_T, MPI_ANY_SOURCE, flood_tag, MPI_COMM_WORLD, &status);
      break;
    default:
      MPI_Irecv(into, words, MPI_INT64_T, MPI_ANY_SOURCE, flood_tag, MPI_COMM_WORLD, &request);
      for (int done = 0; !done;) MPI_Test(&request, &done, &status);
  }
  source = status.MPI_SOURCE;
  check(first <= source && source <= last, "came from another rank", i);
  const int number = next[source]++;
  for (int w = 0; w < words; ++w) check(into[w] == number + w, "out of order, or other data", number);
}

static MPI_Request begin(int i, int to) {
  MPI_Request request;
  const int64_t* from = data + i;
  if (i % 11 == 3)
    MPI_Issend(from, words, MPI_INT64_T, to, flood_tag, MPI_COMM_WORLD, &request);
  else if (i % 997 == 5)
    MPI_Ibsend(from, words, MPI_INT64_T, to, flood_tag, MPI_COMM_WORLD, &request);
  else
    MPI_Isend(from, words, MPI_INT64_T, to, flood_tag, MPI_COMM_WORLD, &request);
  return request;
}

static void flood(MPI_Request* requests) {
  for (int i = 0; i < count; ++i) requests[i] = begin(i, 0);
  MPI_Request token;
  MPI_Isend(NULL, 0, MPI_BYTE, 0, token_tag, MPI_COMM_WORLD, &token);
  MPI_Waitall(count, requests, MPI_STATUSES_IGNORE);
  MPI_Wait(&token, MPI_STATUS_IGNORE);
}

/* The sender wants back what nobody has received; then it tells how many it did not get. */
static void cancel_some(MPI_Request* requests) {
  int kept = 0;
  for (int i = 0; i < count; ++i)
    MPI_Isend(data + i, words, MPI_INT64_T, 0, more_tag, MPI_COMM_WORLD, &requests[i]);
  for (int i = 0; i < count; ++i) MPI_Cancel(&requests[i]);
  for (int i = 0; i < count; ++i) {
    MPI_Status status;
    int cancelled;
    MPI_Wait(&requests[i], &status);
    MPI_Test_cancelled(&status, &cancelled);
    kept += !cancelled;
  }
  MPI_Send(&kept, 1, MPI_INT, 0, count_tag, MPI_COMM_WORLD);
}

static void receive_uncancelled(int64_t* into, int source) {
  int kept;
  int flag;
  MPI_Recv(&kept, 1, MPI_INT, source, count_tag, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
  for (int i = 0; i < kept; ++i)
    MPI_Recv(into, words, MPI_INT64_T, source, more_tag, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
  MPI_Iprobe(source, more_tag, MPI_COMM_WORLD, &flag, MPI_STATUS_IGNORE);
  check(!flag, "a cancelled message came", kept);
  printf("source %d kept %d of %d\n", source, kept, count);
}

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  count = atoi(argv[1]);
  words = atoi(argv[2]) / (int)sizeof(int64_t);
  data = malloc((size_t)(count + words) * sizeof *data);
  for (int i = 0; i < count + words; ++i) data[i] = i;
  MPI_Request* requests = malloc((size_t)count * sizeof *requests);
  const int buffer_bytes = (count / 997 + 2) * (words * (int)sizeof(int64_t) + MPI_BSEND_OVERHEAD);
  MPI_Buffer_attach(malloc((size_t)buffer_bytes), buffer_bytes);
  MPI_Barrier(MPI_COMM_WORLD);
  if (rank == 0) {
    int64_t* into = malloc((size_t)words * sizeof *into);
    const long before = status_kb("VmRSS");
    if (argc > 3) {
      const rlim_t limit = (rlim_t)(status_kb("VmSize") + 20 * 1024) * 1024;
      setrlimit(RLIMIT_AS, &(struct rlimit){limit, limit});
    }
    for (int source = 1; source < size; ++source)
      MPI_Recv(NULL, 0, MPI_BYTE, source, token_tag, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    printf("others %ld kB\n", status_kb("VmRSS") - before);
    int* next = calloc((size_t)size, sizeof *next);
    for (int i = 0; i < count * (size - 1); ++i) receive(into, i, 1, size - 1, next);
    for (int i = 0; i < count; ++i) requests[i] = begin(i, 0);
    printf("self %ld kB\n", status_kb("VmRSS") - before);
    for (int i = 0; i < count; ++i) receive(into, i, 0, 0, next);
    MPI_Waitall(count, requests, MPI_STATUSES_IGNORE);
    for (int source = 1; source < size; ++source) receive_uncancelled(into, source);
  } else {
    flood(requests);
    cancel_some(requests);
  }
  MPI_Barrier(MPI_COMM_WORLD);
  if (rank == 0) printf("all received\n");
  MPI_Finalize();
  return 0;
}
