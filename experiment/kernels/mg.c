// Multigrid, which communicates as NAS MG does: a periodic cube of points is divided over ranks in three
// dimensions, and V-cycles solve A u = v. A cycle restricts the residual to ever coarser grids, down to one
// of 2 points in each dimension, smooths there, interpolates the correction back, and smooths on each grid.
// After each residual, restriction and smoothing, faces are exchanged with both neighbours, axis by axis: two
// MPI_Irecv, two MPI_Send, two MPI_Wait. Faces of a later axis have the rims of the earlier ones, so that
// corners need no messages. Checked: the norm of the residual at the start and after each cycle, against
// those of one rank. (With the right side of NAS, these operators gave NAS's norms of classes S, W and A.)
#include "kernel.h"

enum { axes = 3, cycles = 4, charges = 10, most_levels = 8, most_ranks = 64, messages = 4, buffers = 6 };

static const struct {
  int levels;                // 2^levels points in each dimension
  double norms[cycles + 1];  // of the residual, computed on one rank
} classes[] = {
    {5, {2.47052942201e-02, 2.85194792152e-03, 6.03151925215e-04, 1.64893545132e-04, 5.02710403198e-05}},
    {7, {3.08816177751e-03, 3.61099465750e-04, 7.69925775157e-05, 2.10931975575e-05, 6.44710577601e-06}},
    {8, {1.09183006714e-03, 1.30128509283e-04, 2.80742784808e-05, 7.71265605379e-06, 2.35811175935e-06}},
};

// Weights of points by their distance: none, and that of a face, an edge and a corner of the cube around.
static const double minus_a[4] = {8. / 3, 0, -1. / 6, -1. / 12},
                    smoother[4] = {-3. / 8, 1. / 32, -1. / 64, 0},
                    restriction[4] = {1. / 2, 1. / 4, 1. / 8, 1. / 16};

// One grid. Its point i is point 2i of the next finer one. Where it has fewer points than there are ranks
// along an axis, every `stride`-th rank has one and the others are idle.
typedef struct {
  int stride[axes], idle[axes], start[axes], n[axes];  // n: own points, which begin at `start`
  double *u, *r, *v;                                   // [n[2] + 2][n[1] + 2][n[0] + 2]: with a rim
} Level;

static int top;  // the finest grid; 1 is the coarsest
static Level level[most_levels + 1];
static int across[axes], here[axes];  // the grid of ranks; this one's place
static double *buffer[buffers], **message = buffer, **sums = buffer + messages;
static int longest;              // numbers of a buffer
static MPI_Request requests[2];  // for what comes down from the higher neighbour, and up from the lower one

static size_t at(const Level* of, int x, int y, int z) {
  return ((size_t)z * (of->n[1] + 2) + y) * (of->n[0] + 2) + x;
}

static size_t count_of(const Level* of) { return at(of, 0, 0, of->n[2] + 2); }

static int is_idle(const Level* of, int first_axis) {
  for (int a = first_axis; a < axes; ++a)
    if (of->idle[a]) return 1;
  return 0;
}

static int neighbour(int axis, int distance) {
  int place[axes] = {here[0], here[1], here[2]};
  place[axis] = (here[axis] + distance + across[axis]) % across[axis];
  return (place[2] * across[1] + place[1]) * across[0] + place[0];
}

// Copies the plane at `place` of an axis, with the rims of axes before `rims`. Returns the count of numbers.
static int copy_plane(const Level* of, double* data, int axis, int place, int rims, double* numbers,
                      int unpack) {
  int low[axes], high[axes], count = 0;
  for (int a = 0; a < axes; ++a) {
    low[a] = a == axis ? place : a < rims ? 0 : 1;
    high[a] = a == axis ? place : a < rims ? of->n[a] + 1 : of->n[a];
  }
  for (int z = low[2]; z <= high[2]; ++z)
    for (int y = low[1]; y <= high[1]; ++y)
      for (int x = low[0]; x <= high[0]; ++x, ++count) {
        double *point = data + at(of, x, y, z), *number = numbers + count;
        *(unpack ? point : number) = *(unpack ? number : point);
      }
  return count;
}

static void send_plane(const Level* of, double* data, int axis, int place, int rims, int up, int to) {
  const int count = copy_plane(of, data, axis, place, rims, message[2 + up], 0);
  MPI_Send(message[2 + up], count, MPI_DOUBLE, to, 2 * axis + up, MPI_COMM_WORLD);
}

static void post_receives(int axis, int low, int high) {
  MPI_Irecv(message[1], longest, MPI_DOUBLE, low, 2 * axis + 1, MPI_COMM_WORLD, &requests[1]);
  MPI_Irecv(message[0], longest, MPI_DOUBLE, high, 2 * axis, MPI_COMM_WORLD, &requests[0]);
}

static void take_planes(const Level* of, double* data, int axis, int from_low, int from_high, int rims) {
  MPI_Wait(&requests[1], MPI_STATUS_IGNORE);
  if (spoil && rank == size - 1 && of == &level[top]) {
    message[1][of->n[0] + 3] += 1e-3;
    spoil = 0;
  }
  copy_plane(of, data, axis, from_low, rims, message[1], 1);
  MPI_Wait(&requests[0], MPI_STATUS_IGNORE);
  copy_plane(of, data, axis, from_high, rims, message[0], 1);
}

