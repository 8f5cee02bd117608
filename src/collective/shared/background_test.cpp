// Non-blocking operations straight in shared memory: what a run is, and what the program sees of several.
#include <numeric>
#include <stdexcept>
#include <string>

#include "collective/algorithm_cases.h"
#include "collective/construction.h"
#include "collective/shared/background_run.h"

namespace hawser {

TEST(BackgroundRun, GoesOnWhenWhatItWaitsForHasCome) {
  BackgroundRun run;
  bool come = false;
  std::string log;
  for (int round = 0; round < 3; ++round) {
    come = false;
    log.clear();
    run.begin([&] {
      log += "a";
      run.wait([&] { return come; });
      log += "b";
    });
    EXPECT_FALSE(run.advance());
    EXPECT_EQ(log, "a");
    come = true;
    EXPECT_TRUE(run.advance());
    EXPECT_EQ(log, "ab");
  }
}

TEST(BackgroundRun, ThrowsOutsideWhatItsTextThrows) {
  BackgroundRun run;
  bool come = false;
  run.begin([&] {
    run.wait([&] { return come; });
    throw std::runtime_error("no more");
  });
  come = true;
  EXPECT_THROW(run.advance(), std::runtime_error);
  EXPECT_TRUE(run.advance());
}

TEST(BackgroundRun, GivesUpWhatItsStackOwns) {
  const auto owned = std::make_shared<int>(7);
  const auto text = [&owned](BackgroundRun& run) {
    return [&owned, &run] {
      const std::shared_ptr<int> kept = owned;
      try {
        run.wait([] { return false; });
      } catch (const Stopped&) {
      }
    };
  };
  {
    BackgroundRun run;
    run.begin(text(run));
    EXPECT_EQ(owned.use_count(), 2);
    run.cancel();
    EXPECT_EQ(owned.use_count(), 1);
    run.begin(text(run));
    EXPECT_EQ(owned.use_count(), 2);
  }
  EXPECT_EQ(owned.use_count(), 1);
}

namespace {

Datatype& integer() {
  static PredefinedTypes types;
  return types[PredefinedType::plain_int];
}

Request* start(TestRank& rank, const CollectiveCall& call) {
  Request* request = nullptr;
  EXPECT_TRUE(rank.engine.start(*rank.world, call, request));
  return request;
}

void end(TestRank& rank, Request* request) {
  rank.wait(request);
  EXPECT_EQ(request->status.error, ErrorClass::success);
  request->destroy();
}

// The operation, after one that is under way, and before a blocking one.
Result<> between_others(TestRank& rank, const CollectiveCall& call) {
  constexpr std::int64_t count = 5000;
  std::vector<int> data(count, -1);
  const int root = rank.size - 1;
  if (rank.rank == root) std::iota(data.begin(), data.end(), 3);
  Request* const before =
      start(rank, {.kind = Collective::broadcast, .root = root, .receive = {data.data(), count, &integer()}});
  Request* const own = start(rank, call);
  HAWSER_TRY(rank.engine.run(*rank.world, {.kind = Collective::barrier}));
  end(rank, own);
  end(rank, before);
  for (int i = 0; i < count; ++i) {
    EXPECT_EQ(data[static_cast<std::size_t>(i)], 3 + i);
    if (data[static_cast<std::size_t>(i)] != 3 + i) break;
  }
  return {};
}

}  // namespace

// Operations of all kinds in random order, several at a time, so that every reuse of shared memory follows
// every other.
TEST_F(AlgorithmTest, SharedMemoryOperationsGoOnInTheBackground) {
  for (int size : {2, 3, 4, 5}) {
    TestCluster cluster(size, {}, true);
    Random random(static_cast<std::uint64_t>(size + 10));
    for (int i = 0; i < 700; ++i) {
      kind_ = static_cast<Collective>(random.below(collective_kinds));
      const std::int64_t counts[] = {1, 2, 50, 1500, 7000};
      const Runner runners[] = {blocking, in_background, between_others};
      const Case c{runners[random.below(3)], counts[random.below(5)], random.chance(0.1), random.chance(0.5)};
      cluster.run([&](TestRank& rank) { run_case(rank, c); });
      ASSERT_FALSE(HasFailure()) << "operation " << i << " of " << size << " ranks: " << name_of(kind_);
    }
  }
}

TEST_F(AlgorithmTest, AnotherAmountThanTheRootsIsToldInTheBackground) {
  TestCluster cluster(3, {}, true);
  cluster.run([](TestRank& rank) {
    std::vector<int> data(100);
    Request* const request = start(rank, {.kind = Collective::broadcast,
                                          .receive = {data.data(), rank.rank == 2 ? 90 : 100, &integer()}});
    rank.wait(request);
    EXPECT_EQ(request->status.error, rank.rank == 2 ? ErrorClass::truncate : ErrorClass::success);
    EXPECT_EQ(static_cast<bool>(request->finish()), rank.rank != 2);
    request->destroy();
    EXPECT_TRUE(rank.engine.run(*rank.world, {.kind = Collective::barrier}));
  });
}

// A rank that only sends is done when it begins, until it is so many operations ahead that it has to wait.
TEST_F(AlgorithmTest, WhoOnlySendsIsDoneAtOnce) {
  TestCluster cluster(3, {}, true);
  for (const std::int64_t count : {1, 700}) {
    cluster.run([count](TestRank& rank) {
      constexpr int operations = 300;
      static PredefinedOperators operators;
      std::vector<int> sums(operations);
      std::vector<Request*> requests;
      const std::vector<int> data(static_cast<std::size_t>(count), rank.rank + 1);
      std::vector<std::vector<int>> results(operations, std::vector<int>(static_cast<std::size_t>(count)));
      for (auto& result : results) {
        requests.push_back(start(rank, {.kind = Collective::reduce,
                                        .root = 1,
                                        .send = {data.data(), count, &integer()},
                                        .receive = {result.data(), count, &integer()},
                                        .op = &operators[PredefinedOperator::sum]}));
        EXPECT_TRUE(rank.rank == 1 || requests.size() > 1 || requests[0]->complete);
      }
      for (Request* const request : requests) end(rank, request);
      for (const auto& result : results) EXPECT_EQ(result.back(), rank.rank == 1 ? 6 : 0);
    });
  }
}

// Of much data, ranks of a group reduce for each other: who comes first waits in the background.
TEST_F(AlgorithmTest, WhoReducesForItsGroupWaitsInTheBackground) {
  TestCluster cluster(8, {}, true);
  bool begun = false;
  cluster.run([&](TestRank& rank) {
    constexpr std::int64_t count = 5000;
    static PredefinedOperators operators;
    const std::vector<int> data(count, rank.rank + 1);
    std::vector<int> result(count);
    if (rank.rank != 7) rank.wait_until([&begun] { return begun; });
    Request* const request = start(rank, {.kind = Collective::reduce,
                                          .root = 2,
                                          .send = {data.data(), count, &integer()},
                                          .receive = {result.data(), count, &integer()},
                                          .op = &operators[PredefinedOperator::sum]});
    EXPECT_TRUE(rank.rank != 7 || !request->complete);
    begun = true;
    end(rank, request);
    EXPECT_EQ(result, std::vector<int>(count, rank.rank == 2 ? 36 : 0));
  });
}

// The root's data are all that the others need.
TEST_F(AlgorithmTest, WhatHasBeenSentIsTakenAtOnce) {
  TestCluster cluster(3, {}, true);
  for (const std::int64_t count : {1, 3000}) {
    std::vector<bool> sent(1);
    cluster.run([count, &sent](TestRank& rank) {
      std::vector<int> data(static_cast<std::size_t>(count), rank.rank == 2 ? 9 : 0);
      if (rank.rank != 2) rank.wait_until([&sent] { return bool(sent[0]); });
      Request* const request = start(
          rank, {.kind = Collective::broadcast, .root = 2, .receive = {data.data(), count, &integer()}});
      EXPECT_TRUE(request->complete);
      sent[0] = true;
      end(rank, request);
      EXPECT_EQ(data.back(), 9);
    });
  }
}

// Where all hear from all, nothing is left to wait for when the last one begins.
TEST_F(AlgorithmTest, TheLastOfAllIsDoneAtOnce) {
  for (const int size : {3, 4})
    for (const Collective kind : {Collective::allreduce, Collective::allgather, Collective::alltoall})
      for (const std::int64_t count : {1, 100}) {
        TestCluster cluster(size, {}, true);
        int begun = 0;
        cluster.run([&](TestRank& rank) {
          const std::vector<int> data(static_cast<std::size_t>(count * size), 3);
          std::vector<int> result(data.size());
          const bool last = rank.rank == size - 1;
          if (last) rank.wait_until([&] { return begun == size - 1; });
          Request* const request = start(
              rank, {.kind = kind,
                     .send = {data.data(), count, &integer()},
                     .receive = {result.data(), count, &integer()},
                     .op = kind == Collective::allreduce ? &operators_[PredefinedOperator::sum] : nullptr});
          EXPECT_EQ(request->complete, last) << name_of(kind) << " of " << size;
          ++begun;
          end(rank, request);
          EXPECT_EQ(result[0], kind == Collective::allreduce ? 3 * size : 3);
        });
      }
}

namespace {

// Several operations of the kind in which each rank gets so many integers of every other, or the sum of so
// many.
struct Several {
  static constexpr int operations = 5;
  Collective kind;
  std::int64_t count;
  std::vector<std::vector<int>> data{operations}, results{operations};
  std::vector<Request*> requests;

