// Conjugate gradient, which communicates as NAS CG does: the matrix is divided over a grid of processes, and
// each of its products sums the pieces of a row of the grid, in log2 steps of MPI_Irecv and MPI_Send, and
// exchanges the result with the process on the other side of the diagonal; scalar products are summed the
// same way. Each outer iteration solves A z = x by 25 steps, and takes z, normalised, for the next x.
// Checked: at the end every rank computes, from all of z and its share of the rows of the matrix, what is
// left of x - A z; no product or sum of the solver is used.
#include "kernel.h"

enum { most_offsets = 8, inner = 25, outer = 15 };

static const struct {
  int rows, offsets;  // a row has 2 * offsets + 1 numbers
} classes[] = {{1408, 3}, {7040, 4}, {14080, 5}};

static int n, offsets, offset[most_offsets];
static int grid_rows, grid_columns, row, column;  // of the grid of processes; here
static int own_rows, own_columns;                 // of the matrix
static int other_side;

// The matrix in rows: where each one begins, the columns (counted from the first here) and the numbers.
static int *row_at, *column_of;
static double* value_of;

// The matrix is symmetric: row i has `value(i, k)` at i + offset[k], and so has column i. Its diagonal is 2
// more than what is beside it, so that its eigenvalues are positive.
static double value(int i, int k) { return -fraction((uint64_t)i * most_offsets + k); }
static int wrapped(int i) { return (i % n + n) % n; }

static double diagonal(int i) {
  double sum = 2;
  for (int k = 0; k < offsets; ++k) sum -= value(i, k) + value(wrapped(i - offset[k]), k);
  return sum;
}

static void draw_offsets(void) {
  for (int k = 0; k < offsets;) {
    offset[k] = 1 + (int)(mixed(77 + k * 1000 + (uint64_t)n) % (n / 2 - 1));
    for (int j = 0; j < k; ++j)
      if (offset[j] == offset[k]) refuse("cg: two offsets are the same");
    ++k;
  }
}

static void make_matrix(void) {
  row_at = room(own_rows + 1, sizeof(int));
  column_of = room((size_t)own_rows * (2 * offsets + 1), sizeof(int));
  value_of = room((size_t)own_rows * (2 * offsets + 1), sizeof(double));
  int count = 0;
  for (int r = 0; r < own_rows; ++r) {
    const int i = row * own_rows + r;
    for (int k = -offsets; k <= offsets; ++k) {
      const int which = abs(k) - 1;
      const int at = k == 0 ? i : k > 0 ? wrapped(i + offset[which]) : wrapped(i - offset[which]);
      if (at / own_columns != column) continue;
      column_of[count] = at - column * own_columns;
      value_of[count++] = k == 0 ? diagonal(i) : k > 0 ? value(i, which) : value(at, which);
    }
    row_at[r + 1] = count;
  }
}

// Sums `data` over the processes of this row of the grid.
static void sum_over_row(double* data, double* from_other, int count) {
  for (int bit = 1; bit < grid_columns; bit <<= 1) {
    const int other = row * grid_columns + (column ^ bit);
    MPI_Request request;
    MPI_Irecv(from_other, count, MPI_DOUBLE, other, bit, MPI_COMM_WORLD, &request);
    MPI_Send(data, count, MPI_DOUBLE, other, bit, MPI_COMM_WORLD);
    MPI_Wait(&request, MPI_STATUS_IGNORE);
    for (int i = 0; i < count; ++i) data[i] += from_other[i];
  }
}

static double *partial, *from_other;

// product = A * vector; of both, the columns that this process has.
static void multiply(const double* vector, double* product) {
  for (int r = 0; r < own_rows; ++r) {
    partial[r] = 0;
    for (int i = row_at[r]; i < row_at[r + 1]; ++i) partial[r] += value_of[i] * vector[column_of[i]];
  }
  sum_over_row(partial, from_other, own_rows);
  // The sum is of a row of the matrix; what is wanted, of a column, is on the other side of the diagonal.
  // With twice as many columns as rows, it is one half there.
  const double* half = partial + (own_rows > own_columns ? column % 2 * own_columns : 0);
  if (other_side == rank) {
    memcpy(product, half, own_columns * sizeof(double));
    return;
  }
  MPI_Request request;
  MPI_Irecv(product, own_columns, MPI_DOUBLE, other_side, 99, MPI_COMM_WORLD, &request);
  MPI_Send(half, own_columns, MPI_DOUBLE, other_side, 99, MPI_COMM_WORLD);
  MPI_Wait(&request, MPI_STATUS_IGNORE);
}

