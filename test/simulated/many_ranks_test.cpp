// What is asked of the simulator at least: 256 ranks run an all-reduce and an all-to-all in one process, and two
// runs with one seed have one trace. And how a job ends that does not end well.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <mpi.h>

#include <chrono>
#include <cstdio>
#include <numeric>
#include <set>
#include <vector>

#include "testbed/simulator/simulation.h"

namespace hawser {
namespace {

using ::testing::HasSubstr;

void allreduce_and_alltoall(SimulatedRank&) {
  MPI_Init(nullptr, nullptr);
  int rank = -1, size = 0;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  for (int length : {1, 100, 4000}) {
    std::vector<long long> mine(static_cast<std::size_t>(length)), sum(static_cast<std::size_t>(length));
    std::iota(mine.begin(), mine.end(), rank);
    EXPECT_EQ(MPI_Allreduce(mine.data(), sum.data(), length, MPI_LONG_LONG, MPI_SUM, MPI_COMM_WORLD),
              MPI_SUCCESS);
    const long long ranks = static_cast<long long>(size) * (size - 1) / 2;
    for (int i = 0; i < length; ++i)
      ASSERT_EQ(sum[static_cast<std::size_t>(i)], ranks + static_cast<long long>(size) * i);
  }
  for (int length : {1, 32}) {
    const auto all = static_cast<std::size_t>(length) * static_cast<std::size_t>(size);
    std::vector<int> out(all), in(all, -1);
    for (std::size_t i = 0; i < all; ++i) out[i] = rank * 100'000 + static_cast<int>(i);
    EXPECT_EQ(MPI_Alltoall(out.data(), length, MPI_INT, in.data(), length, MPI_INT, MPI_COMM_WORLD),
              MPI_SUCCESS);
    for (int peer = 0; peer < size; ++peer) {
      for (int i = 0; i < length; ++i) {
        ASSERT_EQ(in[static_cast<std::size_t>(peer * length + i)], peer * 100'000 + rank * length + i);
      }
    }
  }
  MPI_Finalize();
}

SimulationOutcome run(const SimulationOptions& options, const Simulation::Body& body) {
  const auto begin = std::chrono::steady_clock::now();
  const SimulationOutcome outcome = Simulation(options).run(body);
  const std::chrono::duration<double> elapsed = std::chrono::steady_clock::now() - begin;
  std::printf("%s; %.2f s, %.2f million messages/s\n", summary(options, outcome).c_str(), elapsed.count(),
              static_cast<double>(outcome.messages) / elapsed.count() / 1e6);
  return outcome;
}

TEST(ManyRanks, TwoHundredFiftySix) {
  const SimulationOptions options{.ranks = 256, .seed = 7};
  const auto first = run(options, allreduce_and_alltoall), second = run(options, allreduce_and_alltoall);
  EXPECT_TRUE(first.finished()) << first.report;
  EXPECT_EQ(first.trace_hash, second.trace_hash);
  EXPECT_EQ(first.virtual_time, second.virtual_time);
}

TEST(ManyRanks, SeedsDifferWithJitter) {
  std::set<std::uint64_t> hashes;
  for (std::uint64_t seed = 1; seed <= 3; ++seed) {
    const SimulationOptions options{.ranks = 48, .seed = seed, .model = {.jitter = 0.5}, .ranks_per_node = 4};
    const auto first = run(options, allreduce_and_alltoall);
    EXPECT_TRUE(first.finished()) << first.report;
    EXPECT_EQ(first.trace_hash, run(options, allreduce_and_alltoall).trace_hash);
    hashes.insert(first.trace_hash);
  }
  EXPECT_EQ(hashes.size(), 3u);
}

TEST(ManyRanks, DeadlockNamesTheFunction) {
  const auto outcome = run({.ranks = 3}, [](SimulatedRank& rank) {
    MPI_Init(nullptr, nullptr);
    int value = 0;
    if (rank.rank() == 0) MPI_Recv(&value, 1, MPI_INT, 1, 42, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    if (rank.rank() == 1) MPI_Ssend(&value, 1, MPI_INT, 0, 43, MPI_COMM_WORLD);
    if (rank.rank() == 2) MPI_Probe(MPI_ANY_SOURCE, 5, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    MPI_Finalize();
  });
  EXPECT_EQ(outcome.kind, SimulationOutcome::Kind::deadlock);
  EXPECT_THAT(outcome.report, HasSubstr("rank 0: waits in MPI_Recv: receive from rank 1, tag 42"));
  EXPECT_THAT(outcome.report, HasSubstr("rank 1: waits in MPI_Ssend: synchronous send to process 0, tag 43"));
  EXPECT_THAT(outcome.report, HasSubstr("rank 2: waits in MPI_Probe"));
}

TEST(ManyRanks, AbortEndsTheSimulatedJobOnly) {
  const auto outcome = run({.ranks = 5}, [](SimulatedRank& rank) {
    MPI_Init(nullptr, nullptr);
    if (rank.rank() == 3) MPI_Abort(MPI_COMM_WORLD, 77);
    MPI_Barrier(MPI_COMM_WORLD);
    MPI_Finalize();
  });
  EXPECT_EQ(outcome.kind, SimulationOutcome::Kind::aborted);
  EXPECT_EQ(outcome.exit_code, 77);
}

TEST(ManyRanks, FatalErrorEndsTheSimulatedJobOnly) {
  const auto outcome = run({.ranks = 2}, [](SimulatedRank& rank) {
    MPI_Init(nullptr, nullptr);
    int value = 0;
    if (rank.rank() == 1) MPI_Send(&value, 1, MPI_INT, 99, 0, MPI_COMM_WORLD);
    MPI_Barrier(MPI_COMM_WORLD);
    MPI_Finalize();
  });
  EXPECT_EQ(outcome.kind, SimulationOutcome::Kind::aborted);
  EXPECT_THAT(outcome.report, HasSubstr("MPI_Send"));
}

TEST(ManyRanks, WtimeIsVirtual) {
  const auto outcome = run({.ranks = 2}, [](SimulatedRank& rank) {
    MPI_Init(nullptr, nullptr);
    const double begin = MPI_Wtime();
    rank.compute(3'000'000'000);
    const double elapsed = MPI_Wtime() - begin;
    EXPECT_GE(elapsed, 3.0);
    EXPECT_LT(elapsed, 3.001);
    // A loop that waits by looking at the clock ends.
    const double until = MPI_Wtime() + 1e-3;
    while (MPI_Wtime() < until) {
    }
    MPI_Finalize();
  });
  EXPECT_TRUE(outcome.finished()) << outcome.report;
}

}  // namespace
}  // namespace hawser
