/* More communicators than a process has shared areas, made and freed by turns, while ranks are late with
 * freeing theirs by times that the second argument draws. The program itself is always the same, so all its
 * sums of floating-point numbers must be, to the last bit.
 * Usage: used_up_areas STEPS SEED. Prints a number made of all bits, and how many communicators added the
 * numbers in the order of the ranks, as areas do, and in another one. */
#include <mpi.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

enum { most = 44, count = 32 };

static int rank, ranks;

/* The program's decisions are drawn alike on all ranks and in all runs, delays are not. */
static uint64_t next(uint64_t* state) {
  uint64_t z = (*state += 0x9e3779b97f4a7c15u);
  z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9u;
  z = (z ^ (z >> 27)) * 0x94d049bb133111ebu;
  return z ^ (z >> 31);
}

/* Magnitudes differ, so the order of additions shows in the sum. */
static double element(int of, int i) {
  uint64_t state = (uint64_t)(of * count + i);
  const uint64_t bits = next(&state);
  return ((double)(bits >> 12) - 2e15) * (double)(1 << bits % 13);
}

static void mix(uint64_t* hash, const void* data, size_t size) {
  const unsigned char* bytes = data;
  for (size_t i = 0; i < size; ++i) *hash = (*hash ^ bytes[i]) * 0x100000001b3u;
}

/* Whether the sums were made from the last rank to the first. */
static int in_order(const double* sums, int size) {
  for (int i = 0; i < count; ++i) {
    double sum = element(size - 1, i);
    for (int r = size - 2; r >= 0; --r) sum = element(r, i) + sum;
    if (memcmp(&sum, &sums[i], sizeof sum) != 0) return 0;
  }
  return 1;
}

static int use(MPI_Comm communicator, uint64_t* hash) {
  double mine[count], sums[count], of_root[count] = {0}, later[count];
  int here, size;
  MPI_Comm_rank(communicator, &here);
  MPI_Comm_size(communicator, &size);
  for (int i = 0; i < count; ++i) mine[i] = element(here, i);
  MPI_Request request;
  MPI_Iallreduce(mine, later, count, MPI_DOUBLE, MPI_SUM, communicator, &request);
  MPI_Allreduce(mine, sums, count, MPI_DOUBLE, MPI_SUM, communicator);
  MPI_Reduce(mine, of_root, count, MPI_DOUBLE, MPI_SUM, size - 1, communicator);
  MPI_Wait(&request, MPI_STATUS_IGNORE);
  mix(hash, sums, sizeof sums);
  mix(hash, of_root, sizeof of_root);
  mix(hash, later, sizeof later);
  return in_order(sums, size);
}

static MPI_Comm make(uint64_t drawn) {
  MPI_Comm made;
  MPI_Request request;
  switch (drawn % 4) {
    case 0:  // another rank comes first
      MPI_Comm_split(MPI_COMM_WORLD, 0, (rank + 1) % ranks, &made);
      break;
    case 1:
      MPI_Comm_idup(MPI_COMM_WORLD, &made, &request);
      MPI_Wait(&request, MPI_STATUS_IGNORE);
      break;
    default:
      MPI_Comm_dup(MPI_COMM_WORLD, &made);
  }
  return made;
}

/* Something of the communicator may still be under way when it is freed. */
static void end(MPI_Comm* communicator, uint64_t drawn, uint64_t* delays, uint64_t* hash) {
  const struct timespec delay = {0, (long)(next(delays) % 200000)};
  if (next(delays) % 4 == 0) nanosleep(&delay, NULL);
  double mine = element(rank, 0), sum = 0;
  MPI_Request request = MPI_REQUEST_NULL;
  if (drawn % 3 == 0) MPI_Iallreduce(&mine, &sum, 1, MPI_DOUBLE, MPI_SUM, *communicator, &request);
  MPI_Comm_free(communicator);
  MPI_Wait(&request, MPI_STATUS_IGNORE);
  mix(hash, &sum, sizeof sum);
}

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  if (argc != 3) MPI_Abort(MPI_COMM_WORLD, 2);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &ranks);
  uint64_t program = 1, delays = (uint64_t)(atol(argv[2]) * 1000 + rank), hash = 0xcbf29ce484222325u, all = 0;
  MPI_Comm living[most];
  int alive = 0, with = 0, without = 0;
  for (long step = atol(argv[1]); step > 0; --step) {
    const uint64_t drawn = next(&program);
    if (alive < most && drawn % 9 < (alive < 36 ? 8 : 4)) {
      living[alive] = make(drawn / 16);
      use(living[alive++], &hash) ? ++with : ++without;
    } else {
      const int chosen = (int)(drawn / 16 % (uint64_t)alive);
      end(&living[chosen], drawn / 1024, &delays, &hash);
      living[chosen] = living[--alive];
    }
  }
  while (alive > 0) end(&living[--alive], 1, &delays, &hash);
  MPI_Reduce(&hash, &all, 1, MPI_UINT64_T, MPI_BXOR, 0, MPI_COMM_WORLD);
  if (rank == 0) printf("%016llx in order %d, otherwise %d\n", (unsigned long long)all, with, without);
  MPI_Finalize();
  return 0;
}
