/* Threads of MPI_THREAD_MULTIPLE, each with a communicator of its own. */
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "bench.h"

enum { tag_data = 1, tag_done = 2, most_threads = 64 };

int is_threads(const char* name) {
  return strcmp(name, "threads_latency") == 0 || strcmp(name, "threads_rate") == 0 ||
         strcmp(name, "threads_self") == 0;
}

struct worker {
  struct bench* bench;
  MPI_Comm comm;
  pthread_barrier_t* together;
  int bytes;
  char* buffer;
  enum { latency, rate, self } kind;
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

static void ping_pongs(struct worker* worker, int count) {
  const int rank = worker->bench->rank, size = worker->bytes;
  char* bytes = worker->buffer;
  for (int i = 0; i < count; ++i) {
    if (rank == 0) MPI_Send(bytes, size, MPI_CHAR, 1, tag_data, worker->comm);
    MPI_Recv(bytes, size, MPI_CHAR, 1 - rank, tag_data, worker->comm, MPI_STATUS_IGNORE);
    if (rank == 1) MPI_Send(bytes, size, MPI_CHAR, 0, tag_data, worker->comm);
  }
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
  if (worker->kind == latency) ping_pongs(worker, count);
  if (worker->kind == rate) windows(worker, count, requests);
  if (worker->kind == self) own_messages(worker, count);
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
    workers[i] = (struct worker){
        bench,
        MPI_COMM_NULL,
        &together,
        bytes,
        NULL,
        strcmp(name, "threads_rate") == 0 ? rate : strcmp(name, "threads_latency") == 0 ? latency : self};
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
  const double figure = workers[0].kind == latency ? seconds * 1e6 / (2 * count)
                        : workers[0].kind == rate  ? count * bench->options.window * threads / seconds / 1e6
                                                   : count * threads / seconds / 1e6;
  if (bench->rank == 0)
    printf("# MPI %s Test\n%-10s%20s\n%-10d%20.3f\n", name, "# Threads", "us, or M/s", threads, figure);
  pthread_barrier_destroy(&together);
  return 0;
}
