/* Sends from much memory, frees it, and waits until the system has it back, calling MPI meanwhile. */
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { blocks = 200, bytes = 1 << 20, limit_s = 60 };

static long resident_kb(void) {
  long pages = 0, resident = 0;
  FILE* status = fopen("/proc/self/statm", "r");
  if (fscanf(status, "%ld %ld", &pages, &resident) != 2) resident = -1;
  fclose(status);
  return resident * (sysconf(_SC_PAGESIZE) / 1024);
}

static void exchange(char* block, int other) {
  MPI_Sendrecv_replace(block, bytes, MPI_BYTE, other, 0, other, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
}

int main(int argc, char** argv) {
  static char* memory[blocks];
  int rank, flag;
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  const int other = 1 - rank;
  for (int round = 0; round < 2; ++round) {
    const long before = resident_kb();
    for (int i = 0; i < blocks; ++i) memset(memory[i] = malloc(bytes), i, bytes);
    char* last = malloc(64); /* so that the end of the heap stays in use */
    for (int i = 0; i < blocks; ++i) exchange(memory[i], other);
    for (int i = 0; i < blocks; ++i)
      for (int b = 0; b < bytes; b += 511)
        if (memory[i][b] != (char)i) MPI_Abort(MPI_COMM_WORLD, 3);
    const long used = resident_kb() - before;
    for (int i = 0; i < blocks; ++i) free(memory[i]);
    const double end = MPI_Wtime() + limit_s;
    while (resident_kb() - before > used / 4 && MPI_Wtime() < end) {
      MPI_Iprobe(MPI_ANY_SOURCE, MPI_ANY_TAG, MPI_COMM_WORLD, &flag, MPI_STATUS_IGNORE);
      usleep(10000);
    }
    printf("rank %d used %ld kB, kept %ld kB\n", rank, used, resident_kb() - before);
    MPI_Barrier(MPI_COMM_WORLD);
    free(last);
  }
  MPI_Finalize();
  return 0;
}
