// Two processes that exchange messages of all sizes without end and check every byte. Process 0 obeys its
// input: for each line it prints how many rounds there were since the last, and the longest of them in
// microseconds; at the end of the input both finish.
#include <mpi.h>
#include <poll.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <vector>

namespace {

constexpr int sizes[] = {0, 8, 1000, 7000, 20'000, 65'536, 300'001, 1 << 20};
constexpr int window = 3;

unsigned char expected(int from, long round, int message, std::size_t at) {
  return static_cast<unsigned char>(at * 131 + static_cast<std::size_t>(round * 17 + message * 5 + from));
}

struct Buffers {
  explicit Buffers(std::size_t bytes) : out(window, std::vector<unsigned char>(bytes)), in(out) {}
  std::vector<std::vector<unsigned char>> out, in;
};

void exchange(Buffers& buffers, int self, long round, int size) {
  MPI_Request requests[2 * window];
  for (int m = 0; m < window; ++m) {
    auto& in = buffers.in[static_cast<std::size_t>(m)];
    std::fill(in.begin(), in.begin() + size, static_cast<unsigned char>(0xEE));
    MPI_Irecv(in.data(), size, MPI_BYTE, 1 - self, m, MPI_COMM_WORLD, &requests[m]);
  }
  for (int m = 0; m < window; ++m) {
    auto& out = buffers.out[static_cast<std::size_t>(m)];
    for (std::size_t at = 0; at < static_cast<std::size_t>(size); ++at)
      out[at] = expected(self, round, m, at);
    MPI_Isend(out.data(), size, MPI_BYTE, 1 - self, m, MPI_COMM_WORLD, &requests[window + m]);
  }
  MPI_Waitall(2 * window, requests, MPI_STATUSES_IGNORE);
  for (int m = 0; m < window; ++m)
    for (std::size_t at = 0; at < static_cast<std::size_t>(size); ++at)
      if (buffers.in[static_cast<std::size_t>(m)][at] != expected(1 - self, round, m, at)) {
        std::printf("round %ld, message %d of %d bytes: byte %zu is wrong\n", round, m, size, at);
        std::fflush(stdout);
        MPI_Abort(MPI_COMM_WORLD, 3);
      }
}

}  // namespace

int main(int count, char** words) {
  MPI_Init(&count, &words);
  int self = 0;
  MPI_Comm_rank(MPI_COMM_WORLD, &self);
  Buffers buffers(1 << 20);
  long round = 0, last_told = 0;
  double longest = 0, before = MPI_Wtime();
  for (int go = 1; go != 0; ++round) {
    exchange(buffers, self, round, sizes[static_cast<std::size_t>(round) % std::size(sizes)]);
    const double now = MPI_Wtime();
    longest = std::max(longest, now - before);
    before = now;
    pollfd input{0, POLLIN, 0};
    if (self == 0 && ::poll(&input, 1, 0) > 0) {
      char line[64];
      go = ::read(0, line, sizeof line) > 0 ? 1 : 0;
      if (go != 0) {
        std::printf("%ld %.0f\n", round + 1 - last_told, longest * 1e6);
        std::fflush(stdout);
        last_told = round + 1;
        longest = 0;
      }
    }
    MPI_Bcast(&go, 1, MPI_INT, 0, MPI_COMM_WORLD);
  }
  if (self == 0) std::printf("%ld rounds right\n", round);
  MPI_Finalize();
  return 0;
}
