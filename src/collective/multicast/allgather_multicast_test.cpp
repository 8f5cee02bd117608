// Allgathers by multicast through the collective engine, over a network that loses what it likes.
#include <gtest/gtest.h>

#include "collective/multicast/multicast_agreement.h"
#include "collective/test_cluster.h"
#include "datatype/predefined.h"

namespace hawser::testing {
namespace {

using Turn = MulticastAgreement::Turn;

class AllgatherMulticast : public ::testing::Test {
 protected:
  static Knobs always() {
    Knobs knobs;
    knobs.multicast = "always";
    return knobs;
  }

  // Blocks of `count` numbers, whose broadcasts and allgathers in the background are in between.
  void allgathers(TestRank& rank, int times, int count) {
    std::vector<int> mine(static_cast<std::size_t>(count)), all(mine.size() * 8), later(mine.size() * 8);
    for (int i = 0; i < times; ++i) {
      const auto value = [i](int of, int at) { return i * 1000 + of * 100 + at; };
      for (int at = 0; at < count; ++at) mine[static_cast<std::size_t>(at)] = value(rank.rank, at);
      CollectiveCall call{Collective::allgather};
      call.send = {mine.data(), count, &types[PredefinedType::plain_int]};
      call.receive = {later.data(), count, &types[PredefinedType::plain_int]};
      Request* request = nullptr;
      const bool started = i % 4 != 1 || rank.engine.start(*rank.world, call, request);
      ASSERT_TRUE(started);
      call.receive.buffer = all.data();
      ASSERT_TRUE(rank.engine.run(*rank.world, call));
      int number = rank.rank == i % rank.size ? i : -1;
      CollectiveCall broadcast{Collective::broadcast};
      broadcast.root = i % rank.size;
      broadcast.receive = {&number, 1, &types[PredefinedType::plain_int]};
      const bool went = i % 3 != 0 || rank.engine.run(*rank.world, broadcast);
      ASSERT_TRUE(went);
      ASSERT_TRUE(i % 3 != 0 || number == i);
      if (request != nullptr) {
        rank.wait(request);
        ASSERT_TRUE(request->finish());
        request->destroy();
      }
      for (int of = 0; of < rank.size; ++of)
        for (int at = 0; at < count; ++at) {
          const auto place = static_cast<std::size_t>(of * count + at);
          ASSERT_EQ(all[place], value(of, at)) << "rank " << rank.rank << ", allgather " << i;
          ASSERT_TRUE(request == nullptr || later[place] == value(of, at));
        }
    }
  }
  void run(TestCluster& cluster, int times) {
    for (const int count : {1, 300, 5000}) {
      cluster.run([&](TestRank& rank) {
        rank.lane.at_bad_packet([](const std::string& what) { ADD_FAILURE() << what; });
        allgathers(rank, times, count);
      });
      if (HasFatalFailure()) return;
    }
  }
  // Of broadcasts and allgathers, by all roots.
  static std::uint64_t by_multicast(TestCluster& cluster, int ranks) {
    std::uint64_t sum = 0;
    for (int r = 0; r < ranks; ++r) sum += cluster.rank(r).engine.multicast()->counters().by_multicast;
    return sum;
  }
  static std::uint64_t repairs(TestCluster& cluster, int ranks) {
    std::uint64_t sum = 0;
    for (int r = 0; r < ranks; ++r) sum += cluster.rank(r).engine.multicast()->counters().repairs;
    return sum;
  }

  PredefinedTypes types;
};

TEST_F(AllgatherMulticast, GoesByMulticastOnceAllLeadersCan) {
  for (const int on_node : {1, 2, 3, -2, at_random}) {
    SCOPED_TRACE(on_node);
    TestCluster cluster(6, always(), false, on_node);
    run(cluster, 24);
    const int leaders = on_node == 1 ? 6 : 2;
    EXPECT_GT(by_multicast(cluster, 6), static_cast<std::uint64_t>(50 * leaders));
    EXPECT_LT(repairs(cluster, 6), by_multicast(cluster, 6));
  }
}

TEST_F(AllgatherMulticast, IsRightWhateverIsLost) {
  for (const double loss : {0.01, 0.2, 1.0})
    for (const int on_node : {1, 2}) {
      SCOPED_TRACE(loss);
      TestCluster cluster(5, always(), false, on_node);
      cluster.air().loss = loss;
      cluster.air().twice = cluster.air().late = 0.1;
      run(cluster, 16);
      EXPECT_GT(by_multicast(cluster, 5), 0u);
      EXPECT_TRUE(loss < 0.1 || repairs(cluster, 5) > 0u);
    }
}

TEST_F(AllgatherMulticast, GoesByMessagesWhereNobodyCanJoin) {
  TestCluster cluster(5, always(), false, 2);
  cluster.air().works = false;
  run(cluster, 10);
  EXPECT_EQ(by_multicast(cluster, 5), 0u);
  cluster.air().works = true;
  run(cluster, 30);
  EXPECT_GT(by_multicast(cluster, 5), 0u);
  cluster.air().works = false;  // in the middle of all
  run(cluster, 10);
  const std::uint64_t before = by_multicast(cluster, 5);
  run(cluster, 10);
  EXPECT_EQ(by_multicast(cluster, 5), before) << "everybody has noticed";
}

// So many operations by messages before each question in vain.
TEST_F(AllgatherMulticast, LeadersAskMoreAndMoreSeldom) {
  MulticastAgreement agreement;
  std::vector<std::uint32_t> pauses;
  for (int i = 0; i < 12; ++i) {
    pauses.push_back(0);
    while (agreement.begin() == Turn::messages) ++pauses.back();
    EXPECT_FALSE(agreement.on_answer(false));
  }
  EXPECT_EQ(pauses, (std::vector<std::uint32_t>{1, 1, 2, 4, 8, 16, 32, 64, 128, 256, 256, 256}));
}

TEST_F(AllgatherMulticast, WhatWorkedForLongIsTriedAgainSoon) {
  MulticastAgreement agreement;
  const auto messages = [&] {
    int count = 0;
    while (agreement.begin() == Turn::messages) ++count;
    return count;
  };
  EXPECT_EQ(messages(), 1);
  for (int i = 0; i < 5; ++i) {
    EXPECT_TRUE(agreement.on_answer(true));
    EXPECT_EQ(agreement.begin(), Turn::multicast);
    agreement.on_end(false);
    EXPECT_EQ(messages(), 1 << i) << "it fails at once each time";
  }
  EXPECT_TRUE(agreement.on_answer(true));
  for (std::uint32_t i = 0; i < MulticastAgreement::well_enough; ++i) {
    EXPECT_EQ(agreement.begin(), Turn::multicast);
    agreement.on_end(true);
  }
  agreement.on_end(false);
  EXPECT_EQ(messages(), 1);
}

}  // namespace
}  // namespace hawser::testing
