// The node's part of operations of several nodes, in shared memory.
#include "collective/node_team.h"

#include <string>

#include "collective/algorithm_cases.h"
#include "collective/construction.h"
#include "collective/record.h"

namespace hawser {
namespace {

constexpr const char* two_levels =
    "allreduce=two_level,broadcast=two_level,barrier=two_level,reduce=two_level";

Knobs with_two_levels() {
  Knobs knobs;
  knobs.collective_algorithm = two_levels;
  return knobs;
}

Datatype& integer() {
  static PredefinedTypes types;
  return types[PredefinedType::plain_int];
}

Operator& sum() {
  static PredefinedOperators operators;
  return operators[PredefinedOperator::sum];
}

int sum_of_all(TestRank& rank, Communicator& communicator) {
  int total = rank.rank + 1;
  EXPECT_TRUE(rank.engine.run(
      communicator,
      {.kind = Collective::allreduce, .send = {in_place}, .receive = {&total, 1, &integer()}, .op = &sum()}));
  return total;
}

const NodeTeam* team_of(Communicator& communicator) {
  return CollectiveRecord::of(communicator).node_team.get();
}

}  // namespace

TEST(NodeTeam, MeetsOnNodesOfSeveralRanks) {
  TestCluster cluster(7, with_two_levels(), false, 3);
  cluster.run([](TestRank& rank) {
    EXPECT_EQ(sum_of_all(rank, *rank.world), 28);
    const NodeTeam* const team = team_of(*rank.world);
    EXPECT_TRUE(CollectiveRecord::of(*rank.world).nodes->teams);  // who is alone on its node knows it, too
    if (rank.rank == 6) {
      EXPECT_EQ(team, nullptr);
    } else {
      ASSERT_NE(team, nullptr);
      EXPECT_NE(team->in_node, nullptr);
    }
  });
}

// There are 8 areas: each is used again when all ranks of the node have freed the communicator.
TEST(NodeTeam, AreasAreUsedAgain) {
  TestCluster cluster(6, with_two_levels(), false, 3);
  for (int i = 0; i < 40; ++i) {
    cluster.run([](TestRank& rank) {
      auto made = duplicate(rank.engine, *rank.world);
      ASSERT_TRUE(made);
      EXPECT_EQ(sum_of_all(rank, *made.value()), 21);
      EXPECT_NE(team_of(*made.value())->in_node, nullptr);
    });
    ASSERT_FALSE(::testing::Test::HasFailure()) << "communicator " << i;
  }
}

TEST(NodeTeam, GoesByMessagesWhereNoAreaIsLeft) {
  TestCluster cluster(6, with_two_levels(), false, 3);
  cluster.run([](TestRank& rank) {
    std::vector<Ref<Communicator>> kept;
    for (int i = 0; i < 12; ++i) {
      auto made = duplicate(rank.engine, *rank.world);
      ASSERT_TRUE(made);
      EXPECT_EQ(sum_of_all(rank, *made.value()), 21);
      EXPECT_TRUE(rank.engine.run(*made.value(), {.kind = Collective::barrier}));
      EXPECT_EQ(team_of(*made.value())->in_node != nullptr, i < testing::TestNode::areas - 1);
      kept.push_back(std::move(made).value());
    }
  });
}

// A leader that got another amount than it expects has nothing for its node, and all there are told.
TEST(NodeTeam, AnotherAmountThanTheRootsIsToldOnAllNodes) {
  TestCluster cluster(6, with_two_levels(), false, 3);
  cluster.run([](TestRank& rank) {
    std::vector<int> data(20000, rank.rank);
    for (int count : {1, 10, 20000}) {
      const int amount = rank.rank == 0 ? count : 20001 - count;
      const Result<> result = rank.engine.run(
          *rank.world, {.kind = Collective::broadcast, .receive = {data.data(), amount, &integer()}});
      EXPECT_EQ(static_cast<bool>(result), rank.rank == 0);
      EXPECT_EQ(sum_of_all(rank, *rank.world), 21);
    }
  });
}

// Blocking and non-blocking ones by turns: the first meet in shared memory, the others do not.
TEST(NodeTeam, NonBlockingOperationsGoByMessages) {
  TestCluster cluster(6, with_two_levels(), false, 2);
  cluster.run([](TestRank& rank) {
    for (int round = 0; round < 20; ++round) {
      int totals[3] = {rank.rank + 1, rank.rank + 2, 0};
      Request* requests[2];
      for (int i = 0; i < 2; ++i)
        ASSERT_TRUE(rank.engine.start(*rank.world,
                                      {.kind = Collective::allreduce,
                                       .send = {in_place},
                                       .receive = {&totals[i], 1, &integer()},
                                       .op = &sum()},
                                      requests[i]));
      totals[2] = sum_of_all(rank, *rank.world);
      EXPECT_TRUE(rank.engine.run(*rank.world, {.kind = Collective::barrier}));
      for (Request* request : requests) {
        rank.wait(request);
        request->destroy();
      }
      EXPECT_EQ(totals[0], 21);
      EXPECT_EQ(totals[1], 27);
      EXPECT_EQ(totals[2], 21);
    }
  });
}

}  // namespace hawser
