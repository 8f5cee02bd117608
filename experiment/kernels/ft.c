// Fourier transforms in three dimensions, which communicate as NAS FT does: planes are divided over ranks,
// and one MPI_Alltoall for each transform turns those of the first dimension into those of the second. The
// field is transformed once; then, in each iteration, the spectrum is damped and transformed back, and a
// checksum is reduced. Checked: the spectrum is, at a few wave numbers, the sum that defines it; transformed
// back it is the field; and the energies of both sides of each transform agree (Parseval).
#include <complex.h>

#include "kernel.h"

typedef double complex number;

enum { iterations = 6, waves = 3 };

static const struct {
  int a, b, c;  // a and b are divided over ranks, c never is
} classes[] = {{64, 64, 64}, {128, 128, 32}, {256, 256, 128}};

static const double pi = 3.14159265358979323846;
static int na, nb, nc, own_a, own_b;  // own planes: a before, b after the transposition

// In place, `n` (a power of two) numbers; sign -1: forward. Not scaled.
static void transform_line(number* line, int n, int sign) {
  for (int i = 1, j = 0; i < n; ++i) {
    int bit = n >> 1;
    for (; j & bit; bit >>= 1) j ^= bit;
    j ^= bit;
    if (i < j) {
      const number kept = line[i];
      line[i] = line[j];
      line[j] = kept;
    }
  }
  for (int length = 2; length <= n; length *= 2) {
    const number step = cexp(sign * 2 * pi * I / length);
    number turn = 1;
    for (int j = 0; j < length / 2; ++j, turn *= step)
      for (int i = j; i < n; i += length) {
        const number low = line[i], high = line[i + length / 2] * turn;
        line[i] = low + high;
        line[i + length / 2] = low - high;
      }
  }
}

// `lines` lines of n numbers `stride` apart, one beside the other.
static void transform_lines(number* from, int lines, int n, size_t stride, int sign) {
  number* line = room(n, sizeof(number));
  for (int l = 0; l < lines; ++l) {
    for (int i = 0; i < n; ++i) line[i] = from[l + i * stride];
    transform_line(line, n, sign);
    for (int i = 0; i < n; ++i) from[l + i * stride] = line[i];
  }
  free(line);
}

// [own_a][nb][nc] to [own_b][na][nc], or back: exchange of one block with each rank.
static void transpose(const number* from, number* to, int own_from, int own_to) {
  const size_t block = (size_t)own_from * own_to * nc;
  number *out = room(block * size, sizeof(number)), *in = room(block * size, sizeof(number));
  const int n_to = own_to * size, n_from = own_from * size;
  for (int r = 0; r < size; ++r)
    for (int i = 0; i < own_from; ++i)
      memcpy(out + r * block + (size_t)i * own_to * nc, from + ((size_t)i * n_to + (size_t)r * own_to) * nc,
             (size_t)own_to * nc * sizeof(number));
  MPI_Alltoall(out, (int)(2 * block), MPI_DOUBLE, in, (int)(2 * block), MPI_DOUBLE, MPI_COMM_WORLD);
  if (spoil && rank == 1 % size) in[block * size - 1] += 1;
  for (int r = 0; r < size; ++r)
    for (int i = 0; i < own_from; ++i)
      for (int j = 0; j < own_to; ++j)
        memcpy(to + ((size_t)j * n_from + (size_t)r * own_from + i) * nc,
               in + r * block + ((size_t)i * own_to + j) * nc, (size_t)nc * sizeof(number));
  free(out);
  free(in);
}

static void forward(number* field, number* spectrum) {  // spoils `field`
  for (int a = 0; a < own_a; ++a) {
    number* plane = field + (size_t)a * nb * nc;
    for (int b = 0; b < nb; ++b) transform_line(plane + (size_t)b * nc, nc, -1);
    transform_lines(plane, nc, nb, nc, -1);
  }
  transpose(field, spectrum, own_a, own_b);
  for (int b = 0; b < own_b; ++b) transform_lines(spectrum + (size_t)b * na * nc, nc, na, nc, -1);
}

static void backward(number* spectrum, number* field) {  // spoils `spectrum`
  for (int b = 0; b < own_b; ++b) transform_lines(spectrum + (size_t)b * na * nc, nc, na, nc, 1);
  transpose(spectrum, field, own_b, own_a);
  const double scale = 1.0 / ((double)na * nb * nc);
  for (int a = 0; a < own_a; ++a) {
    number* plane = field + (size_t)a * nb * nc;
    transform_lines(plane, nc, nb, nc, 1);
    for (int b = 0; b < nb; ++b) transform_line(plane + (size_t)b * nc, nc, 1);
    for (int i = 0; i < nb * nc; ++i) plane[i] *= scale;
  }
}

