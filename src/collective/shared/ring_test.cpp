// Gathers and reductions to one rank whose data go through rings (SharedTeam): who only sends goes ahead.
#include <algorithm>
#include <vector>

#include "collective/algorithm_cases.h"

namespace hawser {
namespace {

// Data that a rank sends in an operation.
std::vector<int> sent(int rank, int operation, int count) {
  std::vector<int> data(static_cast<std::size_t>(count));
  for (int i = 0; i < count; ++i) data[static_cast<std::size_t>(i)] = value(rank, operation, i);
  return data;
}

CallSide integers(std::vector<int>& data, int count) {
  static PredefinedTypes types;
  return {data.data(), count, &types[PredefinedType::plain_int]};
}

// A gather, or a sum, of all ranks' data, of which the root makes sure.
void run_to_root(TestRank& rank, int operation, int count, int root, bool sum) {
  static PredefinedOperators operators;
  std::vector<int> own = sent(rank.rank, operation, count);
  std::vector<int> all(static_cast<std::size_t>(count * rank.size), -1);
  CollectiveCall call{.kind = Collective::gather,
                      .root = root,
                      .send = integers(own, count),
                      .receive = integers(all, count)};
  if (sum) {
    call.kind = Collective::reduce;
    call.op = &operators[PredefinedOperator::sum];
  }
  ASSERT_TRUE(rank.engine.run(*rank.world, call));
  if (rank.rank != root) return;
  std::vector<int> expected(sum ? static_cast<std::size_t>(count) : 0);
  for (int r = 0; r < rank.size; ++r) {
    const std::vector<int> theirs = sent(r, operation, count);
    if (sum)
      std::ranges::transform(theirs, expected, expected.begin(), std::plus());
    else
      expected.insert(expected.end(), theirs.begin(), theirs.end());
  }
  all.resize(expected.size());
  EXPECT_EQ(all, expected) << "operation " << operation << " of " << count;
}

}  // namespace

TEST_F(AlgorithmTest, SendersAreOperationsAheadOfTheirRoot) {
  for (const int size : {2, 3, 4})
    for (const bool sum : {false, true}) {
      TestCluster cluster(size, {}, true);
      constexpr int operations = 300, ahead = 3;  // one more than buffers
      int sent_by_last = 0;
      cluster.run([&](TestRank& rank) {
        for (int i = 0; i < operations; ++i) {
          const int wanted = std::min(i + ahead, operations);
          if (rank.rank == 0) rank.wait_until([&] { return sent_by_last >= wanted; });
          run_to_root(rank, i, 20, 0, sum);
          if (rank.rank == size - 1) ++sent_by_last;
        }
      });
      ASSERT_FALSE(HasFailure()) << size << " ranks";
    }
}

// Of all amounts around those that rings have, to all roots, with others in between.
TEST_F(AlgorithmTest, NothingInARingIsOverwrittenTooEarly) {
  for (const int size : {2, 3, 4, 7}) {
    TestCluster cluster(size, {}, true);
    Random random(static_cast<std::uint64_t>(size));
    struct Step {
      int count, root, kind;
    };
    std::vector<Step> steps(1000);
    for (Step& step : steps)
      step = {static_cast<int>(1 + random.below(random.chance(0.2) ? 3000 : 130)),
              random.chance(0.7) ? 0 : static_cast<int>(random.below(static_cast<std::uint64_t>(size))),
              static_cast<int>(random.below(8))};
    cluster.run([&](TestRank& rank) {
      std::vector<int> data(3000, 1), result(3000 * static_cast<std::size_t>(size));
      for (int i = 0; i < static_cast<int>(steps.size()); ++i) {
        const Step& step = steps[static_cast<std::size_t>(i)];
        if (step.kind == 0)
          EXPECT_TRUE(rank.engine.run(*rank.world, {.kind = Collective::barrier}));
        else if (step.kind == 1)
          EXPECT_TRUE(rank.engine.run(*rank.world, {.kind = Collective::allgather,
                                                    .send = integers(data, step.count),
                                                    .receive = integers(result, step.count)}));
        else
          run_to_root(rank, i, step.count, step.root, step.kind % 2 == 0);
      }
    });
    ASSERT_FALSE(HasFailure()) << size << " ranks";
  }
}

// A rank that gives more than the root expects takes another place in its ring than the others from then on.
TEST_F(AlgorithmTest, AfterAnotherAmountRingsGoOn) {
  TestCluster cluster(3, {}, true);
  cluster.run([](TestRank& rank) {
    for (const int more : {0, 1, 20, 40, 400, -1, -10, -19}) {
      std::vector<int> own(500, rank.rank), all(60, -1);
      const int count = 20;
      const Result<> result =
          rank.engine.run(*rank.world, {.kind = Collective::gather,
                                        .root = 1,
                                        .send = integers(own, rank.rank == 2 ? count + more : count),
                                        .receive = integers(all, count)});
      EXPECT_EQ(static_cast<bool>(result), rank.rank != 1 || more <= 0);
      for (int i = 0; i < 30; ++i) run_to_root(rank, i, i % 2 == 0 ? 20 : 50, 1, i % 3 == 0);
    }
  });
}

}  // namespace hawser
