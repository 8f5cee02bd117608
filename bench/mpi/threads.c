/* Threads of MPI_THREAD_MULTIPLE, each with a communicator of its own. */
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>

#include "bench.h"

enum { tag_data = 1, tag_done = 2, most_threads = 64 };

enum kind { latency, probe, any, rate, self, allreduce, kinds };

static enum kind kind_of(const char* name) {
  static const char* const names[kinds] = {"threads_latency", "threads_probe", "threads_any",
                                           "threads_rate",    "threads_self",  "threads_allreduce"};
  return (enum kind)find_name(names, kinds, name);
}

int is_threads(const char* name) { return kind_of(name) < kinds; }

struct worker {
  struct bench* bench;
  MPI_Comm comm;
  pthread_barrier_t* together;
  int bytes;
  char* buffer;
  enum kind kind;
};

static void windows(struct worker* worker, int count, MPI_Request* requests) {
  const int window = worker->bench->options.window, lower = worker->bench->rank == 0;
  const int size = worker->bytes;
  char* bytes = worker->buffer;
  for (int i = 0; i < count; ++i) {
    for (int w = 0; w < window; ++w)
      if (lower)
        MPI_Isend(bytes, size, MPI_CHAR, 1, tag_data, worker->comm, &requests[w]);
      else
        MPI_Irecv(bytes, size, MPI_CHAR, 0, tag_data, worker->comm, &requests[w]);
    MPI_Waitall(window, requests, MPI_STATUSES_IGNORE);
    if (lower)
      MPI_Recv(bytes, 1, MPI_CHAR, 1, tag_done, worker->comm, MPI_STATUS_IGNORE);
    else
      MPI_Send(bytes, 1, MPI_CHAR, 0, tag_done, worker->comm);
  }
}

/* Takes one message in the way that is measured. */
static void take(struct worker* worker, MPI_Request* requests) {
  const int peer = 1 - worker->bench->rank;
  int which;
  if (worker->kind == any) {
    MPI_Waitany(2, requests, &which, MPI_STATUS_IGNORE);
    return;
  }
  if (worker->kind == probe) MPI_Probe(MPI_ANY_SOURCE, tag_data, worker->comm, MPI_STATUS_IGNORE);
  MPI_Recv(worker->buffer, worker->bytes, MPI_CHAR, peer, tag_data, worker->comm, MPI_STATUS_IGNORE);
}

static void ping_pongs(struct worker* worker, int count) {
  const int rank = worker->bench->rank;
  MPI_Request requests[2] = {MPI_REQUEST_NULL, MPI_REQUEST_NULL};
  for (int i = 0; i < count; ++i) {
    if (worker->kind == any)
      MPI_Irecv(worker->buffer, worker->bytes, MPI_CHAR, 1 - rank, tag_data, worker->comm, &requests[1]);
    if (rank == 0) MPI_Send(worker->buffer, worker->bytes, MPI_CHAR, 1, tag_data, worker->comm);
    take(worker, requests);
    if (rank == 1) MPI_Send(worker->buffer, worker->bytes, MPI_CHAR, 0, tag_data, worker->comm);
  }
}

static void allreduces(struct worker* worker, int count) {
  double mine = 1, sum;
  for (int i = 0; i < count; ++i) MPI_Allreduce(&mine, &sum, 1, MPI_DOUBLE, MPI_SUM, worker->comm);
}

/* Messages of a thread to itself: nothing but the library's own work and its locks. */
static void own_messages(struct worker* worker, int count) {
  char out[8] = {0}, in[8];
  MPI_Request request;
  int rank;
  MPI_Comm_rank(worker->comm, &rank);
  for (int i = 0; i < count; ++i) {
    MPI_Irecv(in, 8, MPI_CHAR, rank, tag_data, worker->comm, &request);
    MPI_Send(out, 8, MPI_CHAR, rank, tag_data, worker->comm);
    MPI_Wait(&request, MPI_STATUS_IGNORE);
  }
}

static void work(struct worker* worker, int count, MPI_Request* requests) {
  switch (worker->kind) {
    case rate:
      windows(worker, count, requests);
      break;
    case self:
      own_messages(worker, count);
      break;
    case allreduce:
      allreduces(worker, count);
      break;
    default:
      ping_pongs(worker, count);
  }
}

static void* run_worker(void* argument) {
  struct worker* worker = argument;
  const int count = iterations_for(&worker->bench->options, (size_t)worker->bytes);
  worker->buffer = calloc((size_t)worker->bytes, 1);
  MPI_Request* requests = malloc(sizeof(MPI_Request) * (size_t)worker->bench->options.window);
  work(worker, count / 10 + 1, requests);
  pthread_barrier_wait(worker->together);
  pthread_barrier_wait(worker->together);
  work(worker, count, requests);
  pthread_barrier_wait(worker->together);
  free(requests);
  free(worker->buffer);
  return NULL;
}

/* -p N threads in each process, messages of 8 bytes or -s N. Columns: threads, us of a ping-pong's half round
 * trip or million messages a second. */
int run_threads(struct bench* bench, const char* name) {
  const int threads = bench->options.pairs > 0 ? bench->options.pairs : 1;
  const int bytes = bench->options.sizes[0] > 0 ? (int)bench->options.sizes[0] : 8;
  int provided;
  MPI_Query_thread(&provided);
  if (bench->size > 2 || threads > most_threads || provided != MPI_THREAD_MULTIPLE) {
    if (bench->rank == 0)
      fprintf(stderr, "mpibench: %s needs 1 or 2 processes, at most %d threads and MPI_THREAD_MULTIPLE\n",
              name, most_threads);
    return 2;
  }
  struct worker workers[most_threads];
  pthread_t ids[most_threads];
  pthread_barrier_t together;
  pthread_barrier_init(&together, NULL, (unsigned)threads + 1);
  for (int i = 0; i < threads; ++i) {
    workers[i] = (struct worker){bench, MPI_COMM_NULL, &together, bytes, NULL, kind_of(name)};
    MPI_Comm_dup(MPI_COMM_WORLD, &workers[i].comm);
    pthread_create(&ids[i], NULL, run_worker, &workers[i]);
  }
  pthread_barrier_wait(&together);
  MPI_Barrier(MPI_COMM_WORLD);
  const double begin = MPI_Wtime();
  pthread_barrier_wait(&together);
  pthread_barrier_wait(&together);
  const double seconds = MPI_Wtime() - begin;
  const double count = iterations_for(&bench->options, (size_t)bytes);
  for (int i = 0; i < threads; ++i) {
    pthread_join(ids[i], NULL);
    MPI_Comm_free(&workers[i].comm);
  }
  const enum kind kind = workers[0].kind;
  const double figure = kind == rate        ? count * bench->options.window * threads / seconds / 1e6
                        : kind == self      ? count * threads / seconds / 1e6
                        : kind == allreduce ? seconds * 1e6 / count
                                            : seconds * 1e6 / (2 * count);
  if (bench->rank == 0)
    printf("# MPI %s Test\n%-10s%20s\n%-10d%20.3f\n", name, "# Threads", "us, or M/s", threads, figure);
  pthread_barrier_destroy(&together);
  return 0;
}
