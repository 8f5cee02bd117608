// A barrier of ranks that share cores goes in two ways, by what followed the one before.
#include <vector>

#include "collective/algorithm_cases.h"

namespace hawser {
namespace {

enum class Between { nothing, of_root, of_all, empty };

struct Round {
  Between between;
  int root;
};

void run_between(TestRank& rank, const Round& round, Datatype& byte) {
  std::vector<std::byte> own(8), all(8 * static_cast<std::size_t>(rank.size));
  CollectiveCall call{.kind = Collective::broadcast, .root = round.root, .receive = {own.data(), 8, &byte}};
  if (round.between == Between::nothing) return;
  if (round.between == Between::empty) call.receive.count = 0;
  if (round.between == Between::of_all)
    call = {.kind = Collective::allgather, .send = {own.data(), 8, &byte}, .receive = {all.data(), 8, &byte}};
  EXPECT_TRUE(rank.engine.run(*rank.world, call));
}

}  // namespace

// Each rank counts itself before the barrier, and finds all counted after it.
TEST_F(AlgorithmTest, NobodyLeavesABarrierBeforeAllHaveCome) {
  PredefinedTypes types;
  for (const int size : {3, 4, 5, 9}) {
    TestCluster cluster(size, {}, true);
    Random random(static_cast<std::uint64_t>(size));
    std::vector<Round> rounds(300);
    for (Round& round : rounds)
      round = {static_cast<Between>(random.below(4)),
               static_cast<int>(random.below(static_cast<std::uint64_t>(size)))};
    int come = 0;
    cluster.run([&](TestRank& rank) {
      int expected = 0;
      for (const Round& round : rounds) {
        run_between(rank, round, types[PredefinedType::byte]);
        ++come;
        EXPECT_TRUE(rank.engine.run(*rank.world, {.kind = Collective::barrier}));
        EXPECT_GE(come, expected += size);
      }
    });
    ASSERT_FALSE(HasFailure()) << size << " ranks";
  }
}

}  // namespace hawser
