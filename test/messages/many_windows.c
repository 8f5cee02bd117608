/* Creates and frees 16,000 windows of all kinds and puts something through each. What the process holds must
   not grow in the second half: memory in use, mappings, descriptors. In the first, packets find all buffers
   of all rails once. */
#include <dirent.h>
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { windows = 16000, warm = 8000, size = 8192 };

static long lines_of(const char* path) {
  FILE* file = fopen(path, "r");
  long lines = 0;
  for (int c = getc(file); c != EOF; c = getc(file)) lines += c == '\n';
  fclose(file);
  return lines;
}

static long descriptors(void) {
  DIR* directory = opendir("/proc/self/fd");
  long count = 0;
  while (readdir(directory) != NULL) ++count;
  closedir(directory);
  return count;
}

static long resident_kb(void) {
  long kb = -1;
  char line[256];
  FILE* file = fopen("/proc/self/status", "r");
  while (fgets(line, sizeof line, file) != NULL)
    if (sscanf(line, "RssAnon: %ld", &kb) == 1) break;
  fclose(file);
  return kb;
}

static void check(int right, const char* what) {
  if (right) return;
  printf("wrong: %s\n", what);
  fflush(stdout);
  MPI_Abort(MPI_COMM_WORLD, 1);
}

static void use(int number, MPI_Comm node) {
  static char own[size];
  MPI_Comm comm = number % 4 == 2 ? node : MPI_COMM_WORLD;
  char* base = own;
  MPI_Win window;
  int rank;
  int ranks;
  MPI_Comm_rank(comm, &rank);
  MPI_Comm_size(comm, &ranks);
  switch (number % 4) {
    case 0:
      MPI_Win_create(own, size, 1, MPI_INFO_NULL, comm, &window);
      break;
    case 1:
      MPI_Win_allocate(size, 1, MPI_INFO_NULL, comm, &base, &window);
      break;
    case 2:
      MPI_Win_allocate_shared(size, 1, MPI_INFO_NULL, comm, &base, &window);
      break;
    default:
      MPI_Win_create_dynamic(MPI_INFO_NULL, comm, &window);
      MPI_Win_attach(window, own, size);
  }
  const int next = (rank + 1) % ranks;
  const int before = (rank + ranks - 1) % ranks;
  MPI_Aint place;
  MPI_Aint there = 0;
  MPI_Get_address(own, &place);
  if (number % 4 == 3)
    MPI_Sendrecv(&place, 1, MPI_AINT, before, 0, &there, 1, MPI_AINT, next, 0, comm, MPI_STATUS_IGNORE);
  const int data[2] = {number, rank};
  MPI_Win_fence(0, window);
  MPI_Put(data, sizeof data, MPI_BYTE, next, there, sizeof data, MPI_BYTE, window);
  MPI_Win_fence(0, window);
  int got[2];
  memcpy(got, base, sizeof got);
  check(got[0] == number && got[1] == before, "what was put");
  if (number % 4 == 3) MPI_Win_detach(window, own);
  MPI_Win_free(&window);
}

int main(int argc, char** argv) {
  MPI_Comm node;
  MPI_Init(&argc, &argv);
  MPI_Comm_split_type(MPI_COMM_WORLD, MPI_COMM_TYPE_SHARED, 0, MPI_INFO_NULL, &node);
  for (int i = 0; i < warm; ++i) use(i, node);
  const long kb = resident_kb();
  const long maps = lines_of("/proc/self/maps");
  const long files = descriptors();
  for (int i = warm; i < windows; ++i) use(i, node);
  printf("grown by %ld kB, %ld mappings, %ld descriptors\n", resident_kb() - kb,
         lines_of("/proc/self/maps") - maps, descriptors() - files);
  MPI_Comm_free(&node);
  MPI_Finalize();
  return 0;
}