static double scalar_product(const double* a, const double* b) {
  double sum = 0, other = 0;
  for (int i = 0; i < own_columns; ++i) sum += a[i] * b[i];
  sum_over_row(&sum, &other, 1);
  return sum;
}

// Solves A z = x, nearly. Returns the norm of what is left, as CG knows it.
static double solve(const double* x, double* z, double* p, double* q, double* r) {
  memset(z, 0, own_columns * sizeof(double));
  memcpy(r, x, own_columns * sizeof(double));
  memcpy(p, x, own_columns * sizeof(double));
  double left = scalar_product(r, r);
  for (int i = 0; i < inner; ++i) {
    multiply(p, q);
    const double step = left / scalar_product(p, q);
    for (int j = 0; j < own_columns; ++j) {
      z[j] += step * p[j];
      r[j] -= step * q[j];
    }
    const double before = left;
    left = scalar_product(r, r);
    for (int j = 0; j < own_columns; ++j) p[j] = r[j] + left / before * p[j];
  }
  return sqrt(left);
}

// The norm of x - A z as part of that of x, computed from whole vectors by rows of the whole matrix.
static double residual(const double* x, const double* z) {
  double *all_x = room(n, sizeof(double)), *all_z = room(n, sizeof(double));
  MPI_Comm in_row;  // the processes of a row of the grid have all columns
  MPI_Comm_split(MPI_COMM_WORLD, row, column, &in_row);
  MPI_Allgather(x, own_columns, MPI_DOUBLE, all_x, own_columns, MPI_DOUBLE, in_row);
  MPI_Allgather(z, own_columns, MPI_DOUBLE, all_z, own_columns, MPI_DOUBLE, in_row);
  MPI_Comm_free(&in_row);
  double mine[2] = {0, 0}, all[2];
  for (int i = rank; i < n; i += size) {
    double left = all_x[i] - diagonal(i) * all_z[i];
    for (int k = 0; k < offsets; ++k) {
      const int before = wrapped(i - offset[k]);
      left -= value(i, k) * all_z[wrapped(i + offset[k])] + value(before, k) * all_z[before];
    }
    mine[0] += left * left;
    mine[1] += all_x[i] * all_x[i];
  }
  MPI_Allreduce(mine, all, 2, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD);
  free(all_x);
  free(all_z);
  return sqrt(all[0] / all[1]);
}

static void make_grid(void) {
  for (grid_rows = 1; grid_rows * grid_rows * 4 <= size; grid_rows *= 2) {
  }
  grid_columns = size / grid_rows;
  if (grid_rows * grid_columns != size || (grid_columns != grid_rows && grid_columns != 2 * grid_rows) ||
      (grid_columns & (grid_columns - 1)) != 0 || n % grid_columns != 0)
    refuse("cg: the number of ranks must be a power of two, up to 64");
  row = rank / grid_columns;
  column = rank % grid_columns;
  own_rows = n / grid_rows;
  own_columns = n / grid_columns;
  other_side = grid_rows == grid_columns ? column * grid_columns + row
                                         : column / 2 * grid_columns + 2 * row + column % 2;
}

int main(int argc, char** argv) {
  const int class = begin_kernel(argc, argv);
  n = classes[class].rows;
  offsets = classes[class].offsets;
  make_grid();
  draw_offsets();
  make_matrix();
  partial = room(own_rows, sizeof(double));
  from_other = room(own_rows, sizeof(double));
  double *x = room(own_columns, sizeof(double)), *z = room(own_columns, sizeof(double));
  double *p = room(own_columns, sizeof(double)), *q = room(own_columns, sizeof(double));
  double* r = room(own_columns, sizeof(double));
  for (int i = 0; i < own_columns; ++i)
    x[i] = 0.5 + fraction(1u << 30 | (unsigned)(column * own_columns + i));
  solve(x, z, p, q, r);  // once before the clock starts, as NAS does
  int right = 1;
  double time = 0;
  for (int iteration = 0; iteration < outer; ++iteration) {
    start_clock();
    const double known = solve(x, z, p, q, r);
    const double length = sqrt(scalar_product(z, z)), size_of_x = sqrt(scalar_product(x, x));
    time += stop_clock();
    if (spoil && iteration == 1 && column == 0) z[own_columns / 2] *= 1.001;
    const double left = residual(x, z);
    right &= left < 1e-6 && fabs(known / size_of_x - left) < 1e-7;
    for (int i = 0; i < own_columns; ++i) x[i] = z[i] / length;
  }
  free(row_at);
  free(column_of);
  free(value_of);
  free(partial);
  free(from_other);
  free(x);
  free(z);
  free(p);
  free(q);
  free(r);
  return end_kernel("cg", time, right);
}
