// The latency of broadcasts as M06 means it: from the moment at which the root begins until the slowest rank
// has the data. All ranks begin at the same time of a clock that they share, which the simulator's is. Prints
// a line for each size: bytes, microseconds (the median of the rounds).
//
//   broadcast MOST_BYTES ROUNDS [block|cyclic [LATE_US]]
//
// cyclic: consecutive ranks are on different nodes. With LATE_US, the first rank of each node but the root's
// begins so much later, and the latency is that of the slowest of the other ranks.
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static int compare(const void* a, const void* b) {
  const double x = *(const double*)a, y = *(const double*)b;
  return x < y ? -1 : x > y;
}

static void sleep_until(double time) {
  const double left = time - MPI_Wtime();
  if (left > 0) usleep((useconds_t)(left * 1e6));
}

// All ranks, in the order of their place on the node if they are to be placed cyclically. `leads`: whether
// this rank is the first one of its node, and not of the root's.
static MPI_Comm placed(int cyclic, int* leads) {
  MPI_Comm node, ranks;
  int rank, place;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_split_type(MPI_COMM_WORLD, MPI_COMM_TYPE_SHARED, rank, MPI_INFO_NULL, &node);
  MPI_Comm_rank(node, &place);
  MPI_Comm_free(&node);
  *leads = place == 0 && rank != 0;
  MPI_Comm_split(MPI_COMM_WORLD, 0, cyclic ? place : 0, &ranks);
  return ranks;
}

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  int leads = 0, rank = 0;
  const MPI_Comm ranks = placed(argc > 3 && strcmp(argv[3], "cyclic") == 0, &leads);
  MPI_Comm_rank(ranks, &rank);
  const long most = argc > 1 ? atol(argv[1]) : 1 << 20;
  const int rounds = argc > 2 ? atoi(argv[2]) : 9, skewed = argc > 4;
  const double late = skewed && leads ? atof(argv[4]) * 1e-6 : 0;
  char* const data = malloc((size_t)most);
  double* const took = malloc((size_t)rounds * sizeof(double));
  for (long bytes = 8; bytes <= most; bytes *= 2) {
    int wrong = 0;
    const int warm_up = bytes == 8 ? 30 : 6; /* until peers are connected */
    for (int i = 0; i < warm_up + rounds; ++i) {
      memset(data, rank == 0 ? i + 1 : 0, (size_t)bytes);
      double begin = (double)(long)(MPI_Wtime() * 1e6 + 400) * 1e-6, slowest = 0;
      MPI_Bcast(&begin, 1, MPI_DOUBLE, 0, ranks);
      sleep_until(begin + late);
      MPI_Bcast(data, (int)bytes, MPI_BYTE, 0, ranks);
      const double mine = skewed && leads ? 0 : MPI_Wtime() - begin;
      for (long k = 0; k < bytes; ++k) wrong += data[k] != (char)(i + 1);
      MPI_Reduce(&mine, &slowest, 1, MPI_DOUBLE, MPI_MAX, 0, ranks);
      if (i >= warm_up) took[i - warm_up] = slowest * 1e6;
    }
    int bad = 0;
    MPI_Allreduce(&wrong, &bad, 1, MPI_INT, MPI_SUM, ranks);
    if (bad > 0) MPI_Abort(MPI_COMM_WORLD, 1);
    qsort(took, (size_t)rounds, sizeof(double), compare);
    if (rank == 0) printf("%ld %.2f\n", bytes, took[rounds / 2]);
  }
  free(data);
  free(took);
  MPI_Comm ended = ranks;
  MPI_Comm_free(&ended);
  MPI_Finalize();
  return 0;
}
