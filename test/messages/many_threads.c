/* Many threads of two ranks send and receive at once.  usage: many_threads THREADS BYTES ITERATIONS
 * [one-core] Prints the time of an iteration, and how often threads gave up their core for it. */
#define _GNU_SOURCE
#include <mpi.h>
#include <pthread.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>

enum { most_threads = 256 };

static int rank, bytes, iterations;

static void* run(void* argument) {
  const int tag = (int)(long)argument;
  char* buffer = malloc((size_t)bytes);
  for (int i = 0; i < iterations; ++i) {
    if (rank == 0) {
      memset(buffer, tag + i, (size_t)bytes);
      MPI_Send(buffer, bytes, MPI_BYTE, 1, tag, MPI_COMM_WORLD);
    } else {
      memset(buffer, 0, (size_t)bytes);
      MPI_Recv(buffer, bytes, MPI_BYTE, 0, tag, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
      for (int b = 0; b < bytes; ++b)
        if (buffer[b] != (char)(tag + i)) MPI_Abort(MPI_COMM_WORLD, 3);
    }
  }
  free(buffer);
  return NULL;
}

int main(int argc, char** argv) {
  pthread_t threads[most_threads];
  struct rusage before, after;
  int provided;
  MPI_Init_thread(&argc, &argv, MPI_THREAD_MULTIPLE, &provided);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  const int count = atoi(argv[1]);
  bytes = atoi(argv[2]);
  iterations = atoi(argv[3]);
  if (argc > 4) {
    cpu_set_t one;
    sched_getaffinity(0, sizeof one, &one);
    for (int cpu = 0, found = 0; cpu < CPU_SETSIZE; ++cpu) {
      if (found) CPU_CLR(cpu, &one);
      found = found || CPU_ISSET(cpu, &one);
    }
    sched_setaffinity(0, sizeof one, &one);
  }
  MPI_Barrier(MPI_COMM_WORLD);
  getrusage(RUSAGE_SELF, &before);
  const double begin = MPI_Wtime();
  for (long i = 0; i < count; ++i) pthread_create(&threads[i], NULL, run, (void*)i);
  for (int i = 0; i < count; ++i) pthread_join(threads[i], NULL);
  const double time = MPI_Wtime() - begin;
  getrusage(RUSAGE_SELF, &after);
  const double messages = (double)count * iterations;
  char line[200], other[200];
  snprintf(line, sizeof line, "rank %d: %.3f ms an iteration, %.1f switches a message\n", rank,
           1e3 * time / iterations, (double)(after.ru_nvcsw - before.ru_nvcsw) / messages);
  if (rank == 1) MPI_Send(line, sizeof line, MPI_CHAR, 0, 0, MPI_COMM_WORLD);
  if (rank == 0) {
    MPI_Recv(other, sizeof other, MPI_CHAR, 1, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    printf("%s%s", line, other);
  }
  MPI_Finalize();
  return 0;
}
