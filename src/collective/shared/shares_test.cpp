// Reductions of much data to one rank, of which each rank does a share.
#include <vector>

#include "base/random.h"
#include "collective/algorithm_cases.h"

namespace hawser {
namespace {

// What the root has in the end. Sums of such numbers depend on the order in which they are added.
std::vector<double> sum_to(int root, int ranks, bool in_place, const char* way) {
  static PredefinedTypes types;
  static PredefinedOperators operators;
  constexpr std::int64_t count = 9001;
  Knobs knobs;
  knobs.collective_shared = way;
  TestCluster cluster(ranks, knobs, true);
  std::vector<double> result;
  cluster.run([&](TestRank& rank) {
    Random random(static_cast<std::uint64_t>(rank.rank));
    std::vector<double> own(count), all(count);
    for (double& number : own)
      number = static_cast<double>(random.below(1 << 30)) / static_cast<double>(1 + random.below(1 << 20));
    Datatype* const type = &types[PredefinedType::double_float];
    const bool at_root = rank.rank == root;
    if (at_root && in_place) all = own;
    const CollectiveCall call{.kind = Collective::reduce,
                              .root = root,
                              .send = {at_root && in_place ? hawser::in_place : own.data(), count, type},
                              .receive = {all.data(), count, type},
                              .op = &operators[PredefinedOperator::sum]};
    ASSERT_TRUE(rank.engine.run(*rank.world, call));
    if (at_root) result = all;
  });
  return result;
}

}  // namespace

// Of the ways that are measured, none may be told by its result.
TEST(SharesInLevels, SumsHaveTheSameBitsByAllWays) {
  for (const int ranks : {8, 10})
    for (const int root : {0, 5, ranks - 1}) {
      const std::vector<double> by_area = sum_to(root, ranks, false, "area");
      EXPECT_EQ(by_area, sum_to(root, ranks, false, "other")) << ranks << " ranks to " << root;
      EXPECT_EQ(by_area, sum_to(root, ranks, true, "area")) << ranks << " ranks to " << root << " in place";
    }
}

}  // namespace hawser