// Fills the rim: NAS's comm3.
static void exchange(const Level* of, double* data) {
  for (int axis = 0; axis < axes; ++axis) {
    const int last = of->n[axis];
    if (across[axis] == 1) {
      for (int up = 0; up <= 1; ++up) {
        copy_plane(of, data, axis, up ? last : 1, axis, message[0], 0);
        copy_plane(of, data, axis, up ? 0 : last + 1, axis, message[0], 1);
      }
      continue;
    }
    const int low = neighbour(axis, -of->stride[axis]), high = neighbour(axis, of->stride[axis]);
    post_receives(axis, low, high);
    send_plane(of, data, axis, last, axis, 1, high);
    send_plane(of, data, axis, 1, axis, 0, low);
    take_planes(of, data, axis, 0, last + 1, axis);
  }
}

// Ranks that are idle in grid k and not in k + 1 get the points beside theirs from both neighbours (comm3_ex
// of NAS), along one axis after the other: one that is idle along two gets what others have just got.
static void wake(int k) {
  Level *coarse = &level[k], *fine = &level[k + 1];
  for (int axis = 0; axis < axes; ++axis) {
    if (coarse->stride[axis] == fine->stride[axis] || is_idle(coarse, axis + 1)) continue;
    const int low = neighbour(axis, -fine->stride[axis]), high = neighbour(axis, fine->stride[axis]);
    if (coarse->idle[axis]) {
      post_receives(axis, low, high);
      take_planes(coarse, coarse->u, axis, 1, 2, axes);
    } else {
      send_plane(coarse, coarse->u, axis, 1, axes, 1, high);
      send_plane(coarse, coarse->u, axis, 1, axes, 0, low);
    }
  }
}

// to = base + the weighted sum of the 27 points around, of the same grid or of the next finer one.
static void apply(const double weight[4], const Level* from, const double* data, const Level* to,
                  const double* base, double* out) {
  const int step = from == to ? 1 : 2;
  int first[axes];  // of `from`, where the first own point of `to` is
  for (int a = 0; a < axes; ++a) first[a] = step * to->start[a] - from->start[a] + 1;
  const int line = from->n[0] + 2, plane = line * (from->n[1] + 2);
  for (int z = 1; z <= to->n[2]; ++z)
    for (int y = 1; y <= to->n[1]; ++y) {
      const double* row = data + at(from, 0, first[1] + step * (y - 1), first[2] + step * (z - 1));
      double *beside = sums[0], *diagonal = sums[1];
      for (int x = 0; x < line; ++x) {
        const double* point = row + x;
        beside[x] = point[-line] + point[line] + point[-plane] + point[plane];
        diagonal[x] = point[-plane - line] + point[-plane + line] + point[plane - line] + point[plane + line];
      }
      const size_t start = at(to, 1, y, z);
      for (int i = 0; i < to->n[0]; ++i) {
        const int x = first[0] + step * i;
        out[start + i] = (base ? base[start + i] : 0) + weight[0] * row[x] +
                         weight[1] * (row[x - 1] + row[x + 1] + beside[x]) +
                         weight[2] * (diagonal[x] + beside[x - 1] + beside[x + 1]) +
                         weight[3] * (diagonal[x - 1] + diagonal[x + 1]);
      }
    }
}

// The point of the coarse grid at or below point i of the fine one; `odd`: whether that lies between two.
static int below(const Level* coarse, const Level* fine, int axis, int i, int* odd) {
  const int place = fine->start[axis] + i + 1;  // 2 too much, so that it is not negative
  *odd = place % 2;
  return place / 2 - coarse->start[axis];
}

// Adds the correction of grid k to that of grid k + 1, and to its rim, which needs no message then.
static void interpolate(int k) {
  const Level *coarse = &level[k], *fine = &level[k + 1];
  for (int z = 0; z <= fine->n[2] + 1; ++z)
    for (int y = 0; y <= fine->n[1] + 1; ++y) {
      int odd_x, odd_y, odd_z;
      const int coarse_y = below(coarse, fine, 1, y, &odd_y), coarse_z = below(coarse, fine, 2, z, &odd_z);
      const double* row[4];
      for (int i = 0; i < 4; ++i)
        row[i] = coarse->u + at(coarse, 0, coarse_y + (i % 2) * odd_y, coarse_z + (i / 2) * odd_z);
      for (int x = 0; x < coarse->n[0] + 2; ++x)
        sums[0][x] = (row[0][x] + row[1][x] + row[2][x] + row[3][x]) / 4;
      double* out = fine->u + at(fine, 0, y, z);
      for (int x = 0; x <= fine->n[0] + 1; ++x) {
        const int coarse_x = below(coarse, fine, 0, x, &odd_x);
        out[x] += (sums[0][coarse_x] + sums[0][coarse_x + odd_x]) / 2;
      }
    }
}

