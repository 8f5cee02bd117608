/* What memory each process of a job has: after MPI_Init and a barrier, and after everybody has sent 8 bytes
   to everybody. Rank 0 prints the means in KiB: PSS, in which memory that several processes share counts by
   shares, and what is the process's own. */
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>

struct memory {
  double pss, own;
};

static struct memory measure(void) {
  struct memory found = {0, 0};
  char line[256];
  long kib;
  FILE* const file = fopen("/proc/self/smaps_rollup", "r");
  if (file == NULL) MPI_Abort(MPI_COMM_WORLD, 1);
  while (fgets(line, sizeof line, file)) {
    if (sscanf(line, "Pss: %ld", &kib) == 1) found.pss += (double)kib;
    if (sscanf(line, "Private_Clean: %ld", &kib) == 1) found.own += (double)kib;
    if (sscanf(line, "Private_Dirty: %ld", &kib) == 1) found.own += (double)kib;
  }
  fclose(file);
  return found;
}

static void print_mean(struct memory memory, int rank, int size) {
  double mine[2] = {memory.pss, memory.own}, sum[2] = {0, 0};
  MPI_Reduce(mine, sum, 2, MPI_DOUBLE, MPI_SUM, 0, MPI_COMM_WORLD);
  if (rank == 0) printf("%.0f %.0f\n", sum[0] / size, sum[1] / size);
}

int main(int argc, char** argv) {
  int rank, size;
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  double* const values = calloc(2 * (size_t)size, sizeof(double));
  MPI_Barrier(MPI_COMM_WORLD);
  const struct memory idle = measure();
  MPI_Barrier(MPI_COMM_WORLD); /* nobody goes on, and shares less, before all have looked */
  print_mean(idle, rank, size);
  for (int distance = 1; distance < size; ++distance)
    MPI_Sendrecv(&values[0], 1, MPI_DOUBLE, (rank + distance) % size, 0, &values[size], 1, MPI_DOUBLE,
                 (rank - distance + size) % size, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
  MPI_Barrier(MPI_COMM_WORLD);
  const struct memory acquainted = measure();
  MPI_Barrier(MPI_COMM_WORLD);
  print_mean(acquainted, rank, size);
  free(values);
  return MPI_Finalize();
}
