// Accumulates, fetch_and_op and locks of a process that computes for 1 s and calls no function of MPI, over
// rails: with interrupts its library answers meanwhile. doc/one_sided.md has the figures.
#include <gtest/gtest.h>
#include <mpi.h>

#include <algorithm>
#include <cstdio>
#include <functional>
#include <vector>

#include "base/time.h"
#include "testbed/simulator/simulation.h"

namespace hawser {
namespace {

constexpr int turns = 200;
constexpr Nanoseconds computation = second;

struct Times {
  Nanoseconds median = 0, longest = 0;
};

// How long rank 0 takes for one, while rank 1 computes.
Times measure(const char* progress, const std::function<void(MPI_Win)>& operate) {
  SimulationOptions options{.ranks = 2};
  options.fabric.emplace();
  options.fabric->parameters = "link-rate 200MB/s\nlink-latency 2us\n";
  options.knobs = {{"HAWSER_PROGRESS", progress}};
  std::vector<Nanoseconds> times;
  const auto body = [&](SimulatedRank& self) {
    MPI_Init(nullptr, nullptr);
    long* memory = nullptr;
    MPI_Win win;
    MPI_Win_allocate(sizeof *memory, sizeof *memory, MPI_INFO_NULL, MPI_COMM_WORLD, &memory, &win);
    *memory = 0;
    MPI_Win_fence(0, win);
    int rank = 0;
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    if (rank == 0) operate(win);  // connects
    MPI_Win_fence(MPI_MODE_NOSUCCEED, win);
    if (rank == 1) self.compute(computation);
    for (int i = 0; rank == 0 && i < turns; ++i) {
      const Nanoseconds begin = self.now();
      MPI_Win_lock(MPI_LOCK_EXCLUSIVE, 1, 0, win);
      operate(win);
      MPI_Win_unlock(1, win);
      times.push_back(self.now() - begin);
      self.compute(millisecond);
    }
    MPI_Barrier(MPI_COMM_WORLD);
    MPI_Win_free(&win);
    MPI_Finalize();
  };
  const SimulationOutcome outcome = Simulation(options).run(body);
  EXPECT_TRUE(outcome.finished()) << outcome.report;
  std::sort(times.begin(), times.end());
  return times.empty() ? Times{} : Times{times[times.size() / 2], times.back()};
}

// Buffers of operations until the epoch is over; only rank 0 has any.
const long one = 1;
long before = 0;

void lock_alone(MPI_Win) {}
void accumulate(MPI_Win win) { MPI_Accumulate(&one, 1, MPI_LONG, 1, 0, 1, MPI_LONG, MPI_SUM, win); }
void fetch_and_add(MPI_Win win) { MPI_Fetch_and_op(&one, &before, MPI_LONG, 1, 0, MPI_SUM, win); }

struct Case {
  const char* name;
  void (*operate)(MPI_Win);
};

class ComputingTarget : public testing::TestWithParam<Case> {};

TEST_P(ComputingTarget, AnswersWithInterrupts) {
  const Times times = measure("interrupt", GetParam().operate);
  std::printf("lock, %s, unlock: median %.1f us, longest %.1f us\n", GetParam().name,
              static_cast<double>(times.median) / 1e3, static_cast<double>(times.longest) / 1e3);
  EXPECT_LE(times.median, 200 * microsecond);
  EXPECT_LE(times.longest, 10 * millisecond);
}

// That the test can fail: without interrupts the first one waits for the rest of the computation.
TEST_P(ComputingTarget, LetsWaitWithoutThem) {
  EXPECT_GE(measure("polling", GetParam().operate).longest, computation / 2);
}

INSTANTIATE_TEST_SUITE_P(All, ComputingTarget,
                         testing::Values(Case{"nothing", lock_alone}, Case{"accumulate", accumulate},
                                         Case{"fetch_and_op", fetch_and_add}),
                         [](const auto& info) { return std::string(info.param.name); });

}  // namespace
}  // namespace hawser
