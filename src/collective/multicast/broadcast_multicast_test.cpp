// Broadcasts by multicast through the collective engine, over a network that loses what it likes.
#include <gtest/gtest.h>

#include <numeric>

#include "collective/construction.h"
#include "collective/record.h"
#include "collective/test_cluster.h"
#include "datatype/predefined.h"
#include "mpi/failure.h"

namespace hawser::testing {
namespace {

Knobs with_multicast() {
  Knobs knobs;
  knobs.multicast = "always";
  return knobs;
}

class BroadcastMulticast : public ::testing::Test {
 protected:
  // Broadcasts from all roots in turn, of `bytes` bytes; some of them in the background.
  void broadcasts(TestRank& rank, Communicator& communicator, int count, std::size_t bytes) {
    std::vector<std::vector<int>> data(3, std::vector<int>(bytes / sizeof(int)));
    for (int i = 0; i < count; ++i) {
      Request* requests[3] = {};
      for (int k = 0; k < 3; ++k) {
        const int root = (i + k) / 2 % rank.size;
        auto& mine = data[static_cast<std::size_t>(k)];
        std::iota(mine.begin(), mine.end(), rank.rank == root ? i * 10 + k : -100000);
        CollectiveCall call{Collective::broadcast};
        call.root = root;
        call.receive = {mine.data(), static_cast<std::int64_t>(mine.size()),
                        &types[PredefinedType::plain_int]};
        if (i % 2 == 0)
          ASSERT_TRUE(rank.engine.run(communicator, call));
        else
          ASSERT_TRUE(rank.engine.start(communicator, call, requests[k]));
      }
      for (int k = 0; k < 3; ++k) {
        if (requests[k] != nullptr) {
          rank.wait(requests[k]);
          ASSERT_TRUE(requests[k]->finish());
          requests[k]->destroy();
        }
        const auto& mine = data[static_cast<std::size_t>(k)];
        for (std::size_t at = 0; at < mine.size(); ++at)
          ASSERT_EQ(mine[at], i * 10 + k + static_cast<int>(at))
              << "rank " << rank.rank << ", broadcast " << i;
      }
    }
  }

  // All broadcasts of some sizes, in MPI_COMM_WORLD and in a communicator that is freed at once.
  void run(TestCluster& cluster, int count) {
    for (const std::size_t bytes : {4, 4000, 40000}) {
      cluster.run([&](TestRank& rank) {
        rank.lane.at_bad_packet([](const std::string& what) { ADD_FAILURE() << what; });
        auto made = duplicate(rank.engine, *rank.world);
        ASSERT_TRUE(made);
        broadcasts(rank, *rank.world, count, bytes);
        broadcasts(rank, *made.value(), count / 2, bytes);
      });
      if (HasFatalFailure()) return;
    }
  }
  static MulticastCounters sum(TestCluster& cluster, int ranks) {
    MulticastCounters sum;
    for (int r = 0; r < ranks; ++r) {
      const MulticastCounters& one = cluster.rank(r).engine.multicast()->counters();
      sum.by_multicast += one.by_multicast;
      sum.by_trees += one.by_trees;
      sum.repairs += one.repairs;
      sum.waits += one.waits;
      sum.suspensions += one.suspensions;
      sum.listened += one.listened;
      sum.attachments += one.attachments;
      sum.detachments += one.detachments;
    }
    return sum;
  }

  // Two ranks to a node. The first rank of each node begins each broadcast of rank 0 late, by many passes of
  // the others; `ahead` counts how often another one had it before its leader began.
  void with_late_leaders(TestCluster& cluster, int count, std::size_t bytes, int passes_late) {
    std::vector<int> begun(64);
    cluster.run([&](TestRank& rank) {
      std::vector<int> data(bytes / sizeof(int));
      for (int i = 0; i < count; ++i) {
        // Else the root is far ahead, by trees, before it learns who is attached.
        ASSERT_TRUE(rank.engine.run(*rank.world, {Collective::barrier}));
        int passes = rank.rank % 2 == 0 && rank.rank != 0 ? passes_late : 0;
        rank.wait_until([&] { return --passes < 0; });
        begun[static_cast<std::size_t>(rank.rank)] = i + 1;
        std::iota(data.begin(), data.end(), rank.rank == 0 ? i : -100000);
        CollectiveCall call{Collective::broadcast};
        call.receive = {data.data(), static_cast<std::int64_t>(data.size()),
                        &types[PredefinedType::plain_int]};
        ASSERT_TRUE(rank.engine.run(*rank.world, call));
        ahead += rank.rank % 2 == 1 && begun[static_cast<std::size_t>(rank.rank - 1)] <= i;
        for (std::size_t at = 0; at < data.size(); ++at)
          ASSERT_EQ(data[at], i + static_cast<int>(at)) << "rank " << rank.rank << ", broadcast " << i;
      }
    });
  }

