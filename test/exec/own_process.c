// State that ranks of one process share, and that a rank in a process of its own has for itself: buffers that
// the C library returns, its hash table, the mask of files, numbers of descriptors.
#define _GNU_SOURCE
#include <fcntl.h>
#include <mpi.h>
#include <search.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

static void meet(void) { MPI_Barrier(MPI_COMM_WORLD); }

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  int rank;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  if (argc > 1 && strcmp(argv[1], "leave") == 0) {
    meet();
    if (rank == 1) syscall(SYS_exit_group, atoi(argv[2]));
    meet();
  }
  const time_t birthday = rank * 366L * 86400;
  const struct tm* date = gmtime(&birthday);
  hcreate(16);
  static char key[] = "rank";
  hsearch((ENTRY){key, (void*)(long)(rank + 10)}, ENTER);
  umask(rank);
  const int number = 3000;
  char text[32];
  FILE* file = tmpfile();
  fprintf(file, "file of %d", rank);
  fflush(file);
  dup2(fileno(file), number);
  meet();
  memset(text, 0, sizeof text);
  pread(number, text, sizeof text - 1, 0);
  const ENTRY* found = hsearch((ENTRY){key, NULL}, FIND);
  printf("%d: year %d, entry %ld, mask %d, %s\n", rank, date->tm_year, found ? (long)found->data : -1L,
         (int)umask(0), text);
  // From buffers of its own, by all ways.
  enum { most = 1 << 18 };
  char *out = malloc(most), *in = malloc(most);
  int size, wrong = 0;
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  for (int bytes = 1; bytes <= most; bytes *= 8) {
    memset(out, rank + bytes % 7, bytes);
    MPI_Sendrecv(out, bytes, MPI_CHAR, (rank + 1) % size, 1, in, bytes, MPI_CHAR, (rank + size - 1) % size, 1,
                 MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    for (int i = 0; i < bytes; ++i) wrong += in[i] != (rank + size - 1) % size + bytes % 7;
    MPI_Datatype every_second;
    MPI_Type_vector(bytes / 2, 1, 2, MPI_CHAR, &every_second);
    MPI_Type_commit(&every_second);
    MPI_Sendrecv(out, 1, every_second, (rank + 1) % size, 2, in + 1, 1, every_second,
                 (rank + size - 1) % size, 2, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    MPI_Type_free(&every_second);
    for (int i = 0; i + 1 < bytes; i += 2) wrong += in[i + 1] != (rank + size - 1) % size + bytes % 7;
  }
  printf("%d: %d wrong\n", rank, wrong);
  MPI_Finalize();
  return 0;
}
