// Small collective operations of one node with so many ranks that some or all go in levels, in shared memory
// and in virtual time.
#include <gtest/gtest.h>
#include <mpi.h>

#include <numeric>
#include <string>
#include <vector>

#include "ordered_reduction.h"
#include "testbed/simulator/simulation.h"

namespace hawser {
namespace {

SimulationOptions node_of(int ranks, const AreaCost& cost = {}) {
  return {.ranks = ranks, .ranks_per_node = ranks, .areas = cost};
}

Affine step_of(int rank, int round) {
  return {static_cast<std::uint32_t>(2 * rank + 3), static_cast<std::uint32_t>(rank * rank + round)};
}

class LargeNode : public testing::TestWithParam<int> {};
INSTANTIATE_TEST_SUITE_P(Ranks, LargeNode, testing::Values(8, 11, 12, 16, 17, 24, 64, 65, 100));

void reduce_from_every_root(SimulatedRank& self) {
  const AffineReduction affine;
  const int ranks = self.size();
  for (int round = 0; round < ranks + 40; ++round) {
    const int root = round % ranks;
    Affine all = step_of(0, round);
    for (int r = 1; r < ranks; ++r) all = after(all, step_of(r, round));
    if ((self.rank() * 7 + round) % 5 == 0) self.compute(2000 * (self.rank() % 3));
    Affine mine = step_of(self.rank(), round), result{};
    MPI_Allreduce(&mine, &result, 1, affine.type, affine.op, MPI_COMM_WORLD);
    EXPECT_EQ(result, all) << round;
    result = {};
    MPI_Reduce(&mine, &result, 1, affine.type, affine.op, root, MPI_COMM_WORLD);
    EXPECT_EQ(result, self.rank() == root ? all : Affine{}) << round;
    MPI_Allreduce(MPI_IN_PLACE, &mine, 1, affine.type, affine.op, MPI_COMM_WORLD);
    EXPECT_EQ(mine, all) << round;
    Affine told = self.rank() == root ? step_of(root, round) : Affine{};
    MPI_Bcast(&told, 1, affine.type, root, MPI_COMM_WORLD);
    EXPECT_EQ(told, step_of(root, round));
  }
}

// Every root, in place and not, with ranks that come late at random; more operations than a rank has lines.
TEST_P(LargeNode, OperationsKeepTheOrderOfRanks) {
  const SimulationOutcome outcome = Simulation(node_of(GetParam())).run([](SimulatedRank& self) {
    MPI_Init(nullptr, nullptr);
    reduce_from_every_root(self);
    MPI_Finalize();
  });
  EXPECT_TRUE(outcome.finished()) << outcome.report;
}

TEST_P(LargeNode, SmallAndLargeOperationsTakeTurns) {
  const SimulationOutcome outcome = Simulation(node_of(GetParam())).run([](SimulatedRank& self) {
    MPI_Init(nullptr, nullptr);
    const int ranks = self.size();
    for (int round = 0; round < 40; ++round) {
      const int root = (round * 11) % ranks;
      for (int count : {1, 40'000, 12, 100}) {
        std::vector<int> data(static_cast<std::size_t>(count), self.rank() == root ? round : -1);
        MPI_Bcast(data.data(), count, MPI_INT, root, MPI_COMM_WORLD);
        EXPECT_EQ(data, std::vector<int>(static_cast<std::size_t>(count), round));
      }
      if (round % 3 == 0) MPI_Barrier(MPI_COMM_WORLD);
      int sum = self.rank();
      if (round % 4 == 0) MPI_Allreduce(MPI_IN_PLACE, &sum, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
      EXPECT_EQ(sum, round % 4 == 0 ? ranks * (ranks - 1) / 2 : self.rank());
      std::vector<int> gathered(static_cast<std::size_t>(ranks));
      const int mine = self.rank() + round;
      MPI_Gather(&mine, 1, MPI_INT, gathered.data(), 1, MPI_INT, root, MPI_COMM_WORLD);
      EXPECT_EQ(gathered.back(), self.rank() == root ? ranks - 1 + round : 0);
    }
    MPI_Finalize();
  });
  EXPECT_TRUE(outcome.finished()) << outcome.report;
}

// The node's part of operations of two nodes, of which several are under way, of all kinds in turn.
TEST(LargeNodes, OperationsUnderWayKeepStep) {
  const SimulationOutcome outcome =
      Simulation({.ranks = 40, .ranks_per_node = 20, .areas = AreaCost{}}).run([](SimulatedRank& self) {
        MPI_Init(nullptr, nullptr);
        const int ranks = self.size();
        for (int round = 0; round < 60; ++round) {
          const int root = (round * 7) % ranks;
          MPI_Request requests[4];
          int sum = 0, all = self.rank(), told = self.rank() == root ? round : -1;
          const int mine = self.rank() + round;
          MPI_Ibarrier(MPI_COMM_WORLD, &requests[0]);
          MPI_Ireduce(&mine, &sum, 1, MPI_INT, MPI_SUM, root, MPI_COMM_WORLD, &requests[1]);
          MPI_Ibcast(&told, 1, MPI_INT, root, MPI_COMM_WORLD, &requests[2]);
          MPI_Iallreduce(MPI_IN_PLACE, &all, 1, MPI_INT, MPI_MAX, MPI_COMM_WORLD, &requests[3]);
          if ((self.rank() + round) % 6 == 0) self.compute(3000);
          MPI_Waitall(4, requests, MPI_STATUSES_IGNORE);
          EXPECT_EQ(sum, self.rank() == root ? ranks * (ranks - 1) / 2 + ranks * round : 0);
          EXPECT_EQ(told, round);
          EXPECT_EQ(all, ranks - 1);
          for (int i = 0; i < round % 5; ++i) {
            MPI_Request barrier;
            MPI_Ibarrier(MPI_COMM_WORLD, &barrier);
            MPI_Wait(&barrier, MPI_STATUS_IGNORE);
          }
        }
        for (int i = 0; i < 200; ++i) {
          MPI_Request barrier;
          MPI_Ibarrier(MPI_COMM_WORLD, &barrier);
          MPI_Wait(&barrier, MPI_STATUS_IGNORE);
        }
        MPI_Finalize();
      });
  EXPECT_TRUE(outcome.finished()) << outcome.report;
}

// A barrier is one: nobody leaves before the last has come.
TEST_P(LargeNode, NobodyLeavesABarrierEarly) {
  constexpr Nanoseconds late = 100'000;
  const SimulationOutcome outcome = Simulation(node_of(GetParam())).run([](SimulatedRank& self) {
    MPI_Init(nullptr, nullptr);
    for (int round = 0; round < self.size(); round += 5) {
      MPI_Barrier(MPI_COMM_WORLD);
      const Nanoseconds begin = self.now();
      if (self.rank() == round) self.compute(late);
      MPI_Barrier(MPI_COMM_WORLD);
      EXPECT_GE(self.now(), begin + late - 20'000);
    }
    MPI_Finalize();
  });
  EXPECT_TRUE(outcome.finished()) << outcome.report;
}

// The longest chain of lines that are read one after the other, in an operation of all ranks at once, where
// nothing else takes time.
std::vector<int> longest_chains(int ranks) {
  constexpr Nanoseconds line = 1000;
  const AreaCost only_lines{
      .flag = 0, .line = line, .wait = 0, .in_picoseconds_per_byte = 0, .out_picoseconds_per_byte = 0};
  std::vector<int> chains;
  SimulationOptions options = node_of(ranks, only_lines);
  const SimulationOutcome outcome = Simulation(options).run([&chains, ranks](SimulatedRank& self) {
    MPI_Init(nullptr, nullptr);
    const auto time = [&](auto operation) {
      constexpr int rounds = 8;
      Nanoseconds sum = 0;
      for (int round = 0; round < rounds; ++round) {
        MPI_Barrier(MPI_COMM_WORLD);
        self.compute(1'000'000 - self.now() % 1'000'000);  // so that all begin at the same time
        const Nanoseconds begin = self.now();
        operation();
        sum += self.now() - begin;
      }
      Nanoseconds longest = 0;
      MPI_Allreduce(&sum, &longest, 1, MPI_INT64_T, MPI_MAX, MPI_COMM_WORLD);
      if (self.rank() == 0) chains.push_back(static_cast<int>(longest / rounds / line));
    };
    int value = 1, result = 0;
    time([] { MPI_Barrier(MPI_COMM_WORLD); });
    time([&] { MPI_Bcast(&value, 1, MPI_INT, 0, MPI_COMM_WORLD); });
    time([&] { MPI_Reduce(&value, &result, 1, MPI_INT, MPI_SUM, ranks - 1, MPI_COMM_WORLD); });
    time([&] { MPI_Allreduce(&value, &result, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD); });
    MPI_Finalize();
  });
  EXPECT_TRUE(outcome.finished()) << outcome.report;
  return chains;
}

TEST(LargeNodeLines, AreReadByFewOneAfterTheOther) {
  for (const int ranks : {2, 4, 8, 16, 17, 32, 64, 128, 192, 256}) {
    const std::vector<int> chains = longest_chains(ranks);
    ASSERT_EQ(chains.size(), 4u);
    std::string text;
    for (const int chain : chains) {
      text += ' ' + std::to_string(chain);
      EXPECT_LE(chain, ranks <= 16 ? ranks + 1 : 36) << ranks;
    }
    std::printf("%d ranks: barrier, broadcast, reduce, allreduce:%s lines\n", ranks, text.c_str());
  }
}

}  // namespace
}  // namespace hawser