  void start_one(TestRank& rank, Communicator& communicator, Operator& sum) {
    const std::size_t i = requests.size();
    const auto blocks = kind == Collective::allreduce ? 1 : rank.size;
    data[i].assign(static_cast<std::size_t>(count * blocks), rank.rank + 10 * static_cast<int>(i));
    results[i].assign(data[i].size(), -1);
    Request* request = nullptr;
    EXPECT_TRUE(rank.engine.start(communicator,
                                  {.kind = kind,
                                   .send = {data[i].data(), count, &integer()},
                                   .receive = {results[i].data(), count, &integer()},
                                   .op = kind == Collective::allreduce ? &sum : nullptr},
                                  request));
    requests.push_back(request);
  }
  void expect_results(int ranks) const {
    for (int i = 0; i < operations; ++i) {
      std::vector<int> expected;
      for (int r = 0; r < ranks; ++r)
        expected.insert(expected.end(), static_cast<std::size_t>(count), r + 10 * i);
      if (kind == Collective::allreduce)
        expected.assign(static_cast<std::size_t>(count), ranks * (ranks - 1) / 2 + 10 * i * ranks);
      EXPECT_EQ(results[static_cast<std::size_t>(i)], expected) << name_of(kind) << " of " << count;
    }
  }
};

}  // namespace

// A line is written though operations before it are under way, and so is what stands beside a line. So the
// last one has to wait in none of them.
TEST_F(AlgorithmTest, LinesOfSeveralOperationsAreWrittenAhead) {
  for (const int size : {2, 3, 4})
    for (const Collective kind : {Collective::allreduce, Collective::allgather, Collective::alltoall})
      for (const std::int64_t count : {1, 13, 20}) {
        TestCluster cluster(size, {}, true, 0, testing::TestNode::large_area);
        int begun = 0;
        cluster.run([&](TestRank& rank) {
          const bool last = rank.rank == size - 1;
          if (last) rank.wait_until([&] { return begun == size - 1; });
          Several several{kind, count};
          for (int i = 0; i < Several::operations; ++i) {
            several.start_one(rank, *rank.world, operators_[PredefinedOperator::sum]);
            EXPECT_EQ(several.requests.back()->complete, last) << name_of(kind) << i << " of " << size;
          }
          ++begun;
          for (Request* const request : several.requests) end(rank, request);
          several.expect_results(size);
        });
      }
}

// On two communicators, in turn; each rank waits for them in an order of its own.
TEST_F(AlgorithmTest, OperationsOfTwoCommunicatorsEndInAnyOrder) {
  for (const int size : {2, 3, 4})
    for (const std::int64_t count : {1, 20, 300}) {
      TestCluster cluster(size, {}, true, 0, testing::TestNode::large_area);
      cluster.run([&](TestRank& rank) {
        auto other = duplicate(rank.engine, *rank.world);
        ASSERT_TRUE(other);
        Several here{Collective::allreduce, count}, there{Collective::allgather, count};
        for (int i = 0; i < Several::operations; ++i) {
          here.start_one(rank, *rank.world, operators_[PredefinedOperator::sum]);
          there.start_one(rank, *other.value(), operators_[PredefinedOperator::sum]);
        }
        std::vector<Request*> all = here.requests;
        all.insert(all.end(), there.requests.begin(), there.requests.end());
        Random random(static_cast<std::uint64_t>(rank.rank + 1));
        for (; !all.empty(); all.pop_back()) {
          std::swap(all[static_cast<std::size_t>(random.below(std::uint64_t{all.size()}))], all.back());
          end(rank, all.back());
        }
        here.expect_results(size);
        there.expect_results(size);
      });
    }
}

// More of them than a rank has lines, with others in between, which need buffers and wait for their turn.
TEST_F(AlgorithmTest, ManyOperationsAreUnderWayAtOnce) {
  for (const int size : {2, 3, 4, 9}) {
    TestCluster cluster(size, {}, true, 0, testing::TestNode::large_area);
    for (int round = 0; round < 20; ++round) {
      cluster.run([&](TestRank& rank) {
        constexpr std::int64_t operations = 200, most = 100;
        Random same(static_cast<std::uint64_t>(round)), own(static_cast<std::uint64_t>(rank.rank));
        std::vector<std::pair<Request*, std::int64_t>> requests;
        std::vector<int> data(operations * most), sums(data.size());
        std::vector<std::int64_t> amounts;
        for (std::int64_t i = 0; i < operations; ++i) {
          const std::int64_t count = same.chance(0.6) ? 1 : same.chance(0.7) ? 20 : most;
          int* const of = &data[static_cast<std::size_t>(i * most)];
          std::fill(of, of + count, rank.rank + static_cast<int>(i));
          CollectiveCall call{.kind = same.chance(0.8)   ? Collective::allreduce
                                      : same.chance(0.5) ? Collective::reduce
                                                         : Collective::barrier,
                              .root = static_cast<int>(same.below(static_cast<std::uint64_t>(size)))};
          const bool sums_up = call.kind != Collective::barrier;
          if (sums_up) {
            call.send = {of, count, &integer()};
            call.receive = {&sums[static_cast<std::size_t>(i * most)], count, &integer()};
            call.op = &operators_[PredefinedOperator::sum];
          }
          requests.emplace_back(start(rank, call), i);
          const bool has_sum = sums_up && (call.kind == Collective::allreduce || call.root == rank.rank);
          amounts.push_back(has_sum ? count : 0);
          while (own.chance(0.1) && !requests.empty()) {
            const auto at =
                requests.begin() + static_cast<std::ptrdiff_t>(own.below(std::uint64_t{requests.size()}));
            end(rank, at->first);
            requests.erase(at);
          }
        }
        for (const auto& [request, i] : requests) end(rank, request);
        for (std::int64_t i = 0; i < operations; ++i)
          for (std::int64_t k = 0; k < amounts[static_cast<std::size_t>(i)]; ++k)
            ASSERT_EQ(sums[static_cast<std::size_t>(i * most + k)],
                      size * (size - 1) / 2 + size * static_cast<int>(i));
      });
      ASSERT_FALSE(HasFailure()) << "round " << round << " of " << size;
    }
  }
}

// The others never come, and then there is an end.
TEST_F(AlgorithmTest, WhatIsUnderWayIsGivenUpWhenTheEngineCloses) {
  TestCluster cluster(3, {}, true);
  std::vector<int> data(4000);
  cluster.run([&data](TestRank& rank) {
    if (rank.rank != 0) return;
    for (int i = 0; i < 3; ++i) {
      Request* const request = start(rank, {.kind = Collective::allgather,
                                            .send = {data.data(), 1000, &integer()},
                                            .receive = {data.data(), 1000, &integer()}});
      EXPECT_FALSE(request->complete);
    }
    rank.engine.close();
  });
}

}  // namespace hawser
