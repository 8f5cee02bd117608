// Processes that put, get and accumulate in each other's windows without end, and check every number. Each
// round is a plan of its own (testbed/campaign/epoch_plan.h): windows of all kinds, epochs of all kinds.
// Process 0 obeys its input: for each line it prints how many rounds there were since the last, and the
// longest of them in microseconds; at the end of the input all finish, and it prints what was done.
#include <mpi.h>
#include <poll.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <exception>

#include "testbed/campaign/epoch_traffic.h"

namespace {

// Operations of this process.
std::uint64_t play(std::uint64_t round) {
  int ranks = 0;
  MPI_Comm_size(MPI_COMM_WORLD, &ranks);
  hawser::Random random(round);
  hawser::EpochShape shape{.ranks = ranks, .epochs = 3, .part = 40'000, .none = 0, .computing = false};
  const hawser::EpochPlan plan = hawser::draw_epochs(shape, random);
  hawser::Buffers buffers;
  hawser::EpochTraffic traffic(plan, buffers, {});
  traffic.open();
  for (std::size_t epoch = 0; epoch < plan.epochs.size(); ++epoch) {
    traffic.begin(epoch);
    traffic.end(epoch);
  }
  traffic.close();
  if (const std::string damage = buffers.find_damage(); !damage.empty()) throw std::runtime_error(damage);
  return traffic.operations();
}

}  // namespace

int main(int count, char** words) {
  MPI_Init(&count, &words);
  int self = 0;
  MPI_Comm_rank(MPI_COMM_WORLD, &self);
  std::uint64_t round = 1, last_told = 1, operations = 0;
  double longest = 0, before = MPI_Wtime();
  for (int go = 1; go != 0; ++round) {
    try {
      operations += play(round);
    } catch (const std::exception& wrong) {
      std::printf("round %llu: %s\n", static_cast<unsigned long long>(round), wrong.what());
      std::fflush(stdout);
      MPI_Abort(MPI_COMM_WORLD, 3);
    }
    const double now = MPI_Wtime();
    longest = std::max(longest, now - before);
    before = now;
    pollfd input{0, POLLIN, 0};
    if (self == 0 && ::poll(&input, 1, 0) > 0) {
      char line[64];
      go = ::read(0, line, sizeof line) > 0 ? 1 : 0;
      if (go != 0) {
        std::printf("%llu %.0f\n", static_cast<unsigned long long>(round + 1 - last_told), longest * 1e6);
        std::fflush(stdout);
        last_told = round + 1;
        longest = 0;
      }
    }
    MPI_Bcast(&go, 1, MPI_INT, 0, MPI_COMM_WORLD);
  }
  MPI_Allreduce(MPI_IN_PLACE, &operations, 1, MPI_UINT64_T, MPI_SUM, MPI_COMM_WORLD);
  if (self == 0)
    std::printf("%llu rounds right, %llu operations\n", static_cast<unsigned long long>(round - 1),
                static_cast<unsigned long long>(operations));
  MPI_Finalize();
  return 0;
}