static void find_residual(int k, const double* wanted) {
  apply(minus_a, &level[k], level[k].u, &level[k], wanted, level[k].r);
  exchange(&level[k], level[k].r);
}

static void smooth(int k) {
  apply(smoother, &level[k], level[k].r, &level[k], level[k].u, level[k].u);
  exchange(&level[k], level[k].u);
}

static void cycle(void) {
  for (int k = top - 1; k >= 1 && !is_idle(&level[k], 0); --k) {
    apply(restriction, &level[k + 1], level[k + 1].r, &level[k], NULL, level[k].r);
    exchange(&level[k], level[k].r);
  }
  for (int k = 1; k <= top; ++k) {
    if (is_idle(&level[k], 0)) continue;
    if (k < top) memset(level[k].u, 0, count_of(&level[k]) * sizeof(double));
    if (k > 1) {
      wake(k - 1);
      interpolate(k - 1);
      find_residual(k, k == top ? level[k].v : level[k].r);
    }
    smooth(k);
  }
}

static double sum_of_squares(void) {
  const Level* of = &level[top];
  double sum = 0;
  for (int z = 1; z <= of->n[2]; ++z)
    for (int y = 1; y <= of->n[1]; ++y)
      for (int x = 1; x <= of->n[0]; ++x) sum += of->r[at(of, x, y, z)] * of->r[at(of, x, y, z)];
  return sum;
}

static void make_grids(void) {
  int log = 0;
  while (1 << log < size) ++log;
  if (1 << log != size || size > most_ranks) refuse("mg: ranks must be a power of two, up to 64");
  across[0] = 1 << log / 3;
  across[1] = 1 << (log - log / 3) / 2;
  across[2] = size / across[0] / across[1];
  here[0] = rank % across[0];
  here[1] = rank / across[0] % across[1];
  here[2] = rank / across[0] / across[1];
  for (int k = 1; k <= top; ++k) {
    for (int a = 0; a < axes; ++a) {
      const int points = 1 << k;
      level[k].stride[a] = points < across[a] ? across[a] / points : 1;
      level[k].idle[a] = here[a] % level[k].stride[a] != 0;
      level[k].start[a] = here[a] * points / across[a];
      level[k].n[a] = points < across[a] ? 1 : points / across[a];
    }
    level[k].u = room(3 * count_of(&level[k]), sizeof(double));
    level[k].r = level[k].u + count_of(&level[k]);
    level[k].v = level[k].r + count_of(&level[k]);
  }
  const int* n = level[top].n;
  longest = (n[0] + 2) * (n[1] + 2);  // there are at least as many ranks along later axes
  for (int i = 0; i < buffers; ++i) buffer[i] = room(longest, sizeof(double));
}

// +1 at ten points, and -1 at ten others; the same ones for any number of ranks, and none of them twice.
static void place_charges(void) {
  const Level* of = &level[top];
  for (int i = 0; i < 2 * charges; ++i) {
    const uint64_t place = mixed(i);
    int p[axes], mine = 1;
    for (int a = 0; a < axes; ++a) {
      p[a] = (int)(place >> (a * top) & ((1u << top) - 1)) - of->start[a] + 1;
      mine &= p[a] >= 1 && p[a] <= of->n[a];
    }
    if (mine) of->v[at(of, p[0], p[1], p[2])] = i < charges ? 1 : -1;
  }
}

static int is_right(int class, const double* found) {
  int right = 1;
  for (int i = 0; i <= cycles; ++i) {
    const double norm = sqrt(found[i] / pow(2, 3 * top)), wanted = classes[class].norms[i];
    // Each cycle leaves less than a third. The number of ranks changes the order of sums, and rounding.
    if (fabs(norm - wanted) <= 1e-10 * wanted && (i == 0 || found[i] < found[i - 1] / 9)) continue;
    if (rank == 0) fprintf(stderr, "mg: the residual is %.11e after %d cycles, not %.11e\n", norm, i, wanted);
    right = 0;
  }
  return right;
}

int main(int argc, char** argv) {
  const int class = begin_kernel(argc, argv), spoil_later = spoil;
  top = classes[class].levels;
  make_grids();
  place_charges();
  spoil = 0;
  double mine[cycles + 1], all[cycles + 1];
  for (int timed = 0; timed <= 1; ++timed) {  // once before the clock starts, as NAS does: with one cycle
    memset(level[top].u, 0, count_of(&level[top]) * sizeof(double));
    if (timed) start_clock();
    spoil = timed && spoil_later;
    find_residual(top, level[top].v);
    mine[0] = sum_of_squares();
    for (int i = 1; i <= (timed ? cycles : 1); ++i) {
      cycle();
      find_residual(top, level[top].v);
      mine[i] = sum_of_squares();
    }
  }
  MPI_Allreduce(mine, all, cycles + 1, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD);
  const double time = stop_clock();
  const int right = is_right(class, all);
  for (int k = 1; k <= top; ++k) free(level[k].u);
  for (int i = 0; i < buffers; ++i) free(buffer[i]);
  return end_kernel("mg", time, right);
}
