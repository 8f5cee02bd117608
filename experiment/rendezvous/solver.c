// Communicates as NAS SP does (multi-partition scheme, 3 dimensions): P ranks, P a square, each with sqrt(P)
// cells of a cube, one in every stage of a sweep. An iteration exchanges the faces of all cells, and then
// sweeps along each dimension forth and back. In a stage, a rank begins to receive the boundary of the cell
// before its own, prepares its cell, waits for that and for what it last sent, eliminates, and sends its
// boundary on.
//
//   solver POINTS PICOSECONDS UNEVEN ITERATIONS
//
// POINTS of the cube along a side (162: class C); PICOSECONDS of computing for each point and iteration;
// UNEVEN: each piece of computing differs by up to so many percent. Prints microseconds of an iteration: of
// the average rank in MPI_Waitall, and of that for faces; and of the whole of the slowest rank.
#include <math.h>
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

// Shares of an iteration's computing: right-hand side, and of each sweep: prepare (lhs), eliminate;
// substitute.
static const double of_side = 0.28, of_prepare = 0.09, of_eliminate = 0.1, of_substitute = 0.05;
enum { faces = 6, forward_values = 22, backward_values = 10, face_values = 5, layers = 2 };

static int rank, side;
static double cell_us, uneven, waited, waited_for_faces;
static unsigned long long state;
static char *out[faces], *in[faces];

static void compute(double share) {
  state = state * 6364136223846793005ull + 1442695040888963407ull;
  const double part = (double)(state >> 33) / (double)(1u << 31);
  usleep((useconds_t)(share * cell_us * (1 + uneven * (2 * part - 1))));
}

static void wait_for(int count, MPI_Request* requests) {
  const double begin = MPI_Wtime();
  MPI_Waitall(count, requests, MPI_STATUSES_IGNORE);
  waited += MPI_Wtime() - begin;
}

// Cells lie on diagonals of the cube, so that the ranks next to a rank's cells are the same for all of them.
static int neighbour(int dimension, int step) {
  const int column = rank % side, row = rank / side, shift = (step + side) % side;
  if (dimension == 0) return row * side + (column + shift) % side;
  if (dimension == 1) return (row + shift) % side * side + column;
  return (row + side - shift) % side * side + (column + side - shift) % side;
}

static void exchange_faces(int bytes) {
  MPI_Request requests[2 * faces];
  for (int i = 0; i < faces; ++i)
    MPI_Irecv(in[i], bytes, MPI_BYTE, neighbour(i / 2, i % 2 == 0 ? -1 : 1), i, MPI_COMM_WORLD, &requests[i]);
  for (int i = 0; i < faces; ++i)
    MPI_Isend(out[i], bytes, MPI_BYTE, neighbour(i / 2, i % 2 == 0 ? 1 : -1), i, MPI_COMM_WORLD,
              &requests[faces + i]);
  const double before = waited;
  wait_for(2 * faces, requests);
  waited_for_faces += waited - before;
}

static void sweep(int dimension, int step, int bytes, double prepare, double eliminate) {
  MPI_Request requests[2] = {MPI_REQUEST_NULL, MPI_REQUEST_NULL};
  for (int stage = 0; stage < side; ++stage) {
    if (stage > 0)
      MPI_Irecv(in[0], bytes, MPI_BYTE, neighbour(dimension, -step), 9, MPI_COMM_WORLD, &requests[0]);
    compute(prepare);
    wait_for(2, requests);
    compute(eliminate);
    if (stage + 1 < side)
      MPI_Isend(out[0], bytes, MPI_BYTE, neighbour(dimension, step), 9, MPI_COMM_WORLD, &requests[1]);
  }
}

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  int size;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  for (side = 1; side * side < size; ++side) continue;
  if (argc != 5 || side * side != size) MPI_Abort(MPI_COMM_WORLD, 2);
  const double edge = atof(argv[1]) / side, plane = edge * edge * sizeof(double);
  cell_us = edge * edge * edge * atof(argv[2]) * 1e-6;
  uneven = atof(argv[3]) / 100;
  state = (unsigned long long)rank * 7919 + 1;
  const int forward = (int)(forward_values * plane), backward = (int)(backward_values * plane);
  const int face = (int)(face_values * layers * plane * side);
  for (int i = 0; i < faces; ++i) {
    out[i] = calloc(1, (size_t)(face > forward ? face : forward));
    in[i] = calloc(1, (size_t)(face > forward ? face : forward));
  }
  const int iterations = atoi(argv[4]);
  double begin = 0;
  for (int i = -1; i < iterations; ++i) {
    if (i == 0) {
      MPI_Barrier(MPI_COMM_WORLD);
      waited = waited_for_faces = 0;
      begin = MPI_Wtime();
    }
    exchange_faces(face);
    for (int cell = 0; cell < side; ++cell) compute(of_side);
    for (int dimension = 0; dimension < 3; ++dimension) {
      sweep(dimension, 1, forward, of_prepare, of_eliminate);
      sweep(dimension, -1, backward, 0, of_substitute);
    }
  }
  const double whole = MPI_Wtime() - begin, waits[2] = {waited, waited_for_faces}, scale = 1e6 / iterations;
  double all[2], slowest;
  MPI_Reduce(waits, all, 2, MPI_DOUBLE, MPI_SUM, 0, MPI_COMM_WORLD);
  MPI_Reduce(&whole, &slowest, 1, MPI_DOUBLE, MPI_MAX, 0, MPI_COMM_WORLD);
  if (rank == 0) printf("%.1f %.1f %.1f\n", all[0] / size * scale, all[1] / size * scale, slowest * scale);
  for (int i = 0; i < faces; ++i) {
    free(out[i]);
    free(in[i]);
  }
  MPI_Finalize();
  return 0;
}
