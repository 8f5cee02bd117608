#include "collective/construction.h"

#include <gtest/gtest.h>

#include <set>

#include "collective/test_cluster.h"
#include "datatype/predefined.h"

namespace hawser {
namespace {

using testing::TestCluster;
using testing::TestRank;

// Every rank learns the numbers of all, by an allgather over the communicator.
std::vector<int> gather_all(TestRank& rank, Communicator& communicator, int number) {
  PredefinedTypes types;
  std::vector<int> all(static_cast<std::size_t>(communicator.size()), -1);
  CollectiveCall call{.kind = Collective::allgather,
                      .send = {&number, 1, &types[PredefinedType::plain_int]},
                      .receive = {all.data(), 1, &types[PredefinedType::plain_int]}};
  EXPECT_TRUE(rank.engine.run(communicator, call));
  return all;
}

TEST(Construction, DuplicateHasAContextOfItsOwn) {
  TestCluster cluster(5);
  cluster.run([](TestRank& rank) {
    auto made = duplicate(rank.engine, *rank.world);
    ASSERT_TRUE(made);
    Communicator& copy = *made.value();
    EXPECT_EQ(copy.rank(), rank.rank);
    EXPECT_NE(copy.context(), rank.world->context());
    EXPECT_EQ(copy.compare(*rank.world), comparison::congruent);
    const auto contexts = gather_all(rank, copy, static_cast<int>(copy.context()));
    EXPECT_EQ(std::set<int>(contexts.begin(), contexts.end()).size(), 1u);
  });
}

TEST(Construction, SplitOrdersByKeyThenRank) {
  TestCluster cluster(7);
  cluster.run([](TestRank& rank) {
    // Odd ranks in reverse order, even ones in order, the last gets nothing.
    const int color = rank.rank == 6 ? undefined : rank.rank % 2;
    auto made = split(rank.engine, *rank.world, color, color == 1 ? -rank.rank : 5);
    ASSERT_TRUE(made);
    if (rank.rank == 6) {
      EXPECT_FALSE(made.value());
      return;
    }
    const auto members = gather_all(rank, *made.value(), rank.rank);
    EXPECT_EQ(members, color == 1 ? (std::vector<int>{5, 3, 1}) : (std::vector<int>{0, 2, 4}));
  });
}

TEST(Construction, CreateTakesDisjointGroups) {
  TestCluster cluster(6);
  cluster.run([](TestRank& rank) {
    const bool low = rank.rank < 2;
    const Ref<Group> group = low ? make_counted<Group>(0, 1, 2) : make_counted<Group>(5, -1, 3);
    auto made = create(rank.engine, *rank.world, group);
    ASSERT_TRUE(made);
    if (rank.rank == 2) {
      EXPECT_FALSE(made.value());
      return;
    }
    const auto members = gather_all(rank, *made.value(), rank.rank);
    EXPECT_EQ(members, low ? (std::vector<int>{0, 1}) : (std::vector<int>{5, 4, 3}));
  });
}

TEST(Construction, CreateFromGroupConcernsOnlyItsMembers) {
  TestCluster cluster(4);
  cluster.run([](TestRank& rank) {
    if (rank.rank == 0) return;
    auto made = create_from_group(rank.engine, *rank.world, make_counted<Group>(1, 1, 3), 9);
    ASSERT_TRUE(made);
    EXPECT_EQ(gather_all(rank, *made.value(), rank.rank), (std::vector<int>{1, 2, 3}));
  });
}

TEST(Construction, SeveralDuplicatesAtATime) {
  TestCluster cluster(4);
  cluster.run([](TestRank& rank) {
    Request* requests[3];
    Ref<Communicator> made[3];
    for (int i = 0; i < 3; ++i) made[i] = start_duplicate(rank.engine, *rank.world, requests[i]);
    for (int i = 2; i >= 0; --i) {
      rank.wait(requests[i]);
      requests[i]->destroy();
    }
    EXPECT_NE(made[0]->context(), made[1]->context());
    EXPECT_NE(made[1]->context(), made[2]->context());
    EXPECT_EQ(gather_all(rank, *made[1], rank.rank), (std::vector<int>{0, 1, 2, 3}));
  });
}

TEST(Construction, FreedContextIdsAreUsedAgainWhenAllRanksFreedThem) {
  TestCluster cluster(5);
  cluster.run([](TestRank& rank) {
    for (int i = 0; i < 50; ++i) {
      auto made = duplicate(rank.engine, *rank.world);
      ASSERT_TRUE(made);
      gather_all(rank, *made.value(), i);
    }
  });
  EXPECT_EQ(cluster.rank(0).engine.context_ids().in_use(), 0);
  // One rank keeps its communicator: the id is not free.
  Ref<Communicator> kept;
  cluster.run([&kept](TestRank& rank) {
    auto made = duplicate(rank.engine, *rank.world);
    ASSERT_TRUE(made);
    if (rank.rank == 3) kept = made.value();
  });
  EXPECT_EQ(cluster.rank(0).engine.context_ids().in_use(), 1);
  cluster.run([&kept](TestRank& rank) {
    if (rank.rank == 3) kept = nullptr;
  });
  EXPECT_EQ(cluster.rank(0).engine.context_ids().in_use(), 0);
}

TEST(ContextIds, SaysWhenAllAreInUse) {
  ContextIds ids;
  // So many processes that two bits are left for the number, and 0 and 1 are predefined.
  ids.open(3, (1 << 30) / static_cast<int>(contexts_per_communicator));
  ASSERT_TRUE(ids.take());
  const std::uint32_t last = ids.take().value();
  EXPECT_TRUE(ids.chosen_here(last));
  EXPECT_FALSE(ids.take());
  ids.give_back(last);
  EXPECT_EQ(ids.take().value(), last);
}

}  // namespace
}  // namespace hawser