static double energy(const number* of, size_t count) {
  double mine = 0, all = 0;
  for (size_t i = 0; i < count; ++i) mine += creal(of[i]) * creal(of[i]) + cimag(of[i]) * cimag(of[i]);
  MPI_Allreduce(&mine, &all, 1, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD);
  return all;
}

static number field_at(int64_t a, int64_t b, int64_t c) {
  const uint64_t at = (uint64_t)((a * nb + b) * nc + c) * 2;
  return fraction(at) - 0.5 + (fraction(at + 1) - 0.5) * I;
}

static void fill_field(number* field) {
  for (int a = 0; a < own_a; ++a)
    for (int b = 0; b < nb; ++b)
      for (int c = 0; c < nc; ++c)
        field[((size_t)a * nb + b) * nc + c] = field_at(a + (int64_t)rank * own_a, b, c);
}

// Compares the spectrum at one wave number with the sum over the whole field.
static int wave_is_right(const number* field, const number* spectrum, int wa, int wb, int wc) {
  number mine = 0, all = 0;
  number* by_c = room(nc, sizeof(number));
  for (int c = 0; c < nc; ++c) by_c[c] = cexp(-2 * pi * I * ((double)wc * c / nc));
  for (int a = 0; a < own_a; ++a)
    for (int b = 0; b < nb; ++b) {
      number row = 0;
      for (int c = 0; c < nc; ++c) row += field[((size_t)a * nb + b) * nc + c] * by_c[c];
      mine += row * cexp(-2 * pi * I * ((double)wa * (a + rank * own_a) / na + (double)wb * b / nb));
    }
  free(by_c);
  MPI_Allreduce(&mine, &all, 2, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD);
  if (wb / own_b != rank) return 1;
  return cabs(all - spectrum[((size_t)(wb % own_b) * na + wa) * nc + wc]) < 1e-8 * sqrt((double)na * nb * nc);
}

// A wave number from -n/2 to n/2.
static double wave(int index, int n) { return index < n / 2 ? index : index - n; }

static void damp(number* spectrum) {
  for (int b = 0; b < own_b; ++b)
    for (int a = 0; a < na; ++a)
      for (int c = 0; c < nc; ++c) {
        const double x = wave(a, na), y = wave(b + rank * own_b, nb), z = wave(c, nc);
        spectrum[((size_t)b * na + a) * nc + c] *= exp(-4e-6 * pi * pi * (x * x + y * y + z * z));
      }
}

int main(int argc, char** argv) {
  const int class = begin_kernel(argc, argv);
  na = classes[class].a;
  nb = classes[class].b;
  nc = classes[class].c;
  if (na % size != 0 || nb % size != 0) refuse("ft: the number of ranks must divide the number of planes");
  own_a = na / size;
  own_b = nb / size;
  const size_t count = (size_t)own_a * nb * nc;
  const double all = (double)na * nb * nc;
  number *field = room(count, sizeof(number)), *first = room(count, sizeof(number));
  number *spectrum = room(count, sizeof(number)), *work = room(count, sizeof(number));
  fill_field(first);
  memcpy(field, first, count * sizeof(number));
  forward(field, spectrum);  // once before the clock starts, as NAS does
  memcpy(field, first, count * sizeof(number));
  start_clock();
  forward(field, spectrum);
  double time = stop_clock();
  int right = fabs(energy(spectrum, count) / all / energy(first, count) - 1) < 1e-12;
  for (int i = 1; i <= waves; ++i)
    right &= wave_is_right(first, spectrum, (int)(mixed(i) % na), (int)(mixed(i + 10) % nb),
                           (int)(mixed(i + 20) % nc));
  memcpy(work, spectrum, count * sizeof(number));
  backward(work, field);
  for (size_t i = 0; i < count; ++i) right &= cabs(field[i] - first[i]) < 1e-12;
  for (int iteration = 0; iteration < iterations; ++iteration) {
    damp(spectrum);
    memcpy(work, spectrum, count * sizeof(number));
    start_clock();
    backward(work, field);
    number mine = 0, sum = 0;
    for (int i = 0; i < 1024 / size; ++i) mine += field[(size_t)i * 7919 % count];
    MPI_Allreduce(&mine, &sum, 2, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD);
    time += stop_clock();
    right &= fabs(energy(field, count) * all / energy(spectrum, count) - 1) < 1e-12;
  }
  free(field);
  free(first);
  free(spectrum);
  free(work);
  return end_kernel("ft", time, right);
}