  // The node's ranks have no area for what follows in MPI_COMM_WORLD, until these are freed.
  void take_all_areas(TestCluster& cluster) {
    kept.resize(64);
    cluster.run([&](TestRank& rank) {
      int number = 0;
      for (int i = 0; i < TestNode::areas; ++i) {
        auto made = duplicate(rank.engine, *rank.world);
        ASSERT_TRUE(made);
        CollectiveCall call{Collective::broadcast};
        call.receive = {&number, 1, &types[PredefinedType::plain_int]};
        ASSERT_TRUE(rank.engine.run(*made.value(), call));
        kept[static_cast<std::size_t>(rank.rank)].push_back(std::move(made).value());
      }
    });
  }
  void free_all(TestCluster& cluster) {
    cluster.run([&](TestRank& rank) { kept[static_cast<std::size_t>(rank.rank)].clear(); });
  }
  static bool has_area(TestRank& rank) {
    return CollectiveRecord::of(*rank.world).node_team->in_node != nullptr;
  }

  PredefinedTypes types;
  int ahead = 0;
  std::vector<std::vector<Ref<Communicator>>> kept;
};

TEST_F(BroadcastMulticast, GoesByMulticastOnceAllAreAttached) {
  for (const int on_node : {1, 2, 3, -2}) {
    SCOPED_TRACE(on_node);
    TestCluster cluster(6, with_multicast(), false, on_node);
    run(cluster, 12);
    const MulticastCounters counters = sum(cluster, 6);
    EXPECT_GT(counters.by_multicast, 2 * counters.by_trees);
    EXPECT_LT(counters.repairs, counters.by_multicast);
  }
}

TEST_F(BroadcastMulticast, IsRightWhateverIsLost) {
  const double losses[] = {0.01, 0.2, 1};
  for (const double loss : losses)
    for (const int on_node : {1, 2}) {
      SCOPED_TRACE(loss);
      TestCluster cluster(5, with_multicast(), false, on_node);
      cluster.air().loss = loss;
      cluster.air().twice = cluster.air().late = 0.1;
      run(cluster, 12);
      const MulticastCounters counters = sum(cluster, 5);
      EXPECT_GT(counters.by_multicast, 0u);
      EXPECT_GT(counters.repairs, 0u);
      // The more is lost, the more goes by trees.
      if (loss == 1) {
        EXPECT_GT(counters.suspensions, 0u);
        EXPECT_GT(counters.by_trees, counters.by_multicast);
      }
    }
}

TEST_F(BroadcastMulticast, GoesByTreesWhereNobodyCanJoin) {
  TestCluster cluster(5, with_multicast(), false, 2);
  cluster.air().works = false;
  run(cluster, 10);
  EXPECT_EQ(sum(cluster, 5).by_multicast, 0u);
  cluster.air().works = true;
  run(cluster, 10);
  EXPECT_GT(sum(cluster, 5).by_multicast, 0u);
  cluster.air().works = false;  // in the middle of all
  run(cluster, 10);
}

constexpr int late = 160;  // passes: 80 us

TEST_F(BroadcastMulticast, WhoWaitsForItsLeaderListensUntilThisIsInTime) {
  TestCluster cluster(6, with_multicast(), false, 2);
  with_late_leaders(cluster, 15, 8, late);
  EXPECT_EQ(sum(cluster, 6).attachments, 0u) << "too few to judge by";
  with_late_leaders(cluster, 45, 8, late);
  MulticastCounters counters = sum(cluster, 6);
  EXPECT_EQ(counters.attachments, 2u) << "ranks 3 and 5; rank 1 has its broadcasts from the root itself";
  EXPECT_GT(counters.listened, 2u * 35);
  EXPECT_GT(ahead, 2 * 35);
  EXPECT_EQ(counters.detachments, 0u);
  with_late_leaders(cluster, 150, 8, 0);
  counters = sum(cluster, 6);
  EXPECT_EQ(counters.detachments, 2u);
  EXPECT_EQ(counters.attachments, 2u);
  with_late_leaders(cluster, 20, 8, late);
  EXPECT_EQ(sum(cluster, 6).attachments, 4u);
}

// A message to whom it does not wait for must not keep the leader.
TEST_F(BroadcastMulticast, NobodyListensToWhatItsLeaderAsksForRoomFor) {
  TestCluster cluster(4, with_multicast(), false, 2);
  take_all_areas(cluster);
  with_late_leaders(cluster, 30, 4000, late);
  EXPECT_FALSE(has_area(cluster.rank(0)));
  EXPECT_EQ(sum(cluster, 4).listened, 0u);
  EXPECT_EQ(ahead, 0);
  free_all(cluster);
}

// Who has the data leaves its steps in the area to the background, up to the size of one piece.
TEST_F(BroadcastMulticast, WhoSharesAnAreaWithItsLeaderListens) {
  for (const std::size_t bytes : {8, 4000, 16384}) {
    SCOPED_TRACE(bytes);
    TestCluster cluster(6, with_multicast(), false, 2);
    cluster.run([&](TestRank& rank) { broadcasts(rank, *rank.world, 4, bytes); });
    EXPECT_TRUE(has_area(cluster.rank(0)));
    with_late_leaders(cluster, 120, bytes, late);
    EXPECT_GT(sum(cluster, 6).listened, 2u * 35);
    run(cluster, 12);
  }
}

TEST_F(BroadcastMulticast, WhoHasNoAreaListensToMessages) {
  TestCluster cluster(6, with_multicast(), false, 2);
  take_all_areas(cluster);
  with_late_leaders(cluster, 60, 8, late);
  EXPECT_FALSE(has_area(cluster.rank(0)));
  EXPECT_GT(sum(cluster, 6).listened, 2u * 35);
  EXPECT_GT(ahead, 2 * 35);
  free_all(cluster);
}

// Of packets in any order.
TEST_F(BroadcastMulticast, KnowsHowMuchCameInOrder) {
  std::vector<std::byte> data(1000), into(1000);
  for (std::size_t i = 0; i < data.size(); ++i) data[i] = static_cast<std::byte>(i * 7);
  MulticastReceive receive;
  receive.into = into.data();
  receive.bytes = 1000;
  const auto place = [&](std::int64_t at) {
    MulticastHeader header;
    header.offset = at;
    header.total = 1000;
    receive.place(header, std::span(data).subspan(static_cast<std::size_t>(at), 100));
    return receive.in_order;
  };
  EXPECT_FALSE(receive.begun);
  EXPECT_EQ(place(300), 0);
  EXPECT_TRUE(receive.begun);
  EXPECT_EQ(place(100), 0);
  EXPECT_EQ(place(200), 0);
  EXPECT_EQ(place(0), 400);
  EXPECT_EQ(place(900), 400);
  EXPECT_EQ(place(400), 500);
  EXPECT_FALSE(receive.done);
  for (const std::int64_t at : {800, 700, 600, 500}) place(at);
  EXPECT_EQ(receive.in_order, 1000);
  EXPECT_TRUE(receive.done);
  EXPECT_EQ(into, data);
}

TEST_F(BroadcastMulticast, ListenersAreRightWhateverIsLost) {
  for (const double loss : {0.0, 0.02, 0.1}) {
    SCOPED_TRACE(loss);
    TestCluster cluster(6, with_multicast(), false, 2);
    cluster.air().loss = loss;
    cluster.air().twice = cluster.air().late = 0.2;
    with_late_leaders(cluster, 120, loss < 0.1 ? 1000 : 200, late);
    EXPECT_GT(sum(cluster, 6).listened, 0u);
    run(cluster, 12);
  }
}

TEST_F(BroadcastMulticast, OtherAmountsAreAnError) {
  for (const std::size_t root_bytes : {40, 400, 40000}) {
    TestCluster cluster(4, with_multicast(), false, 2);
    cluster.run([&](TestRank& rank) {
      broadcasts(rank, *rank.world, 12, 4000);
      std::vector<std::byte> data(rank.rank == 0 ? root_bytes : 300 * root_bytes / 400);
      CollectiveCall call{Collective::broadcast};
      call.receive = {data.data(), static_cast<std::int64_t>(data.size()), &types[PredefinedType::byte]};
      const auto result = rank.engine.run(*rank.world, call);
      EXPECT_EQ(static_cast<bool>(result), rank.rank == 0);
      const bool truncated = !result && error_class_of(result.error()) == ErrorClass::truncate;
      EXPECT_EQ(truncated, rank.rank != 0);
      broadcasts(rank, *rank.world, 12, 40000);
    });
  }
}

// In the area of a rank that listens, too.
TEST_F(BroadcastMulticast, OtherAmountsAreAnErrorForWhoListens) {
  TestCluster cluster(4, with_multicast(), false, 2);
  with_late_leaders(cluster, 120, 400, late);
  EXPECT_GT(sum(cluster, 4).listened, 0u);
  cluster.run([&](TestRank& rank) {
    std::vector<std::byte> data(rank.rank == 0 ? 400 : 300);
    CollectiveCall call{Collective::broadcast};
    call.receive = {data.data(), static_cast<std::int64_t>(data.size()), &types[PredefinedType::byte]};
    EXPECT_EQ(static_cast<bool>(rank.engine.run(*rank.world, call)), rank.rank == 0);
    broadcasts(rank, *rank.world, 12, 400);
  });
}

// What only a process of the job can send, and no process of the job sends.
TEST_F(BroadcastMulticast, NonsenseIsTold) {
  TestCluster cluster(4, with_multicast(), false, 1);
  cluster.run([&](TestRank& rank) { broadcasts(rank, *rank.world, 12, 4000); });
  MulticastControl header;
  header.source_rank = 1;
  LeaderStatus status;
  status.expected = 1u << 30;
  const ByteSequence bytes{reinterpret_cast<std::byte*>(&status), sizeof status, nullptr};
  const auto sent = [&](std::int64_t size) {
    cluster.rank(1).channel().try_send(0, header, {bytes.data, size, nullptr});
    TestRank& taker = cluster.rank(0);
    std::string told;
    taker.lane.at_bad_packet([&](const std::string& what) { told = what; });
    for (int i = 0; i < 10; ++i) taker.make_progress();
    return told;
  };
  EXPECT_NE(sent(bytes.size).find("a state of multicast packets that cannot be"), std::string::npos);
}

}  // namespace
}  // namespace hawser::testing
