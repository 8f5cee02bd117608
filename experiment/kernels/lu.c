// Symmetric successive over-relaxation, which communicates as NAS LU does: a field of 5 numbers at each
// point, divided over ranks in two dimensions. Each iteration exchanges faces, and sweeps through the planes
// of the third dimension forth and back: a rank waits, for each plane, for small messages from two
// neighbours, and sends its own on to two others (blocking MPI_Recv and MPI_Send). Checked: rank 0 does the
// same sweeps alone, and all numbers must be equal.
#include "kernel.h"

enum { parts = 5, face_messages = 4, tag_face = 1, tag_sweep = 2 };

static const struct { int points, iterations; } classes[] = {{12, 20}, {33, 20}, {64, 20}};

static const double beside = -1, at_point = 7, between_parts = 0.1, relaxation = 1.2;

typedef struct {
  int n, first_x, first_y, nx, ny;      // points of the whole field, and the part here
  int low_x, high_x, low_y, high_y;     // neighbours' ranks; -1: there is none
  double *field, *right_side, *change;  // [nx + 2][ny + 2][n + 2][parts]: with a rim
} Part;

static double* at(const Part* part, double* of, int x, int y, int z) {
  return of + ((((size_t)x * (part->ny + 2) + y) * (part->n + 2)) + z) * parts;
}

static Part make_part(int n, int first_x, int first_y, int nx, int ny) {
  Part part = {n, first_x, first_y, nx, ny, -1, -1, -1, -1, NULL, NULL, NULL};
  const size_t count = (size_t)(nx + 2) * (ny + 2) * (n + 2) * parts;
  part.field = room(count, sizeof(double));
  part.right_side = room(count, sizeof(double));
  part.change = room(count, sizeof(double));
  for (int x = 1; x <= nx; ++x)
    for (int y = 1; y <= ny; ++y)
      for (int z = 1; z <= n; ++z)
        for (int m = 0; m < parts; ++m)
          at(&part, part.right_side, x, y, z)[m] =
              fraction(
                  ((((uint64_t)(first_x + x) * 1000 + (uint64_t)(first_y + y)) * 1000 + (uint64_t)z) * 8) +
                  m) -
              0.5;
  return part;
}

static void free_part(Part* part) {
  free(part->field);
  free(part->right_side);
  free(part->change);
}

// The message of a whole face: a rank's own last points, which become its neighbour's rim. The face is at
// `place` of the one dimension.
static void pack_face(Part* part, int along_x, int place, double* message) {
  const size_t line = (size_t)(part->n + 2) * parts;
  for (int i = 1; i <= (along_x ? part->ny : part->nx); ++i, message += line)
    memcpy(message, along_x ? at(part, part->field, place, i, 0) : at(part, part->field, i, place, 0),
           line * sizeof(double));
}

static void unpack_face(Part* part, int along_x, int place, const double* message) {
  const size_t line = (size_t)(part->n + 2) * parts;
  for (int i = 1; i <= (along_x ? part->ny : part->nx); ++i, message += line)
    memcpy(along_x ? at(part, part->field, place, i, 0) : at(part, part->field, i, place, 0), message,
           line * sizeof(double));
}

// Both ways of one dimension.
static void exchange_faces(Part* part, int along_x) {
  const int last = along_x ? part->nx : part->ny;
  const int low = along_x ? part->low_x : part->low_y, high = along_x ? part->high_x : part->high_y;
  const int count = (along_x ? part->ny : part->nx) * (part->n + 2) * parts;
  double* message[face_messages];
  for (int i = 0; i < face_messages; ++i) message[i] = room(count, sizeof(double));
  MPI_Request requests[2] = {MPI_REQUEST_NULL, MPI_REQUEST_NULL};
  if (low >= 0) MPI_Irecv(message[0], count, MPI_DOUBLE, low, tag_face, MPI_COMM_WORLD, &requests[0]);
  if (high >= 0) MPI_Irecv(message[1], count, MPI_DOUBLE, high, tag_face, MPI_COMM_WORLD, &requests[1]);
  if (low >= 0) {
    pack_face(part, along_x, 1, message[2]);
    MPI_Send(message[2], count, MPI_DOUBLE, low, tag_face, MPI_COMM_WORLD);
  }
  if (high >= 0) {
    pack_face(part, along_x, last, message[3]);
    MPI_Send(message[3], count, MPI_DOUBLE, high, tag_face, MPI_COMM_WORLD);
  }
  MPI_Waitall(2, requests, MPI_STATUSES_IGNORE);
  if (low >= 0) unpack_face(part, along_x, 0, message[0]);
  if (high >= 0) unpack_face(part, along_x, last + 1, message[1]);
  for (int i = 0; i < face_messages; ++i) free(message[i]);
}

