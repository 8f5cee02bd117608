// Jobs that go on without ranks that fail (SimulationOptions::survival): who is killed, who is left, and that
// of a network that is cut in two one side goes on.
#include <gtest/gtest.h>
#include <mpi.h>

#include <algorithm>
#include <string>
#include <vector>

#include "base/time.h"
#include "testbed/simulator/simulation.h"

namespace hawser {
namespace {

struct Left {
  int size = 0;  // of the last communicator; 0: the rank did not get there
  int sum = 0;   // of all ranks' numbers in MPI_COMM_WORLD, in that communicator
};

// Sums over all that live, until all agree that this time has come.
using Sum = bool (*)(MPI_Comm comm, int own, int& sum);

bool plain_sum(MPI_Comm comm, int own, int& sum) {
  return MPI_Allreduce(&own, &sum, 1, MPI_INT, MPI_SUM, comm) == MPI_SUCCESS;
}

Left go_on_until(SimulatedRank& self, Nanoseconds time, Sum add = plain_sum) {
  MPI_Init(nullptr, nullptr);
  MPI_Comm comm = MPI_COMM_WORLD;
  MPI_Comm_set_errhandler(comm, MPI_ERRORS_RETURN);
  int own = 0;
  MPI_Comm_rank(comm, &own);
  Left left;
  for (;;) {
    self.compute(20 * microsecond);
    const bool well = add(comm, own, left.sum);
    if (!well) MPIX_Comm_revoke(comm);
    int words = (well ? 1 : 0) | (self.now() > time ? 2 : 0);
    const bool whole = MPIX_Comm_agree(comm, &words) == MPI_SUCCESS;
    if (whole && words == 3) break;
    if (whole && (words & 1) != 0) continue;
    MPI_Comm smaller = MPI_COMM_NULL;
    EXPECT_EQ(MPIX_Comm_shrink(comm, &smaller), MPI_SUCCESS);
    if (comm != MPI_COMM_WORLD) MPI_Comm_free(&comm);
    comm = smaller;
  }
  MPI_Comm_size(comm, &left.size);
  if (comm != MPI_COMM_WORLD) MPI_Comm_free(&comm);
  MPI_Finalize();
  return left;
}

struct Run {
  SimulationOutcome outcome;
  std::vector<Left> left;
};

Run run(const SimulationOptions& options, Nanoseconds time) {
  Run run;
  run.left.resize(static_cast<std::size_t>(options.ranks));
  run.outcome = Simulation(options).run([&](SimulatedRank& self) {
    run.left[static_cast<std::size_t>(self.rank())] = go_on_until(self, time);
  });
  EXPECT_TRUE(run.outcome.finished()) << run.outcome.report;
  return run;
}

// Those that live are together, and nobody else was heard of.
void expect_left(const Run& run, std::vector<int> killed) {
  std::vector<int> gone = run.outcome.killed;
  std::ranges::sort(gone);
  EXPECT_EQ(gone, killed);
  const int ranks = static_cast<int>(run.left.size());
  int sum = 0;
  for (int rank = 0; rank < ranks; ++rank)
    if (!std::ranges::binary_search(killed, rank)) sum += rank;
  for (int rank = 0; rank < ranks; ++rank) {
    const Left& left = run.left[static_cast<std::size_t>(rank)];
    const bool lives = !std::ranges::binary_search(killed, rank);
    EXPECT_EQ(left.size, lives ? ranks - static_cast<int>(killed.size()) : 0) << rank;
    EXPECT_EQ(left.sum, left.size == 0 ? left.sum : sum) << rank;
  }
}

SimulationOptions surviving(int ranks) {
  SimulationOptions options{.ranks = ranks};
  options.survival.emplace();
  options.time_limit = 60 * second;
  return options;
}

TEST(Survival, KilledRanksAreLeftOut) {
  for (const bool over_rails : {false, true}) {
    SimulationOptions options = surviving(6);
    options.ranks_per_node = 3;
    if (over_rails) {
      options.fabric.emplace();
      options.fabric->ranks_per_host = 2;
    }
    options.survival->kills = {{0, 300 * microsecond}, {4, 310 * microsecond}, {1, 2 * millisecond}};
    expect_left(run(options, 4 * millisecond), {0, 1, 4});
  }
}

// The sum of the ranks' numbers with others under way before and behind it.
bool sum_among_others(MPI_Comm comm, int own, int& sum) {
  int before = 1, behind = 1;
  int to_all[6] = {}, exchanged[6], gathered[6], mine;
  MPI_Request requests[7];
  MPI_Iallreduce(MPI_IN_PLACE, &before, 1, MPI_INT, MPI_SUM, comm, &requests[0]);
  MPI_Iallreduce(&own, &sum, 1, MPI_INT, MPI_SUM, comm, &requests[1]);
  MPI_Ibarrier(comm, &requests[2]);
  MPI_Ibcast(&behind, 1, MPI_INT, 0, comm, &requests[3]);
  MPI_Ialltoall(to_all, 1, MPI_INT, exchanged, 1, MPI_INT, comm, &requests[4]);
  MPI_Igather(&own, 1, MPI_INT, gathered, 1, MPI_INT, 0, comm, &requests[5]);
  MPI_Iscatter(to_all, 1, MPI_INT, &mine, 1, MPI_INT, 0, comm, &requests[6]);
  bool well = true;
  for (MPI_Request& request : requests)
    if (request != MPI_REQUEST_NULL) well &= MPI_Wait(&request, MPI_STATUS_IGNORE) == MPI_SUCCESS;
  return well;
}

// Ranks that are killed at any time while the node's parts of several operations are under way in areas.
TEST(Survival, NobodyWaitsForTheKilledInTheNodesPart) {
  for (int late = 0; late < 24; ++late) {
    SimulationOptions options = surviving(6);
    options.fabric.emplace();
    options.fabric->ranks_per_host = 3;
    options.areas.emplace();
    options.survival->kills = {{late % 6, 300 * microsecond + late * 700}};
    std::vector<Left> left(6);
    const SimulationOutcome outcome = Simulation(options).run([&](SimulatedRank& self) {
      left[static_cast<std::size_t>(self.rank())] = go_on_until(self, 1 * millisecond, sum_among_others);
    });
    ASSERT_TRUE(outcome.finished()) << outcome.report;
    expect_left({outcome, left}, {late % 6});
  }
}

TEST(Survival, TheLastRankStays) {
  SimulationOptions options = surviving(2);
  options.survival->kills = {{1, 100 * microsecond}, {0, 200 * microsecond}};
  expect_left(run(options, 1 * millisecond), {1});
}

// With a cable of each host for each rail, cutting them cuts the host off. It comes back when all is decided.
SimulationOptions cut_off(const std::vector<int>& hosts, int ranks) {
  SimulationOptions options = surviving(ranks);
  options.fabric.emplace();
  options.fabric->ranks_per_host = 2;
  for (const int host : hosts)
    for (const int rail : {0, 1})
      options.fabric->faults +=
          "2ms link n" + std::to_string(host) + "/hw" + std::to_string(rail) + " down\n";
  options.knobs = {{"HAWSER_RAIL_GIVE_UP", "20ms"}};
  return options;
}

TEST(Survival, AHostThatIsCutOffIsLeftOut) {
  for (const int host : {0, 1, 2, 3})
    expect_left(run(cut_off({host}, 8), 100 * millisecond), {2 * host, 2 * host + 1});
}

// Who notices first is not sure; one of them stays, as a whole.
TEST(Survival, OfTwoHostsThatAreCutApartOneGoesOn) {
  for (const int host : {0, 1}) {
    const auto both = run(cut_off({host}, 4), 100 * millisecond);
    ASSERT_EQ(both.outcome.killed.size(), 2u);
    expect_left(both, both.outcome.killed.front() < 2 ? std::vector{0, 1} : std::vector{2, 3});
  }
}

// Without a word of the knob nobody is given up, and the job waits until the network is whole.
TEST(Survival, WithoutPatienceToEndEverybodyWaits) {
  SimulationOptions options = cut_off({1}, 8);
  options.knobs.clear();
  options.fabric->faults += "300ms link n1/hw0 up\n300ms link n1/hw1 up\n";
  expect_left(run(options, 400 * millisecond), {});
}

}  // namespace
}  // namespace hawser
