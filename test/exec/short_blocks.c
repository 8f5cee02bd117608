/* Alltoallv's, gatherv's or scatterv's of short blocks among ranks of several nodes: alike, of unlike lengths
   and with several roots, with some that are long, to one neighbour alone. Prints what a call of each kind
   takes, in ns: at first, and when ranks have told each other. After each gatherv and scatterv comes a
   barrier on another communicator, so that nobody runs ahead.  Usage: short_blocks OPERATION */
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { room = 4096, kinds = 4, calls = 300, counted = 30 };
static int rank, ranks;
static const char* operation;
static MPI_Comm others;

static int root_of(int kind, int call) { return kind == 1 ? call * 5 % ranks : 0; }

static int bytes_of(int kind, int from, int to, int call) {
  const int root = root_of(kind, call);
  if (strcmp(operation, "gatherv") == 0 && to != root) return 0;
  if (strcmp(operation, "scatterv") == 0 && from != root) return 0;
  switch (kind) {
    case 0:
      return 8;
    case 1:
      return (from * 5 + to * 3 + call) % 17;
    case 2:
      return call % 20 == 7 && (from + to) % 3 == 0 ? 3000 : 8;
    default:
      return to == (from + 1) % ranks ? 8 : 0;
  }
}
static char byte_of(int from, int to, int call, int i) { return (char)(from * 3 + to * 5 + call * 7 + i); }

static void exchange(int kind, int call, char* out, char* in) {
  int counts[4][64];
  for (int r = 0; r < ranks; ++r) {
    counts[0][r] = bytes_of(kind, rank, r, call);
    counts[2][r] = bytes_of(kind, r, rank, call);
    counts[1][r] = counts[3][r] = r * room;
    for (int i = 0; i < counts[0][r]; ++i) out[r * room + i] = byte_of(rank, r, call, i);
    for (int i = 0; i <= counts[2][r]; ++i) in[r * room + i] = 99;
  }
  const int root = root_of(kind, call);
  if (strcmp(operation, "gatherv") == 0)
    MPI_Gatherv(out + root * room, counts[0][root], MPI_BYTE, in, counts[2], counts[3], MPI_BYTE, root,
                MPI_COMM_WORLD);
  else if (strcmp(operation, "scatterv") == 0)
    MPI_Scatterv(out, counts[0], counts[1], MPI_BYTE, in + root * room, counts[2][root], MPI_BYTE, root,
                 MPI_COMM_WORLD);
  else
    MPI_Alltoallv(out, counts[0], counts[1], MPI_BYTE, in, counts[2], counts[3], MPI_BYTE, MPI_COMM_WORLD);
  for (int r = 0; r < ranks; ++r) {
    int bad = in[r * room + counts[2][r]] != 99;
    for (int i = 0; i < counts[2][r]; ++i) bad |= in[r * room + i] != byte_of(r, rank, call, i);
    if (bad) {
      fprintf(stderr, "kind %d, call %d: rank %d has wrong bytes of %d\n", kind, call, rank, r);
      MPI_Abort(MPI_COMM_WORLD, 1);
    }
  }
}

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &ranks);
  operation = argv[1];
  MPI_Comm_dup(MPI_COMM_WORLD, &others);
  char* const out = malloc((size_t)ranks * room);
  char* const in = malloc((size_t)ranks * room);
  for (int kind = 0; kind < kinds; ++kind) {
    double begin = 0, first = 0;
    for (int call = 0; call < calls; ++call) {
      if (call == counted || call == calls - counted) begin = MPI_Wtime();
      exchange(kind, call, out, in);
      if (strcmp(operation, "alltoallv") != 0) MPI_Barrier(others);
      if (call == 2 * counted - 1) first = MPI_Wtime() - begin;
    }
    const double last = MPI_Wtime() - begin;
    if (rank == 0) printf("%d %.0f %.0f\n", kind, first / counted * 1e9, last / counted * 1e9);
  }
  free(out);
  free(in);
  MPI_Comm_free(&others);
  MPI_Finalize();
  return 0;
}
