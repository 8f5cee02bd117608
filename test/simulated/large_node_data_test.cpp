// Collective operations of more than 16 ranks of one node whose data do not fit lines, which go in levels, in
// shared memory and in virtual time.
#include <gtest/gtest.h>
#include <mpi.h>

#include <vector>

#include "ordered_reduction.h"
#include "testbed/simulator/simulation.h"

namespace hawser {
namespace {

using Vector = std::vector<Affine>;

Vector operand_of(int rank, int round, int count) {
  Vector all;
  for (int i = 0; i < count; ++i)
    all.push_back(
        {static_cast<std::uint32_t>(2 * (rank + i) + 3), static_cast<std::uint32_t>(rank * i + round)});
  return all;
}

Vector reduced(int ranks, int round, int count) {
  Vector all = operand_of(ranks - 1, round, count);
  for (int r = ranks - 2; r >= 0; --r)
    AffineReduction::compose(operand_of(r, round, count).data(), all.data(), &count, nullptr);
  return all;
}

class LargeNodeData : public testing::TestWithParam<int> {
 protected:
  template <class Body>
  static void run(Body body) {
    const int ranks = GetParam();
    const SimulationOutcome outcome =
        Simulation({.ranks = ranks, .ranks_per_node = ranks, .areas = AreaCost{}})
            .run([&body](SimulatedRank& self) {
              MPI_Init(nullptr, nullptr);
              body(self);
              MPI_Finalize();
            });
    EXPECT_TRUE(outcome.finished()) << outcome.report;
  }
};
INSTANTIATE_TEST_SUITE_P(Ranks, LargeNodeData, testing::Values(17, 18, 24, 31, 64, 100, 128));

void be_late(SimulatedRank& self, int round) {
  if ((self.rank() * 7 + round) % 5 == 0) self.compute(3000 * (self.rank() % 3));
}

void reduce_all_ways(SimulatedRank& self, const AffineReduction& affine, int round, int count) {
  const int ranks = self.size(), root = round * 5 % ranks;
  const Vector all = reduced(ranks, round, count);
  const auto at = static_cast<std::size_t>(count);
  Vector mine = operand_of(self.rank(), round, count), result(at);
  be_late(self, round);
  MPI_Reduce(mine.data(), result.data(), count, affine.type, affine.op, root, MPI_COMM_WORLD);
  EXPECT_EQ(result, self.rank() == root ? all : Vector(at)) << round << ' ' << count;
  MPI_Allreduce(mine.data(), result.data(), count, affine.type, affine.op, MPI_COMM_WORLD);
  EXPECT_EQ(result, all) << round << ' ' << count;
  result = mine;
  MPI_Reduce(self.rank() == root ? MPI_IN_PLACE : mine.data(), result.data(), count, affine.type, affine.op,
             root, MPI_COMM_WORLD);
  EXPECT_EQ(result, self.rank() == root ? all : mine) << round << ' ' << count;
  MPI_Allreduce(MPI_IN_PLACE, mine.data(), count, affine.type, affine.op, MPI_COMM_WORLD);
  EXPECT_EQ(mine, all) << round << ' ' << count;
}

// Every root, in place and not, with ranks that come late.
TEST_P(LargeNodeData, ReductionsKeepTheOrderOfRanks) {
  run([](SimulatedRank& self) {
    const AffineReduction affine;
    const int counts[] = {7, 13, 128, 129, 500, 2100};
    for (int round = 0; round < self.size() + 12; ++round)
      reduce_all_ways(self, affine, round, counts[round % 6]);
    reduce_all_ways(self, affine, 1, 20'000);
  });
}

// In one piece and in several, to every root, in place and not, with ranks that come late.
TEST_P(LargeNodeData, MuchDataIsAddedUpAtTheRoot) {
  run([](SimulatedRank& self) {
    const int ranks = self.size();
    for (int round = 0; round < ranks; ++round) {
      const int root = round, count = round % 3 == 0 ? 1100 : round % 3 == 1 ? 3000 : 9001;
      std::vector<long> mine(static_cast<std::size_t>(count)), all(mine.size()), result(mine.size());
      for (int i = 0; i < count; ++i) {
        mine[static_cast<std::size_t>(i)] = self.rank() * 3L + i;
        all[static_cast<std::size_t>(i)] = 3L * ranks * (ranks - 1) / 2 + static_cast<long>(i) * ranks;
      }
      be_late(self, round);
      const bool at_root = self.rank() == root;
      MPI_Reduce(mine.data(), result.data(), count, MPI_LONG, MPI_SUM, root, MPI_COMM_WORLD);
      EXPECT_EQ(result, at_root ? all : std::vector<long>(mine.size())) << round;
      result = mine;
      MPI_Reduce(at_root ? MPI_IN_PLACE : mine.data(), result.data(), count, MPI_LONG, MPI_SUM, root,
                 MPI_COMM_WORLD);
      EXPECT_EQ(result, at_root ? all : mine) << round;
    }
  });
}

TEST_P(LargeNodeData, NobodyWaitsForTheRootOfAReduction) {
  int done = 0;
  run([&done](SimulatedRank& self) {
    const int ranks = self.size();
    int before = 0;
    for (const int root : {0, 5, ranks - 1}) {
      std::vector<long> mine(1100, 1), result(1100);
      if (self.rank() == root) {
        self.compute(1'000'000);
        EXPECT_EQ(done, before + ranks - 1) << root;
      }
      MPI_Reduce(mine.data(), result.data(), 1100, MPI_LONG, MPI_SUM, root, MPI_COMM_WORLD);
      ++done;
      before += ranks;
      EXPECT_EQ(result[1099], self.rank() == root ? ranks : 0);
      MPI_Barrier(MPI_COMM_WORLD);
    }
  });
}

// Equal parts; and parts that differ, some of them of no elements; in place and not.
TEST_P(LargeNodeData, PartsOfReductionsKeepTheOrderOfRanks) {
  run([](SimulatedRank& self) {
    const AffineReduction affine;
    const int ranks = self.size();
    int round = 0;
    for (const int most : {1, 3, 40, 250, 1200}) {
      std::vector<int> equal(static_cast<std::size_t>(ranks), most), unequal;
      for (int r = 0; r < ranks; ++r)
        unequal.push_back((r * 3 + round) % 4 == 0 ? 0 : (r * most) % (most + 1));
      for (const auto& counts : {equal, unequal, unequal}) {
        const auto own = static_cast<std::size_t>(self.rank());
        std::ptrdiff_t start = 0;
        int total = 0;
        for (int r = 0; r < ranks; ++r) {
          if (r == self.rank()) start = total;
          total += counts[static_cast<std::size_t>(r)];
        }
        const Vector all = reduced(ranks, ++round, total);
        const Vector part(all.begin() + start, all.begin() + start + counts[own]);
        Vector mine = operand_of(self.rank(), round, total), result(static_cast<std::size_t>(counts[own]));
        be_late(self, round);
        if (&counts == &equal || round % 3 == 1)
          MPI_Reduce_scatter_block(mine.data(), result.data(), most, affine.type, affine.op, MPI_COMM_WORLD);
        else
          MPI_Reduce_scatter(mine.data(), result.data(), counts.data(), affine.type, affine.op,
                             MPI_COMM_WORLD);
        EXPECT_EQ(result, part) << round;
        MPI_Reduce_scatter(MPI_IN_PLACE, mine.data(), counts.data(), affine.type, affine.op, MPI_COMM_WORLD);
        mine.resize(static_cast<std::size_t>(counts[own]));
        EXPECT_EQ(mine, part) << round;
      }
    }
  });
}

// Blocks of bytes in one piece and with gaps, to every root, and to all; in place and not.
TEST_P(LargeNodeData, BlocksComeToWhoWantsThem) {
  run([](SimulatedRank& self) {
    const int ranks = self.size();
    MPI_Datatype gaps;
    MPI_Type_create_resized(MPI_INT, 0, 2 * sizeof(int), &gaps);
    MPI_Type_commit(&gaps);
    const int counts[] = {1, 12, 13, 100, 300, 1000, 2000};
    for (int round = 0; round < ranks + 14; ++round) {
      const int count = counts[round % 7], root = round * 3 % ranks;
      const auto value = [round](int rank, int i) { return rank * 100'000 + i * 7 + round; };
      std::vector<int> mine;
      for (int i = 0; i < count; ++i) mine.push_back(value(self.rank(), i));
      const auto right = [&](const std::vector<int>& all, int step) {
        for (int r = 0; r < ranks; ++r)
          for (int i = 0; i < count; ++i)
            if (all[static_cast<std::size_t>((r * count + i) * step)] != value(r, i)) return false;
        return true;
      };
      std::vector<int> all(static_cast<std::size_t>(ranks * count), -1), loose(2 * all.size(), -1);
      be_late(self, round);
      MPI_Gather(mine.data(), count, MPI_INT, loose.data(), count, gaps, root, MPI_COMM_WORLD);
      EXPECT_EQ(right(loose, 2), self.rank() == root) << round;
      std::copy(mine.begin(), mine.end(), all.begin() + self.rank() * count);
      MPI_Gather(self.rank() == root ? MPI_IN_PLACE : mine.data(), count, MPI_INT, all.data(), count, MPI_INT,
                 root, MPI_COMM_WORLD);
      EXPECT_EQ(right(all, 1), self.rank() == root) << round;
      MPI_Allgather(MPI_IN_PLACE, 0, MPI_INT, all.data(), count, MPI_INT, MPI_COMM_WORLD);
      EXPECT_TRUE(right(all, 1)) << round;
      std::fill(loose.begin(), loose.end(), -1);
      MPI_Allgather(mine.data(), count, MPI_INT, loose.data(), count, gaps, MPI_COMM_WORLD);
      EXPECT_TRUE(right(loose, 2)) << round;
      EXPECT_EQ(loose[1], -1);
    }
    MPI_Type_free(&gaps);
  });
}

// Several under way, of all kinds and amounts in turn.
TEST_P(LargeNodeData, OperationsUnderWayKeepStep) {
  run([](SimulatedRank& self) {
    const int ranks = self.size();
    for (int round = 0; round < 40; ++round) {
      const int count = round % 3 == 0 ? 300 : 20, root = round * 7 % ranks;
      const auto at = static_cast<std::size_t>(count);
      const std::vector<int> mine(at, self.rank() + round);
      std::vector<int> sum(at), most(at), part(1), gathered(at * static_cast<std::size_t>(ranks));
      const std::vector<int> ones(static_cast<std::size_t>(ranks), 1);
      MPI_Request requests[4];
      MPI_Ireduce(mine.data(), sum.data(), count, MPI_INT, MPI_SUM, root, MPI_COMM_WORLD, &requests[0]);
      MPI_Iallreduce(mine.data(), most.data(), count, MPI_INT, MPI_MAX, MPI_COMM_WORLD, &requests[1]);
      MPI_Ireduce_scatter_block(ones.data(), part.data(), 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD, &requests[2]);
      MPI_Iallgather(mine.data(), count, MPI_INT, gathered.data(), count, MPI_INT, MPI_COMM_WORLD,
                     &requests[3]);
      be_late(self, round);
      MPI_Waitall(4, requests, MPI_STATUSES_IGNORE);
      EXPECT_EQ(sum.back(), self.rank() == root ? ranks * (ranks - 1) / 2 + ranks * round : 0);
      EXPECT_EQ(most.back(), ranks - 1 + round);
      EXPECT_EQ(part.back(), ranks);
      for (int r = 0; r < ranks; ++r)
        EXPECT_EQ(gathered[static_cast<std::size_t>(r) * at + at / 2], r + round) << round;
    }
  });
}

// A block that is shorter than the others' is an error at the root, and all go on.
TEST_P(LargeNodeData, AnotherAmountIsNoticed) {
  run([](SimulatedRank& self) {
    MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
    const int ranks = self.size();
    for (const int count : {20, 200}) {
      for (const int odd : {1, 2, ranks - 1}) {
        const std::vector<int> mine(400, self.rank());
        std::vector<int> all(static_cast<std::size_t>(ranks * count));
        const int amount = self.rank() == odd ? count + 5 : count;
        const int error =
            MPI_Gather(mine.data(), amount, MPI_INT, all.data(), count, MPI_INT, 0, MPI_COMM_WORLD);
        int error_class = MPI_SUCCESS;
        if (error != MPI_SUCCESS) MPI_Error_class(error, &error_class);
        EXPECT_EQ(error_class, self.rank() == 0 ? MPI_ERR_TRUNCATE : MPI_SUCCESS) << count << ' ' << odd;
      }
      int sum = 1;
      EXPECT_EQ(MPI_Allreduce(MPI_IN_PLACE, &sum, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD), MPI_SUCCESS);
      EXPECT_EQ(sum, ranks);
    }
  });
}

}  // namespace
}  // namespace hawser
