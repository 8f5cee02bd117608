// The node's part of operations of several nodes, in shared memory.
#include "collective/node_team.h"

#include <algorithm>
#include <string>

#include "collective/algorithm_cases.h"
#include "collective/construction.h"
#include "collective/record.h"

namespace hawser {

using testing::at_random;

namespace {

constexpr const char* two_levels =
    "allreduce=two_level,broadcast=two_level,barrier=two_level,reduce=two_level,allgather=two_level,"
    "allgatherv=two_level,gather=two_level,scatter=two_level,alltoall=two_level,"
    "reduce_scatter=two_level,reduce_scatter_block=two_level";

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

Ref<Communicator> duplicate_of_world(TestRank& rank) {
  auto made = duplicate(rank.engine, *rank.world);
  EXPECT_TRUE(made);
  return std::move(made).value();  // which ends the test if there is none
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

void end(TestRank& rank, Request* request) {
  rank.wait(request);
  EXPECT_EQ(request->status.error, ErrorClass::success);
  request->destroy();
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

// Who gets more than it expects of its leader, or a leader of its node, hears of it, as with messages; all
// others get what is theirs, and go on together. The root does not lead its node.
TEST(NodeTeam, OtherAmountsOfGatherAndScatterAreTold) {
  for (const bool background : {false, true}) {
    TestCluster cluster(6, with_two_levels(), false, 3);
    cluster.run([background](TestRank& rank) {
      const auto fails = [&](const CollectiveCall& call) {
        if (!background) return !rank.engine.run(*rank.world, call);
        Request* request = nullptr;
        EXPECT_TRUE(rank.engine.start(*rank.world, call, request));
        rank.wait(request);
        const bool failed = request->status.error == ErrorClass::truncate;
        request->destroy();
        return failed;
      };
      constexpr int root = 4, wrong = 1;
      for (const int count : {2, 11, 12, 13, 60}) {
        std::vector<int> mine(static_cast<std::size_t>(count) + 1, rank.rank), all(6 * mine.size(), -1);
        const CallSide gathered{all.data(), count, &integer()};
        EXPECT_EQ(fails({.kind = Collective::gather,
                         .root = root,
                         .send = {mine.data(), count + (rank.rank == wrong), &integer()},
                         .receive = gathered}),
                  rank.rank == 0);
        if (rank.rank == root) {
          EXPECT_EQ(all[static_cast<std::size_t>(3 * count)], 3);
        }
        EXPECT_EQ(sum_of_all(rank, *rank.world), 21);
        std::ranges::fill(all, 7);
        EXPECT_EQ(fails({.kind = Collective::scatter,
                         .root = root,
                         .send = gathered,
                         .receive = {mine.data(), count - (rank.rank == wrong), &integer()}}),
                  rank.rank == wrong);
        EXPECT_EQ(mine[0], 7);
        EXPECT_EQ(sum_of_all(rank, *rank.world), 21);
      }
    });
  }
}

// Data of these go through areas where messages within the node would take longer, of all ranks alike.
TEST(NodeTeam, ShortBlocksGoThroughAreas) {
  for (const bool background : {false, true}) {
    for (const Collective kind : {Collective::gather, Collective::scatter, Collective::alltoall,
                                  Collective::reduce_scatter_block, Collective::allgather}) {
      TestCluster cluster(8, with_two_levels(), false, 4);
      cluster.run([background, kind](TestRank& rank) {
        std::vector<int> from(8, 1), to(8);
        const CollectiveCall call{.kind = kind,
                                  .send = {from.data(), 1, &integer()},
                                  .receive = {to.data(), 1, &integer()},
                                  .op = kind == Collective::reduce_scatter_block ? &sum() : nullptr};
        Request* request = nullptr;
        if (background) {
          EXPECT_TRUE(rank.engine.start(*rank.world, call, request));
          end(rank, request);
        } else {
          EXPECT_TRUE(rank.engine.run(*rank.world, call));
        }
        const NodeTeam& team = *team_of(*rank.world);
        EXPECT_TRUE(background ? team.lanes->up.is_open() : team.in_node != nullptr) << name_of(kind);
      });
    }
  }
}

namespace {

Request* start_sum(TestRank& rank, Communicator& communicator, std::vector<int>& data) {
  Request* request = nullptr;
  EXPECT_TRUE(rank.engine.start(communicator,
                                {.kind = Collective::allreduce,
                                 .send = {in_place},
                                 .receive = {data.data(), static_cast<std::int64_t>(data.size()), &integer()},
                                 .op = &sum()},
                                request));
  return request;
}

void compute(TestRank& rank, std::uint64_t passes) {
  std::uint64_t past = 0;
  rank.wait_until([&past, passes] { return ++past > passes; });
}

// The operation while three others are under way and a blocking one comes between; they are awaited in
// another order than they were begun in. Ranks come late.
Result<> among_others(TestRank& rank, const CollectiveCall& call) {
  Random late(static_cast<std::uint64_t>(rank.rank * 7 + static_cast<int>(call.kind)));
  const int root = rank.size / 2;
  std::vector<int> from_root(3000, rank.rank == root ? 5 : -1), sums(10, rank.rank + 1), large(2000, 1);
  Request *requests[3], *own = nullptr;
  compute(rank, late.below(20));
  EXPECT_TRUE(rank.engine.start(
      *rank.world,
      {.kind = Collective::broadcast, .root = root, .receive = {from_root.data(), 3000, &integer()}},
      requests[0]));
  requests[1] = start_sum(rank, *rank.world, sums);
  compute(rank, late.below(20));
  HAWSER_TRY(rank.engine.start(*rank.world, call, own));
  requests[2] = start_sum(rank, *rank.world, large);
  HAWSER_TRY(rank.engine.run(*rank.world, {.kind = Collective::barrier}));
  EXPECT_EQ(sum_of_all(rank, *rank.world), rank.size * (rank.size + 1) / 2);
  end(rank, requests[2]);
  end(rank, requests[1]);
  end(rank, own);
  end(rank, requests[0]);
  EXPECT_EQ(from_root, std::vector<int>(3000, 5));
  EXPECT_EQ(sums, std::vector<int>(10, rank.size * (rank.size + 1) / 2));
  EXPECT_EQ(large, std::vector<int>(2000, rank.size));
  return {};
}

}  // namespace

// Operations of all kinds in random order, blocking and not, alone and several at a time, on nodes of any
// number of ranks.
TEST_F(AlgorithmTest, TheNodesPartsOfSeveralOperationsAreUnderWayAtOnce) {
  for (const auto& [size, per_node] :
       {std::pair{4, 2}, std::pair{6, 3}, std::pair{7, 3}, std::pair{7, -2}, std::pair{11, at_random + 3}}) {
    TestCluster cluster(size, with_two_levels(), false, per_node);
    Random random(static_cast<std::uint64_t>(size + 40));
    for (int i = 0; i < 200; ++i) {
      kind_ = static_cast<Collective>(random.below(collective_kinds));
      const std::int64_t counts[] = {1, 2, 50, 1500, 5000};
      const Runner runners[] = {blocking, in_background, among_others, among_others, persistently};
      const Case c{runners[random.below(5)], counts[random.below(5)], random.chance(0.1), random.chance(0.5)};
      cluster.run([&](TestRank& rank) { run_case(rank, c); });
      ASSERT_FALSE(HasFailure()) << "operation " << i << " of " << size << " ranks: " << name_of(kind_);
    }
    const NodeTeam* const team = team_of(*cluster.rank(0).world);
    ASSERT_NE(team, nullptr);
    EXPECT_TRUE(team->lanes->up.is_open());
  }
}

// A rank that has not begun an operation holds nobody up in those before it.
TEST(NodeTeam, WhoIsLateHoldsUpNoOperationBefore) {
  TestCluster cluster(6, with_two_levels(), false, 3);
  for (int late = 0; late < 6; ++late) {
    cluster.run([late](TestRank& rank) {
      std::vector<int> first(10, 1), second(10, 2);
      Request* const before = start_sum(rank, *rank.world, first);
      if (rank.rank == late) end(rank, before);
      Request* const after = start_sum(rank, *rank.world, second);
      if (rank.rank != late) end(rank, before);
      end(rank, after);
      EXPECT_EQ(first, std::vector<int>(10, 6));
      EXPECT_EQ(second, std::vector<int>(10, 12));
    });
  }
}

// Communicators are freed while what was begun there is under way, the first of all included.
TEST(NodeTeam, AreasOfNonBlockingOperationsAreUsedAgain) {
  TestCluster cluster(6, with_two_levels(), false, 3);
  for (int i = 0; i < 40; ++i) {
    cluster.run([i](TestRank& rank) {
      Ref<Communicator> copy = duplicate_of_world(rank);
      std::vector<int> data[3] = {{1}, std::vector<int>(100, 1), std::vector<int>(9000, 1)};
      if (i % 2 == 0) {
        EXPECT_EQ(sum_of_all(rank, *copy), 21);
      }
      Request* requests[3];
      for (int k = 0; k < 3; ++k) requests[k] = start_sum(rank, *copy, data[k]);
      const auto* const record = &CollectiveRecord::of(*copy);
      copy->collective->freed();
      for (Request* request : requests) {
        rank.wait(request);
        EXPECT_TRUE(record->node_team->lanes->up.is_open());
      }
      copy = nullptr;
      for (Request* request : requests) end(rank, request);
      for (const auto& each : data) EXPECT_EQ(each, std::vector<int>(each.size(), 6));
    });
    ASSERT_FALSE(::testing::Test::HasFailure()) << "communicator " << i;
  }
  cluster.run([](TestRank& rank) {
    if (rank.rank % 3 == 0) {
      EXPECT_GE(rank.areas().free(), 3);
    }
  });
}

// Blocking operations and others have an area each.
TEST(NodeTeam, NonBlockingOperationsGoByMessagesWhereNoAreaIsLeft) {
  TestCluster cluster(6, with_two_levels(), false, 3);
  cluster.run([](TestRank& rank) {
    std::vector<Ref<Communicator>> kept;
    for (int i = 0; i < 6; ++i) {
      kept.push_back(duplicate_of_world(rank));
      std::vector<int> first(20, rank.rank), second(2000, 1);
      Request* const requests[] = {start_sum(rank, *kept.back(), first),
                                   start_sum(rank, *kept.back(), second)};
      EXPECT_EQ(sum_of_all(rank, *kept.back()), 21);
      for (Request* request : requests) end(rank, request);
      EXPECT_EQ(first, std::vector<int>(20, 15));
      EXPECT_EQ(second, std::vector<int>(2000, 6));
      EXPECT_EQ(team_of(*kept.back())->lanes->up.is_open(), 2 * i < testing::TestNode::areas - 1);
    }
  });
}

namespace {

Request* prepare_sum(TestRank& rank, Communicator& communicator, std::vector<int>& data) {
  Request* request = nullptr;
  EXPECT_TRUE(
      rank.engine.prepare(communicator,
                          {.kind = Collective::allreduce,
                           .send = {in_place},
                           .receive = {data.data(), static_cast<std::int64_t>(data.size()), &integer()},
                           .op = &sum()},
                          request));
  return request;
}

bool has_part(const Request* request) { return static_cast<const Operation*>(request)->part != nullptr; }

void run_sum(TestRank& rank, Request* request, std::vector<int>& data) {
  std::ranges::fill(data, 1);
  EXPECT_TRUE(request->start());
  rank.wait(request);
  EXPECT_EQ(request->status.error, ErrorClass::success);
  EXPECT_EQ(data, std::vector<int>(data.size(), rank.size));
}

}  // namespace

// Each persistent operation has its own part of an area on each node, whatever others have there. Rank 6 is
// alone on its node.
TEST(NodeTeam, PersistentOperationsHaveAPartEach) {
  constexpr int parts = 2;  // that have room for two teams of three each
  TestCluster cluster(7, with_two_levels(), false, 3);
  cluster.run([](TestRank& rank) {
    std::vector<int> data[parts + 2];
    std::vector<Request*> all;
    for (int i = 0; i < parts; ++i) {
      data[i].resize(static_cast<std::size_t>(1 + 9 * i));
      all.push_back(prepare_sum(rank, *rank.world, data[i]));
      EXPECT_EQ(has_part(all.back()), rank.rank != 6);
    }
    data[parts].resize(1);
    Request* const late = prepare_sum(rank, *rank.world, data[parts]);
    EXPECT_FALSE(has_part(late));
    all.push_back(late);
    data[parts + 1].resize(9000);
    all.push_back(prepare_sum(rank, *rank.world, data[parts + 1]));  // has an area
    EXPECT_EQ(has_part(all.back()), rank.rank != 6);
    // Started in any order, and ahead of others.
    for (int round = 0; round < 5; ++round) {
      for (auto& each : data) std::ranges::fill(each, 1);
      for (std::size_t i = 0; i < all.size(); ++i)
        EXPECT_TRUE(all[(i + static_cast<std::size_t>(rank.rank + round)) % all.size()]->start());
      for (Request* each : all) rank.wait(each);
      for (const auto& each : data) EXPECT_EQ(each, std::vector<int>(each.size(), rank.size));
    }
    // One that a rank of a node has not freed is not taken again there, but on the other node.
    if (rank.rank != 1) all[1]->destroy();
    std::vector<int> more(3);
    Request* again = prepare_sum(rank, *rank.world, more);
    EXPECT_EQ(has_part(again), rank.rank / 3 == 1);
    run_sum(rank, again, more);
    again->destroy();
    if (rank.rank == 1) all[1]->destroy();
    all[1] = prepare_sum(rank, *rank.world, more);
    EXPECT_EQ(has_part(all[1]), rank.rank != 6);
    run_sum(rank, all[1], more);
    for (Request* each : all) each->destroy();
  });
}

// The area is used again when the communicator and all requests are freed, in whatever order.
TEST(NodeTeam, AreasOfPersistentOperationsAreUsedAgain) {
  TestCluster cluster(6, with_two_levels(), false, 3);
  for (int i = 0; i < 40; ++i) {
    cluster.run([i](TestRank& rank) {
      Ref<Communicator> copy = duplicate_of_world(rank);
      std::vector<int> few(2), many(9000);
      Request* const small = prepare_sum(rank, *copy, few);
      Request* const large = prepare_sum(rank, *copy, many);
      EXPECT_TRUE(has_part(small));
      EXPECT_TRUE(has_part(large));
      run_sum(rank, small, few);
      if (i % 2 == 0) small->destroy();
      copy->collective->freed();
      copy = nullptr;
      run_sum(rank, large, many);
      large->destroy();
      if (i % 2 != 0) small->destroy();
      EXPECT_TRUE(rank.engine.run(*rank.world, {.kind = Collective::barrier}));
    });
    ASSERT_FALSE(::testing::Test::HasFailure()) << "communicator " << i;
  }
}

TEST(NodeTeam, PersistentOperationsGoByMessagesWhereNoAreaIsLeft) {
  TestCluster cluster(6, with_two_levels(), false, 3);
  cluster.run([](TestRank& rank) {
    std::vector<Ref<Communicator>> kept;
    std::vector<Request*> requests;
    std::vector<std::vector<int>> data(10, std::vector<int>(20));
    for (std::size_t i = 0; i < data.size(); ++i) {
      kept.push_back(duplicate_of_world(rank));
      requests.push_back(prepare_sum(rank, *kept.back(), data[i]));
      EXPECT_EQ(has_part(requests.back()), i < testing::TestNode::areas - 1);
      run_sum(rank, requests.back(), data[i]);
    }
    for (Request* each : requests) each->destroy();
  });
}

// The others never come, and then there is an end.
TEST(NodeTeam, WhatIsUnderWayIsGivenUpWhenTheEngineCloses) {
  TestCluster cluster(6, with_two_levels(), false, 3);
  std::vector<int> data(4000);
  cluster.run([&data](TestRank& rank) {
    for (int i = 0; i < 3; ++i) {
      std::vector<int> sums(10, 1);
      if (i == 0) end(rank, start_sum(rank, *rank.world, sums));
      if (rank.rank == 3) {
        EXPECT_FALSE(start_sum(rank, *rank.world, data)->complete);
      }
    }
    if (rank.rank == 3) rank.engine.close();
  });
}

}  // namespace hawser
