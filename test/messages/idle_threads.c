/* 25 threads of rank 1 wait for two seconds, each for a message of its own. Prints how many of them woke
 * again and again. */
#define _GNU_SOURCE
#include <mpi.h>
#include <pthread.h>
#include <stdio.h>
#include <sys/resource.h>
#include <unistd.h>

enum { threads = 25, often = 100 };

static long switches(void) {
  struct rusage usage;
  getrusage(RUSAGE_THREAD, &usage);
  return usage.ru_nvcsw;
}

/* Answers how often the thread gave up its core. */
static void* wait_for_message(void* tag) {
  long value = -1;
  const long before = switches();
  MPI_Recv(&value, 1, MPI_LONG, 0, (int)(long)tag, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
  if (value != (long)tag) MPI_Abort(MPI_COMM_WORLD, 3);
  return (void*)(switches() - before);
}

int main(int argc, char** argv) {
  pthread_t all[threads];
  int rank, provided;
  MPI_Init_thread(&argc, &argv, MPI_THREAD_MULTIPLE, &provided);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Barrier(MPI_COMM_WORLD);
  if (rank == 0) {
    sleep(2);
    for (long i = 0; i < threads; ++i) MPI_Send(&i, 1, MPI_LONG, 1, (int)i, MPI_COMM_WORLD);
  } else {
    int restless = 0;
    for (long i = 0; i < threads; ++i) pthread_create(&all[i], NULL, wait_for_message, (void*)i);
    for (int i = 0; i < threads; ++i) {
      void* woken;
      pthread_join(all[i], &woken);
      restless += (long)woken > often;
    }
    printf("%d threads woke often\n", restless);
  }
  MPI_Finalize();
  return 0;
}
