/* All ranks exchange messages of all sizes with all others, every byte checked, until rank 0's input ends. A
   line on rank 0's input is answered with the number of rounds so far and the longest round since the last
   answer (ms). At the end: `N rounds right`. */
#include <mpi.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static const int sizes[] = {8, 1000, 7000, 20000, 65536, 150001};
enum { kinds = sizeof sizes / sizeof *sizes, largest = 150001 };

/* Words of a xorshift generator, seeded by sender, receiver, round: a message in a wrong place does not fit.
 */
static void fill(unsigned char* bytes, int count, int from, int to, long round) {
  unsigned long long x =
      0x9E3779B97F4A7C15ULL ^ ((unsigned long long)round << 20) ^ (unsigned)(from * 1024 + to);
  for (int at = 0; at < count; at += 8) {
    x ^= x << 13;
    x ^= x >> 7;
    x ^= x << 17;
    memcpy(bytes + at, &x, count - at < 8 ? (size_t)(count - at) : 8);
  }
}

static void exchange(unsigned char* out, unsigned char* in, unsigned char* wanted, int self, int ranks,
                     long round) {
  MPI_Request* requests = malloc(2 * (size_t)ranks * sizeof *requests);
  int count = 0;
  for (int peer = 0; peer < ranks; ++peer) {
    if (peer == self) continue;
    /* Both ends know the size, which differs between the pairs of a round. */
    const int size = sizes[(round + self + peer) % kinds];
    unsigned char* const place = in + (size_t)peer * largest;
    memset(place, 0xEE, (size_t)size);
    MPI_Irecv(place, size, MPI_BYTE, peer, (int)(round % 32768), MPI_COMM_WORLD, &requests[count++]);
  }
  for (int peer = 0; peer < ranks; ++peer) {
    if (peer == self) continue;
    const int size = sizes[(round + self + peer) % kinds];
    unsigned char* const place = out + (size_t)peer * largest;
    fill(place, size, self, peer, round);
    MPI_Isend(place, size, MPI_BYTE, peer, (int)(round % 32768), MPI_COMM_WORLD, &requests[count++]);
  }
  MPI_Waitall(count, requests, MPI_STATUSES_IGNORE);
  free(requests);
  for (int peer = 0; peer < ranks; ++peer) {
    if (peer == self) continue;
    const int size = sizes[(round + self + peer) % kinds];
    fill(wanted, size, peer, self, round);
    if (memcmp(wanted, in + (size_t)peer * largest, (size_t)size) != 0) {
      int at = 0;
      while (wanted[at] == in[(size_t)peer * largest + (size_t)at]) ++at;
      printf("WRONG: round %ld, %d bytes from %d to %d: byte %d\n", round, size, peer, self, at);
      fflush(stdout);
      MPI_Abort(MPI_COMM_WORLD, 3);
    }
  }
}

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  int self, ranks, go = 1;
  MPI_Comm_rank(MPI_COMM_WORLD, &self);
  MPI_Comm_size(MPI_COMM_WORLD, &ranks);
  unsigned char* out = malloc((size_t)ranks * largest);
  unsigned char* in = malloc((size_t)ranks * largest);
  unsigned char* wanted = malloc(largest);
  long round = 0;
  double longest = 0, before = MPI_Wtime();
  for (; go; ++round) {
    exchange(out, in, wanted, self, ranks, round);
    const double at = MPI_Wtime();
    if (at - before > longest) longest = at - before;
    before = at;
    struct pollfd input = {0, POLLIN, 0};
    if (self == 0 && poll(&input, 1, 0) > 0) {
      char line[64];
      go = read(0, line, sizeof line) > 0;
      printf("%ld rounds, longest %.1f ms\n", round + 1, longest * 1e3);
      fflush(stdout);
      longest = 0;
    }
    MPI_Bcast(&go, 1, MPI_INT, 0, MPI_COMM_WORLD);
  }
  long rounds = 0;
  MPI_Allreduce(&round, &rounds, 1, MPI_LONG, MPI_MIN, MPI_COMM_WORLD);
  if (self == 0) printf("%ld rounds right\n", rounds);
  free(out);
  free(in);
  free(wanted);
  MPI_Finalize();
  return 0;
}
