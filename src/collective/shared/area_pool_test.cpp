// Areas that are used up: who gets one depends on what the program does, not on when others leave theirs.
#include "collective/shared/area_pool.h"

#include <gtest/gtest.h>

#include "collective/construction.h"
#include "collective/record.h"
#include "collective/test_cluster.h"
#include "datatype/predefined.h"

namespace hawser {
namespace {

using testing::TestCluster;
using testing::TestNode;
using testing::TestRank;

constexpr int for_programs = TestNode::areas - 1;  // one is MPI_COMM_WORLD's

bool has_area(Communicator& communicator) { return CollectiveRecord::of(communicator).in_node != nullptr; }

Ref<Communicator> duplicate_world(TestRank& rank) {
  auto made = duplicate(rank.engine, *rank.world);
  EXPECT_TRUE(made);
  return made.value();
}

std::vector<Ref<Communicator>> take_all(TestRank& rank, int areas = for_programs) {
  std::vector<Ref<Communicator>> all;
  for (int i = 0; i < areas; ++i) all.push_back(duplicate_world(rank));
  EXPECT_TRUE(has_area(*all.back()));
  return all;
}

// Others make progress so often before this rank does anything.
void be_late(TestRank& rank, int passes) {
  rank.wait_until([&passes] { return --passes < 0; });
}

void start_sum(TestRank& rank, Communicator& communicator, int& total, Request*& request) {
  static PredefinedTypes types;
  static PredefinedOperators operators;
  total = rank.rank + 1;
  ASSERT_TRUE(rank.engine.start(communicator,
                                {.kind = Collective::allreduce,
                                 .send = {in_place},
                                 .receive = {&total, 1, &types[PredefinedType::plain_int]},
                                 .op = &operators[PredefinedOperator::sum]},
                                request));
}

}  // namespace

TEST(AreaPool, ANewTeamWaitsForWhatItsProgramHasFreed) {
  for (const int passes : {0, 5, 200}) {
    TestCluster cluster(4, {}, true);
    cluster.run([passes](TestRank& rank) {
      auto all = take_all(rank);
      EXPECT_FALSE(has_area(*duplicate_world(rank)));
      if (rank.rank == 2) be_late(rank, passes);
      all.erase(all.begin(), all.begin() + 2);
      for (int i = 0; i < 4; ++i) {
        all.push_back(duplicate_world(rank));
        EXPECT_EQ(has_area(*all.back()), i < 2);
      }
    });
  }
}

// What holds the communicator itself, as a message under way does, holds no area.
TEST(AreaPool, TheProgramsFreeingCounts) {
  TestCluster cluster(4, {}, true);
  cluster.run([](TestRank& rank) {
    auto all = take_all(rank);
    const Ref<Communicator> kept = all[3];
    if (rank.rank == 1) be_late(rank, 50);
    kept->collective->freed();
    const Ref<Communicator> made = duplicate_world(rank);
    EXPECT_TRUE(has_area(*made));
    EXPECT_FALSE(has_area(*duplicate_world(rank)));
  });
}

// The area is left when the operation that was begun there is over, which the program waits for later.
TEST(AreaPool, WhatWasBegunEndsBeforeTheAreaIsUsedAgain) {
  TestCluster cluster(4, {}, true);
  cluster.run([](TestRank& rank) {
    auto all = take_all(rank);
    int total = 0, other = 0;
    Request *request = nullptr, *other_request = nullptr;
    if (rank.rank == 3) be_late(rank, 100);
    start_sum(rank, *all[0], total, request);
    all[0]->collective->freed();
    const Ref<Communicator> made = duplicate_world(rank);
    EXPECT_TRUE(has_area(*made));
    start_sum(rank, *made, other, other_request);
    for (Request* each : {other_request, request}) {
      rank.wait(each);
      each->destroy();
    }
    EXPECT_EQ(total, 10);
    EXPECT_EQ(other, 10);
  });
}

// Two are begun at once, and one area was freed: it is the first one's.
TEST(AreaPool, NonBlockingOnesWaitInTurn) {
  TestCluster cluster(4, {}, true);
  cluster.run([](TestRank& rank) {
    auto all = take_all(rank);
    if (rank.rank == 3) be_late(rank, 100);
    all.pop_back();
    Request* requests[2] = {};
    const Ref<Communicator> made[2] = {start_duplicate(rank.engine, *rank.world, requests[0]),
                                       start_duplicate(rank.engine, *rank.world, requests[1])};
    for (Request* each : {requests[1], requests[0]}) {
      rank.wait(each);
      each->destroy();
    }
    EXPECT_TRUE(has_area(*made[0]));
    EXPECT_FALSE(has_area(*made[1]));
  });
}

TEST(AreaPool, NobodyWaitsForARankThatHasFailed) {
  TestCluster cluster(3, {}, true);
  std::vector<Ref<Communicator>> never_freed;
  cluster.run([&never_freed](TestRank& rank) {
    auto pair = create_from_group(rank.engine, *rank.world, make_counted<Group>(0, 1, 2), 5);
    ASSERT_TRUE(pair);
    auto all = take_all(rank, for_programs - 1);
    if (rank.rank == 2) return never_freed.swap(all);
    int passes = 0;
    rank.more_progress = [&rank, &passes] {
      if (++passes == 100 && rank.engine.trouble().add_failure(2)) rank.engine.end_stopped();
      return false;
    };
    all.clear();
    auto made = duplicate(rank.engine, *pair.value());
    ASSERT_TRUE(made);
    EXPECT_FALSE(has_area(*made.value()));
    EXPECT_GE(passes, 100);
    rank.more_progress = nullptr;
  });
}

}  // namespace hawser
