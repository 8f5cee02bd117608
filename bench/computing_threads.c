/* Overlap of real processes, and the processor time of each of their threads (doc/performance.md).
   usage: mpiexec -n 2 --fabric "two-switch --hosts 2 --rails 2 --rate 100MB/s" PROGRAM BYTES WHO ROUNDS
   WHO computes: 1 the sender, 2 the receiver, 3 both; a fixed piece of work, about 1.55 times the message. */
#include <dirent.h>
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static volatile double sink;

static void work(long steps) {
  double x = 1;
  for (long i = 0; i < steps; ++i) x = x * 1.0000001 + 1e-9;
  sink = x;
}

static double time_of(long steps) {
  const double begin = MPI_Wtime();
  work(steps);
  return MPI_Wtime() - begin;
}

/* The first line of a file of a thread's. */
static void read_line(const char* thread, const char* file, char* line, int size) {
  char path[512];
  snprintf(path, sizeof path, "/proc/self/task/%s/%s", thread, file);
  FILE* const opened = fopen(path, "r");
  if (opened == NULL || fgets(line, size, opened) == NULL) line[0] = 0;
  if (opened != NULL) fclose(opened);
  line[strcspn(line, "\n")] = 0;
}

static void print_threads(int rank) {
  DIR* const folder = opendir("/proc/self/task");
  if (folder == NULL) return;
  for (struct dirent* entry; (entry = readdir(folder)) != NULL;) {
    char name[64], times[128];
    if (entry->d_name[0] == '.') continue;
    read_line(entry->d_name, "comm", name, sizeof name);
    read_line(entry->d_name, "schedstat", times, sizeof times);
    printf("rank %d, %s: %.1f ms\n", rank, name, strtod(times, NULL) / 1e6);
  }
  closedir(folder);
}

/* The mean of the rounds, each as long as at the slower rank. */
static double round_time(int rank, char* data, int bytes, long steps, int rounds) {
  double total = 0;
  for (int round = -5; round < rounds; ++round) {
    MPI_Request request;
    MPI_Barrier(MPI_COMM_WORLD);
    double took = MPI_Wtime(), longest;
    if (rank == 0)
      MPI_Isend(data, bytes, MPI_BYTE, 1, 0, MPI_COMM_WORLD, &request);
    else
      MPI_Irecv(data, bytes, MPI_BYTE, 0, 0, MPI_COMM_WORLD, &request);
    work(steps);
    MPI_Wait(&request, MPI_STATUS_IGNORE);
    took = MPI_Wtime() - took;
    MPI_Allreduce(&took, &longest, 1, MPI_DOUBLE, MPI_MAX, MPI_COMM_WORLD);
    if (round >= 0) total += longest / rounds;
  }
  return total;
}

int main(int argc, char** argv) {
  if (argc != 4) return 2;
  const int bytes = atoi(argv[1]), who = atoi(argv[2]), rounds = atoi(argv[3]);
  const long probe = 20000000;
  int rank;
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  char* const data = calloc(1, (size_t)bytes);
  const double alone = round_time(rank, data, bytes, 0, rounds);
  long steps = (long)(1.55 * alone * (double)probe / time_of(probe));
  MPI_Bcast(&steps, 1, MPI_LONG, 0, MPI_COMM_WORLD);
  double computing = time_of(steps), slower;
  for (int i = 0; i < 5; ++i) {
    const double again = time_of(steps);
    if (again < computing) computing = again;
  }
  MPI_Allreduce(&computing, &slower, 1, MPI_DOUBLE, MPI_MAX, MPI_COMM_WORLD);
  const double together = round_time(rank, data, bytes, (who >> rank & 1) != 0 ? steps : 0, rounds);
  if (rank == 0)
    printf("message %.0f us, computing %.0f us, together %.0f us: overlap %.1f %%\n", alone * 1e6,
           slower * 1e6, together * 1e6, 100 * slower / together);
  print_threads(rank);
  free(data);
  MPI_Finalize();
  return 0;
}
