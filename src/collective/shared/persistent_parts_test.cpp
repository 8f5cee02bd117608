// Who gets a part of an area for a persistent operation, and when it is free again.
#include "collective/shared/persistent_parts.h"

#include <gtest/gtest.h>

#include "collective/construction.h"
#include "collective/record.h"
#include "collective/shared/persistent_choice.h"
#include "collective/test_cluster.h"
#include "datatype/predefined.h"

namespace hawser {
namespace {

using testing::TestCluster;
using testing::TestNode;
using testing::TestRank;

constexpr int three_ranks = 3, parts_of_three = 4, large_areas = 4, large_count = 7000;

PersistentPart* part_of(const Request* request) { return static_cast<const Operation*>(request)->part; }

// Sums of so many integers, which the test keeps.
Request* prepare_sum(TestRank& rank, Communicator& communicator, std::vector<int>& data) {
  static PredefinedTypes types;
  static PredefinedOperators operators;
  Request* request = nullptr;
  EXPECT_TRUE(rank.engine.prepare(
      communicator,
      {.kind = Collective::allreduce,
       .send = {in_place},
       .receive = {data.data(), static_cast<std::int64_t>(data.size()), &types[PredefinedType::plain_int]},
       .op = &operators[PredefinedOperator::sum]},
      request));
  return request;
}

void run_sum(TestRank& rank, Request* request, std::vector<int>& data) {
  std::fill(data.begin(), data.end(), rank.rank + 1);
  EXPECT_TRUE(request->start());
  rank.wait(request);
  EXPECT_EQ(request->status.error, ErrorClass::success);
  EXPECT_EQ(data, std::vector<int>(data.size(), rank.size * (rank.size + 1) / 2));
}

Ref<Communicator> copy_of_world(TestRank& rank) {
  auto made = duplicate(rank.engine, *rank.world);
  EXPECT_TRUE(made);
  return made.value();
}

void meet_all(TestRank& rank) { EXPECT_TRUE(rank.engine.run(*rank.world, {.kind = Collective::barrier})); }

}  // namespace

TEST(PersistentParts, AreTakenAgainWhenAllRanksHaveFreedThem) {
  TestCluster cluster(three_ranks, {}, true);
  cluster.run([](TestRank& rank) {
    std::vector<int> data(1);
    std::vector<Request*> all;
    for (int i = 0; i < parts_of_three; ++i) all.push_back(prepare_sum(rank, *rank.world, data));
    for (const Request* each : all) EXPECT_NE(part_of(each), nullptr);
    Request* more = prepare_sum(rank, *rank.world, data);
    EXPECT_EQ(part_of(more), nullptr);
    run_sum(rank, more, data);
    more->destroy();
    const PersistentPart* const freed = part_of(all[2]);
    if (rank.rank == 1) all[2]->destroy();
    more = prepare_sum(rank, *rank.world, data);
    EXPECT_EQ(part_of(more), nullptr);
    more->destroy();
    if (rank.rank != 1) all[2]->destroy();
    all[2] = prepare_sum(rank, *rank.world, data);
    EXPECT_EQ(part_of(all[2]), freed);
    for (int i = 0; i < parts_of_three; ++i) {
      Request* const each = all[static_cast<std::size_t>((i + rank.rank) % parts_of_three)];
      std::fill(data.begin(), data.end(), 1);
      EXPECT_TRUE(each->start());
    }
    for (Request* each : all) {
      rank.wait(each);
      each->destroy();
    }
  });
}

TEST(PersistentParts, MuchDataHasAnAreaOfItsOwn) {
  TestCluster cluster(three_ranks, {}, true);
  cluster.run([](TestRank& rank) {
    std::vector<int> data(large_count);
    std::vector<Request*> all;
    for (int i = 0; i <= large_areas; ++i) {
      all.push_back(prepare_sum(rank, *rank.world, data));
      EXPECT_EQ(part_of(all.back()) != nullptr, i < large_areas);
      if (rank.rank == 0) {
        EXPECT_EQ(rank.areas().free(), TestNode::areas - 1 - std::min(i + 1, large_areas));
      }
    }
    for (Request* each : all) run_sum(rank, each, data);
    for (Request* each : all) each->destroy();
  });
}

TEST(PersistentParts, CostNothingWhereNoneIsUsed) {
  TestCluster cluster(three_ranks, {}, true);
  cluster.run([](TestRank& rank) {
    Request* request = nullptr;
    ASSERT_TRUE(rank.engine.prepare(*rank.world, {.kind = Collective::barrier}, request));
    EXPECT_EQ(part_of(request), nullptr);  // by messages where ranks share cores
    request->destroy();
    if (rank.rank == 0) {
      EXPECT_EQ(rank.areas().free(), TestNode::areas - 1);
    }
  });
}

TEST(PersistentParts, WithoutAnAreaTheyGoByMessages) {
  TestCluster cluster(three_ranks, {}, true);
  cluster.run([](TestRank& rank) {
    std::vector<Ref<Communicator>> all;
    for (int i = 0; i < TestNode::areas - 1; ++i) all.push_back(copy_of_world(rank));
    std::vector<int> data(1);
    for (int i = 0; i < 2; ++i) {
      Request* const request = prepare_sum(rank, *all.front(), data);
      EXPECT_EQ(part_of(request), nullptr);
      run_sum(rank, request, data);
      request->destroy();
      if (i == 0) all.pop_back();  // it has been refused, and is not asked for again
    }
    Request* const request = prepare_sum(rank, *all.back(), data);
    EXPECT_NE(part_of(request), nullptr);
    run_sum(rank, request, data);
    request->destroy();
  });
}

// In a program that is wrong.
TEST(PersistentParts, RanksThatGiveOtherAmountsAgree) {
  TestCluster cluster(three_ranks, {}, true);
  cluster.run([](TestRank& rank) {
    std::vector<int> data(rank.rank == 2 ? 1 : large_count);
    Request* const request = prepare_sum(rank, *rank.world, data);
    EXPECT_EQ(part_of(request), nullptr);
    request->destroy();
  });
}

TEST(PersistentParts, TheAreaIsUsedAgainWhenAllRequestsAreFreed) {
  TestCluster cluster(three_ranks, {}, true);
  cluster.run([](TestRank& rank) {
    std::vector<int> data(1);
    std::vector<Ref<Communicator>> others;
    for (int i = 0; i < TestNode::areas - 3; ++i) others.push_back(copy_of_world(rank));
    Ref<Communicator> freed = copy_of_world(rank);
    Request* const request = prepare_sum(rank, *freed, data);
    EXPECT_NE(part_of(request), nullptr);
    freed->collective->freed();
    freed = nullptr;
    run_sum(rank, request, data);
    // The one of the communicator itself.
    others.push_back(copy_of_world(rank));
    EXPECT_NE(CollectiveRecord::of(*others.back()).in_node, nullptr);
    // A request is left, and rank 0 may not wait for its end.
    if (rank.rank != 1) request->destroy();
    others.push_back(copy_of_world(rank));
    EXPECT_EQ(CollectiveRecord::of(*others.back()).in_node, nullptr);
    if (rank.rank == 1) request->destroy();
    meet_all(rank);
    others.push_back(copy_of_world(rank));
    EXPECT_NE(CollectiveRecord::of(*others.back()).in_node, nullptr);
  });
}

// Without requests it is as with every area: a new communicator waits for those who are late.
TEST(PersistentParts, ANewCommunicatorWaitsForTheArea) {
  TestCluster cluster(three_ranks, {}, true);
  cluster.run([](TestRank& rank) {
    std::vector<int> data(1);
    std::vector<Ref<Communicator>> others;
    for (int i = 0; i < TestNode::areas - 3; ++i) others.push_back(copy_of_world(rank));
    Ref<Communicator> late = copy_of_world(rank);
    prepare_sum(rank, *late, data)->destroy();
    int passes = rank.rank == 2 ? 100 : 0;
    rank.wait_until([&passes] { return --passes < 0; });
    late = nullptr;
    for (int i = 0; i < 3; ++i) {
      others.push_back(copy_of_world(rank));
      EXPECT_EQ(CollectiveRecord::of(*others.back()).in_node != nullptr, i < 2);
    }
  });
}

TEST(PersistentParts, MessagesServeWhereTheyAreFaster) {
  EXPECT_FALSE(pays_in_part(Collective::broadcast, 8, 2, false));
  EXPECT_TRUE(pays_in_part(Collective::broadcast, 65536, 2, false));
  EXPECT_FALSE(pays_in_part(Collective::broadcast, 1024, 8, true));
  EXPECT_TRUE(pays_in_part(Collective::broadcast, 1024, 8, false));
  EXPECT_TRUE(pays_in_part(Collective::allreduce, 8, 4, true));
  EXPECT_TRUE(pays_in_part(Collective::allreduce, 1024, 16, false));
  EXPECT_TRUE(pays_in_part(Collective::reduce, 8, 8, false));
  EXPECT_FALSE(pays_in_part(Collective::reduce, 256, 8, false));  // 0.75 us; by messages 0.73
  EXPECT_FALSE(pays_in_part(Collective::scan, 8, 32, false));     // 3.2 us; by messages 2.9
  EXPECT_FALSE(pays_in_part(Collective::alltoallv, 8, 4, false));
  EXPECT_TRUE(may_use_part_of_node(Collective::gather, 4, false));
  EXPECT_FALSE(may_use_part_of_node(Collective::gather, 16, false));
  EXPECT_TRUE(may_use_part_of_node(Collective::reduce, 16, false));
  EXPECT_FALSE(may_use_part_of_node(Collective::broadcast, 4, true));  // 0.5 us; by messages 0.2
  EXPECT_TRUE(may_use_part_of_node(Collective::barrier, 4, true));     // 93 us; by messages 148
}

}  // namespace hawser