// change = right side - A * field
static void find_rest(Part* part) {
  for (int x = 1; x <= part->nx; ++x)
    for (int y = 1; y <= part->ny; ++y)
      for (int z = 1; z <= part->n; ++z) {
        const double *here = at(part, part->field, x, y, z), *wanted = at(part, part->right_side, x, y, z);
        const double *west = at(part, part->field, x - 1, y, z), *east = at(part, part->field, x + 1, y, z);
        const double *south = at(part, part->field, x, y - 1, z), *north = at(part, part->field, x, y + 1, z);
        double* rest = at(part, part->change, x, y, z);
        for (int m = 0; m < parts; ++m)
          rest[m] = wanted[m] -
                    (at_point * here[m] + between_parts * here[(m + 1) % parts] +
                     beside * (west[m] + east[m] + south[m] + north[m] + here[m - parts] + here[m + parts]));
      }
}

// The points of a plane's edge, from or to a neighbour.
static void edge(Part* part, int neighbour, int along_x, int place, int z, int send) {
  if (neighbour < 0) return;
  double points[64 * parts];
  const int count = along_x ? part->ny : part->nx;
  if (!send)
    MPI_Recv(points, count * parts, MPI_DOUBLE, neighbour, tag_sweep, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
  for (int i = 0; i < count; ++i) {
    double* here =
        along_x ? at(part, part->change, place, i + 1, z) : at(part, part->change, i + 1, place, z);
    if (send)
      memcpy(points + i * parts, here, parts * sizeof(double));
    else
      memcpy(here, points + i * parts, parts * sizeof(double));
  }
  if (spoil && !send && z == part->n / 2)
    *at(part, part->change, along_x ? place : 1, along_x ? 1 : place, z) += 1e-3;
  if (send) MPI_Send(points, count * parts, MPI_DOUBLE, neighbour, tag_sweep, MPI_COMM_WORLD);
}

// direction 1: from low to high points; -1: back. Each point needs those that came before.
static void sweep(Part* part, int direction) {
  const int up = direction > 0, n = part->n;
  for (int step = 1; step <= n; ++step) {
    const int z = up ? step : n + 1 - step;
    edge(part, up ? part->low_x : part->high_x, 1, up ? 0 : part->nx + 1, z, 0);
    edge(part, up ? part->low_y : part->high_y, 0, up ? 0 : part->ny + 1, z, 0);
    for (int i = 1; i <= part->nx; ++i)
      for (int j = 1; j <= part->ny; ++j) {
        const int x = up ? i : part->nx + 1 - i, y = up ? j : part->ny + 1 - j;
        double* here = at(part, part->change, x, y, z);
        const double* before[3] = {at(part, part->change, x - direction, y, z),
                                   at(part, part->change, x, y - direction, z),
                                   at(part, part->change, x, y, z - direction)};
        for (int m = 0; m < parts; ++m) {
          const double rest = (up ? here[m] : at_point * here[m]) -
                              relaxation * beside * (before[0][m] + before[1][m] + before[2][m]);
          here[m] = rest / at_point;
        }
      }
    edge(part, up ? part->high_x : part->low_x, 1, up ? part->nx : 1, z, 1);
    edge(part, up ? part->high_y : part->low_y, 0, up ? part->ny : 1, z, 1);
  }
}

static void iterate(Part* part) {
  exchange_faces(part, 1);
  exchange_faces(part, 0);
  find_rest(part);
  // Beyond the field, and where neighbours' points have not come yet, nothing changes.
  for (int x = 0; x <= part->nx + 1; ++x)
    for (int y = 0; y <= part->ny + 1; ++y)
      for (int z = 0; z <= part->n + 1; ++z)
        if (x == 0 || y == 0 || z == 0 || x > part->nx || y > part->ny || z > part->n)
          memset(at(part, part->change, x, y, z), 0, parts * sizeof(double));
  sweep(part, 1);
  // The rim that the forward sweep received is not what the backward one needs, but is on the other sides.
  sweep(part, -1);
  for (int x = 1; x <= part->nx; ++x)
    for (int y = 1; y <= part->ny; ++y)
      for (int z = 1; z <= part->n; ++z)
        for (int m = 0; m < parts; ++m)
          at(part, part->field, x, y, z)[m] +=
              relaxation * (2 - relaxation) * at(part, part->change, x, y, z)[m];
}

static int begin_of(int n, int pieces, int piece) {
  return n / pieces * piece + (piece < n % pieces ? piece : n % pieces);
}

// Rank 0 collects all parts, and does the same alone.
static int is_right(Part* part, int across_x, int across_y, int iterations) {
  const int n = part->n;
  const int most = (n / across_x + 1) * (n / across_y + 1) * n * parts;
  double* points = room(most, sizeof(double));
  Part whole;
  if (rank == 0) {
    whole = make_part(n, 0, 0, n, n);
    for (int i = 0; i < iterations; ++i) iterate(&whole);
  }
  int right = 1;
  for (int r = 0; r < size; ++r) {
    const int from_x = begin_of(n, across_x, r / across_y), to_x = begin_of(n, across_x, r / across_y + 1);
    const int from_y = begin_of(n, across_y, r % across_y), to_y = begin_of(n, across_y, r % across_y + 1);
    if (r == rank) {
      double* next = points;
      for (int x = 1; x <= part->nx; ++x)
        for (int y = 1; y <= part->ny; ++y, next += n * parts)
          memcpy(next, at(part, part->field, x, y, 1), (size_t)n * parts * sizeof(double));
      if (rank != 0) MPI_Send(points, (int)(next - points), MPI_DOUBLE, 0, 0, MPI_COMM_WORLD);
    }
    if (rank != 0) continue;
    if (r != 0) MPI_Recv(points, most, MPI_DOUBLE, r, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    const double* next = points;
    for (int x = from_x + 1; x <= to_x; ++x)
      for (int y = from_y + 1; y <= to_y; ++y, next += n * parts)
        right &= memcmp(next, at(&whole, whole.field, x, y, 1), (size_t)n * parts * sizeof(double)) == 0;
  }
  if (rank == 0) free_part(&whole);
  free(points);
  return right;
}

int main(int argc, char** argv) {
  const int class = begin_kernel(argc, argv);
  const int n = classes[class].points, iterations = classes[class].iterations;
  int across_x = 1;
  while (across_x * across_x * 2 <= size) across_x *= 2;
  const int across_y = size / across_x;
  if (across_x * across_y != size || across_x > n) refuse("lu: the number of ranks must be a power of two");
  const int x = rank / across_y, y = rank % across_y;
  const int first_x = begin_of(n, across_x, x), first_y = begin_of(n, across_y, y);
  Part part = make_part(n, first_x, first_y, begin_of(n, across_x, x + 1) - first_x,
                        begin_of(n, across_y, y + 1) - first_y);
  part.low_x = x > 0 ? rank - across_y : -1;
  part.high_x = x < across_x - 1 ? rank + across_y : -1;
  part.low_y = y > 0 ? rank - 1 : -1;
  part.high_y = y < across_y - 1 ? rank + 1 : -1;
  start_clock();
  for (int i = 0; i < iterations; ++i) iterate(&part);
  const double time = stop_clock();
  const int right = is_right(&part, across_x, across_y, iterations);
  free_part(&part);
  return end_kernel("lu", time, right);
}
