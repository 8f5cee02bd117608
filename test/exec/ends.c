/* Ends in the way that its argument names. */
#include <mpi.h>
#include <assert.h>
#include <pthread.h>
#include <poll.h>
#include <errno.h>
#include <semaphore.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/time.h>
#include <time.h>
#include <unistd.h>

static void* thread(void* nothing) { return nothing; }
static double now(void) {
  struct timespec t;
  clock_gettime(CLOCK_MONOTONIC, &t);
  return t.tv_sec + t.tv_nsec * 1e-9;
}

static void times(int rank) {
  struct timeval begin, end;
  double t = now(), mpi = MPI_Wtime();
  usleep(2000);
  printf("%d: usleep %.0f us, by MPI %.0f us\n", rank, (now() - t) * 1e6, (MPI_Wtime() - mpi) * 1e6);
  gettimeofday(&begin, NULL);
  nanosleep(&(struct timespec){.tv_nsec = 5000000}, NULL);
  gettimeofday(&end, NULL);
  const long slept = (end.tv_sec - begin.tv_sec) * 1000000L + end.tv_usec - begin.tv_usec;
  printf("%d: nanosleep %ld us\n", rank, slept);
  t = now();
  poll(NULL, 0, 7);
  printf("%d: poll %.0f us\n", rank, (now() - t) * 1e6);
  static pthread_cond_t condition = PTHREAD_COND_INITIALIZER;
  static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
  struct timespec until;
  clock_gettime(CLOCK_REALTIME, &until);
  until.tv_sec += 2;
  t = now();
  int timed_out = pthread_cond_timedwait(&condition, &mutex, &until) == ETIMEDOUT;
  printf("%d: condition %.0f s, timed out %d\n", rank, now() - t, timed_out);
  sem_t semaphore;
  sem_init(&semaphore, 0, 1);
  until.tv_sec += 1;
  t = now();
  timed_out = sem_wait(&semaphore) == 0 && sem_timedwait(&semaphore, &until) == -1 && errno == ETIMEDOUT;
  printf("%d: semaphore %.0f s, timed out %d\n", rank, now() - t, timed_out);
  t = now();
  sleep(3);
  printf("%d: sleep %.0f s\n", rank, now() - t);
  printf("%d: date %ld\n", rank, (long)time(NULL));
}

static void compute(void) {
  volatile double sum = 0;
  for (long i = 0; i < 20000000; ++i) sum += i;
}

static void use_stack(int rank) {
  volatile char big[6 << 20];
  memset((char*)big, rank, sizeof big);
  printf("%d: stack %d\n", rank, big[1000] == rank);
}

static int recurse(volatile char* above) {
  volatile char frame[10000];
  frame[0] = *above;
  return frame[0] == 3 ? 0 : recurse(frame) + frame[9];
}

int main(int argc, char** argv) {
  const char* how = argc > 1 ? argv[1] : "";
  int rank;
  if (strcmp(how, "early") == 0) return 3;
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  printf("%d: begins\n", rank);
  if (strcmp(how, "code") == 0 && rank == 1) exit(7);
  if (strcmp(how, "abort") == 0 && rank == 1) MPI_Abort(MPI_COMM_WORLD, 9);
  if (strcmp(how, "crash") == 0 && rank == 1) *(volatile int*)8 = 1;
  if (strcmp(how, "assert") == 0 && rank == 1) assert(rank == 0);
  if (strcmp(how, "deadlock") == 0) MPI_Recv(&rank, 1, MPI_INT, 0, 4, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
  if (strcmp(how, "long") == 0) sleep(100);
  if (strcmp(how, "return") == 0) return 0;
  if (strcmp(how, "thread") == 0) { pthread_t t; pthread_create(&t, NULL, thread, NULL); }
  if (strcmp(how, "wait") == 0) {
    pthread_cond_t condition = PTHREAD_COND_INITIALIZER;
    pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
    pthread_cond_wait(&condition, &mutex);
  }
  if (strcmp(how, "fork") == 0) fork();
  if (strcmp(how, "times") == 0) times(rank);
  if (strcmp(how, "compute") == 0) compute();
  if (strcmp(how, "stack") == 0) use_stack(rank);
  if (strcmp(how, "overflow") == 0) return recurse("x");
  MPI_Barrier(MPI_COMM_WORLD);
  MPI_Finalize();
  return 0;
}
