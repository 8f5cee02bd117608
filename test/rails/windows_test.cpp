// One-sided operations over rails, whole and failing: every byte is where it should be when a flush is over,
// nothing is written late, and nobody but the origin has to do anything.
#include <fmt/core.h>
#include <gmock/gmock.h>

#include "rails/traffic.h"
#include "rails/windows.h"

namespace hawser::rails_test {
namespace {

constexpr std::int64_t kib = 1024, mib = 1 << 20;

ByteSequence whole(Bytes& bytes) { return channel_test::whole(bytes); }

// Ends with everything at rest.
void expect_rest(RailCluster& cluster) {
  EXPECT_EQ(cluster.failure(), "");
  EXPECT_TRUE(cluster.settle(cluster.now() + 20 * second)) << cluster.describe();
}

class RailWindows : public testing::TestWithParam<std::int64_t> {};

TEST_P(RailWindows, PutsAndGetsWhileTheOwnerComputes) {
  RailCluster cluster(two_rails());
  Origin origin(cluster, 0);
  const std::int64_t size = GetParam();
  {
    TestWindow window(cluster, 1, static_cast<std::size_t>(3 * size + 100));
    // The connection needs the owner once.
    Bytes first = pattern(8, 1);
    origin.put(1, window.at(0), whole(first));
    ASSERT_TRUE(origin.settle(origin.flush(1)));
    cluster.at(1).computes_until = cluster.now() + 3600 * second;
    for (const bool in_pieces : {false, true}) {
      const Bytes before = window.bytes;
      EveryOther source(static_cast<std::size_t>(size)), target(static_cast<std::size_t>(size));
      source.memory = pattern(source.memory.size(), 5 + in_pieces);
      Bytes packed = source.packed();
      const std::int64_t offset = 33 + in_pieces * size;
      auto& put = origin.put(1, window.at(offset), in_pieces ? source.sequence() : whole(packed));
      ASSERT_TRUE(origin.settle(origin.flush(1)));
      EXPECT_EQ(put.ends, 1);
      EXPECT_TRUE(window.holds(offset, packed));
      EXPECT_TRUE(std::equal(before.begin(), before.begin() + offset, window.bytes.begin()));
      EXPECT_TRUE(
          std::equal(before.begin() + offset + size, before.end(), window.bytes.begin() + offset + size));
      Bytes got(static_cast<std::size_t>(size));
      ASSERT_TRUE(
          origin.settle(origin.get(1, window.at(offset), in_pieces ? target.sequence() : whole(got))));
      EXPECT_EQ(in_pieces ? target.packed() : got, packed);
    }
    cluster.at(1).computes_until = 0;
    EXPECT_THAT(origin.errors(), testing::IsEmpty());
  }
  expect_rest(cluster);
}

// What is copied, what is one stripe, what is several, and around the borders.
INSTANTIATE_TEST_SUITE_P(Sizes, RailWindows,
                         testing::Values(1, 8, 128, 129, 256, 257, 4 * kib, 4 * kib + 1, 8 * kib, 64 * kib,
                                         mib + 13));

TEST(RailWindow, FlushOfNothingIsOver) {
  RailCluster cluster(two_rails());
  Origin origin(cluster, 0);
  EXPECT_TRUE(origin.settle(origin.flush(1), millisecond));
  Bytes nothing;
  TestWindow window(cluster, 1, 10);
  EXPECT_TRUE(origin.settle(origin.put(1, window.at(10), whole(nothing)), millisecond));
  EXPECT_THAT(origin.errors(), testing::IsEmpty());
}

TEST(RailWindow, FewBytesAreTheCallersAgainAtOnce) {
  RailCluster cluster(two_rails());
  Origin origin(cluster, 0);
  TestWindow window(cluster, 1, 4096);
  Bytes bytes = pattern(100, 3), kept = bytes;
  auto& put = origin.put(1, window.at(7), whole(bytes));
  bytes.assign(bytes.size(), std::byte{0});
  ASSERT_TRUE(origin.settle(put, 10 * microsecond)) << "nothing is connected yet";
  ASSERT_TRUE(origin.settle(origin.flush(1)));
  EXPECT_TRUE(window.holds(7, kept));
}

// Large ones are cut, and small ones take turns.
TEST(RailWindow, UsesBothRails) {
  RailCluster cluster(two_rails());
  Origin origin(cluster, 0);
  TestWindow window(cluster, 1, 4 * mib);
  Bytes large = pattern(2 * mib, 1), small = pattern(64, 2);
  const auto bytes_over = [&](int rail) {
    return cluster.fabric().adapter(0, rail)->port(1).counters().payload_bytes;
  };
  origin.put(1, window.at(0), whole(large));
  ASSERT_TRUE(origin.settle(origin.flush(1)));
  const std::uint64_t before[] = {bytes_over(0), bytes_over(1)};
  for (const std::uint64_t bytes : before) EXPECT_GT(bytes, 700'000u);
  for (int i = 0; i < 1000; ++i) origin.put(1, window.at(64 * i), whole(small));
  ASSERT_TRUE(origin.settle(origin.flush(1)));
  for (const int rail : {0, 1}) EXPECT_GT(bytes_over(rail) - before[rail], 25'000u);
}

TEST(RailWindow, RefusesWhatIsOutside) {
  RailCluster cluster(two_rails());
  Origin origin(cluster, 0);
  TestWindow window(cluster, 1, 4096);
  const Bytes before = window.bytes;
  Bytes bytes = pattern(100, 3);
  RemotePlace damaged = window.at(0);
  damaged.window.words[3] ^= 1;
  for (const RemotePlace& place :
       {window.at(-1), window.at(3997), window.at(INT64_MAX), RemotePlace{{}, 0}, damaged}) {
    auto& put = origin.put(1, place, whole(bytes));
    ASSERT_TRUE(origin.settle(put, millisecond));
    EXPECT_NE(put.error, "");
    auto& get = origin.get(1, place, whole(bytes));
    ASSERT_TRUE(origin.settle(get, millisecond));
    EXPECT_NE(get.error, "");
  }
  EXPECT_TRUE(window.bytes == before);
}

// Puts and gets that nobody waits for meanwhile, for `time`, each epoch with other bytes; then a flush, and
// all of them are compared.
class Storm {
 public:
  Storm(RailCluster& cluster, int self, int peer, std::uint64_t seed)
      : cluster_(cluster), origin_(cluster, self), peer_(peer), window_(cluster, peer, size), seed_(seed) {}

  void run(Nanoseconds time) {
    const Nanoseconds end = cluster_.now() + time;
    while (cluster_.now() < end && cluster_.failure().empty()) epoch();
  }
  void epoch() {
    Bytes next = pattern(size, ++seed_);
    Bytes got(size / 2);
    std::vector<std::int64_t> offsets;
    for (std::int64_t offset = 0, piece = 1; offset < size; offset += piece, piece = piece * 3 + 1)
      offsets.push_back(offset);
    for (std::size_t i = 0; i < offsets.size(); ++i) {
      const std::size_t which = large_first ? offsets.size() - 1 - i : i;
      const std::int64_t end = which + 1 < offsets.size() ? offsets[which + 1] : size;
      origin_.put(peer_, window_.at(offsets[which]),
                  {next.data() + offsets[which], end - offsets[which], nullptr});
    }
    auto& flush = origin_.flush(peer_);
    ASSERT_TRUE(origin_.settle(flush, 60 * second)) << cluster_.describe();
    ASSERT_EQ(flush.error, "");
    ASSERT_TRUE(window_.bytes == next) << "epoch " << epochs;
    auto& get = origin_.get(peer_, window_.at(size / 4), whole(got));
    ASSERT_TRUE(origin_.settle(get, 60 * second)) << cluster_.describe();
    ASSERT_TRUE(std::equal(got.begin(), got.end(), next.begin() + size / 4));
    ++epochs;
  }
  Origin& origin() { return origin_; }

  int epochs = 0;
  bool large_first = false;

 private:
  static constexpr std::int64_t size = 200'000;
  RailCluster& cluster_;
  Origin origin_;
  const int peer_;
  TestWindow window_;
  std::uint64_t seed_;
};

TEST(RailWindow, GoesOnWhileCablesArePulled) {
  RailCluster cluster(two_rails());
  {
    Storm storm(cluster, 0, 1, 1);
    storm.epoch();
    for (int turn = 0; turn < 6; ++turn) {
      const std::string port = fmt::format("n{}/hw{}", turn % 2, turn / 2 % 2);
      cluster.inject("link " + port + (turn < 3 ? " down" : " blackhole both"));
      storm.run(100 * millisecond);
      cluster.inject("link " + port + (turn < 3 ? " up" : " clear"));
      storm.run(100 * millisecond);
    }
    EXPECT_GT(storm.epochs, 100);
    EXPECT_GE(sum(cluster, &RailCounters::failures), 6u);
    EXPECT_GT(sum(cluster, &RailCounters::stripes_reissued), 0u);
  }
  expect_rest(cluster);
}

// It acknowledges what never reaches the memory: a flush must not believe it.
TEST(RailWindow, FlushDoesNotTrustAnAdapterThatDies) {
  RailCluster cluster(two_rails());
  {
    Storm storm(cluster, 0, 1, 1);
    for (int turn = 0; turn < 4; ++turn) {
      // A small one goes with its confirmation; without the answer to that, nothing is told of what follows.
      storm.large_first = turn % 2 == 1;
      storm.run(20 * millisecond);
      cluster.inject("adapter n1/hw1 dying");
      storm.run(50 * millisecond);
      cluster.inject("adapter n1/hw1 dead");
      storm.run(50 * millisecond);
      cluster.inject("adapter n1/hw1 alive");
      storm.run(200 * millisecond);
    }
    EXPECT_GT(sum(cluster, &RailCounters::taken_back), 0u);
    EXPECT_EQ(sum(cluster, &RailCounters::adapters_reopened), 4u);
    EXPECT_EQ(sum(cluster, &RailCounters::protection_errors), 0u);
  }
  expect_rest(cluster);
}

// An adapter that was opened again has other keys, of which the token knows nothing.
TEST(RailWindow, AsksForTheKeysOfAnAdapterThatWasReplaced) {
  RailCluster cluster(two_rails());
  {
    Storm storm(cluster, 0, 1, 1);
    storm.epoch();
    cluster.inject("adapter n1/hw0 dead");
    storm.run(50 * millisecond);
    cluster.inject("adapter n1/hw0 alive");
    storm.run(second);
    // Only the replaced one is left.
    cluster.inject("link n0/hw1 down");
    storm.run(50 * millisecond);
    cluster.inject("adapter n0/hw0 dead");
    cluster.inject("link n0/hw1 up");
    storm.run(50 * millisecond);
    cluster.inject("adapter n0/hw0 alive");
    storm.run(second);
    EXPECT_EQ(sum(cluster, &RailCounters::protection_errors), 0u);
    EXPECT_EQ(sum(cluster, &RailCounters::adapters_reopened), 2u);
  }
  expect_rest(cluster);
}

// The owner's error: who reaches into such a window is told, and everybody else's bytes arrive.
TEST(RailWindow, TellsOfAWindowThatIsNotRegisteredAnyMore) {
  RailCluster cluster(two_rails());
  {
    Storm storm(cluster, 0, 1, 1);
    TestWindow gone(cluster, 1, 100'000);
    Bytes bytes = pattern(64 * kib, 9), got(64 * kib);
    storm.epoch();
    gone.close();
    const Bytes before = gone.bytes;
    auto& put = storm.origin().put(1, gone.at(0), whole(bytes));
    storm.epoch();
    ASSERT_TRUE(storm.origin().settle(put));
    EXPECT_THAT(put.error, testing::HasSubstr("is not registered any more"));
    auto& small = storm.origin().put(1, gone.at(0), {bytes.data(), 8, nullptr});
    auto& flush = storm.origin().flush(1);
    ASSERT_TRUE(storm.origin().settle(flush));
    EXPECT_EQ(small.error, "") << "its bytes were the caller's again at once";
    EXPECT_THAT(flush.error, testing::HasSubstr("is not registered any more"));
    auto& get = storm.origin().get(1, gone.at(0), whole(got));
    ASSERT_TRUE(storm.origin().settle(get));
    EXPECT_THAT(get.error, testing::HasSubstr("is not registered any more"));
    EXPECT_TRUE(gone.bytes == before);
    storm.run(500 * millisecond);
  }
  expect_rest(cluster);
}

TEST(RailWindow, TellsThatThePeerIsLost) {
  ClusterOptions options = two_rails();
  options.knobs.rail_give_up = 200 * millisecond;
  RailCluster cluster(options);
  Origin origin(cluster, 0);
  TestWindow window(cluster, 1, mib);
  Bytes bytes = pattern(mib, 9), got(mib);
  ASSERT_TRUE(origin.settle(origin.put(1, window.at(0), whole(bytes))));
  for (const char* port : {"n0/hw0", "n0/hw1"}) cluster.inject(fmt::format("link {} down", port));
  auto& put = origin.put(1, window.at(0), whole(bytes));
  auto& get = origin.get(1, window.at(0), whole(got));
  auto& flush = origin.flush(1);
  for (auto* each : {&put, &get, &flush}) {
    ASSERT_TRUE(origin.settle(*each));
    EXPECT_NE(each->error, "");
  }
  auto& later = origin.put(1, window.at(0), whole(bytes));
  ASSERT_TRUE(origin.settle(later, millisecond));
  EXPECT_NE(later.error, "");
  EXPECT_THAT(cluster.at(0).lost, testing::ElementsAre(1));
}

// Put over two rails, then a message: who gets it sees what was put, whatever happens to the rails.
TEST(RailWindow, AMessageBehindAFlushFindsWhatWasPut) {
  RailCluster cluster(two_rails());
  Origin origin(cluster, 0);
  {
    TestWindow window(cluster, 1, 300'000);
    for (int turn = 0; turn < 60; ++turn) {
      if (turn % 10 == 3) cluster.inject(fmt::format("link n0/hw{} down", turn / 10 % 2));
      if (turn % 10 == 8) cluster.inject(fmt::format("link n0/hw{} up", turn / 10 % 2));
      Bytes large = pattern(300'000, static_cast<std::uint64_t>(turn));
      origin.put(1, window.at(0), {large.data(), 250'000, nullptr});
      for (std::int64_t offset = 250'000; offset < 300'000; offset += 1000)
        origin.put(1, window.at(offset), {large.data() + offset, 1000, nullptr});
      ASSERT_TRUE(origin.settle(origin.flush(1)));
      const std::uint64_t arrived = cluster.at(1).arrived;
      cluster.at(0).post({1, 100});
      ASSERT_TRUE(origin.until([&] { return cluster.at(1).arrived > arrived; }));
      ASSERT_TRUE(window.holds(0, large)) << turn;
    }
  }
  expect_rest(cluster);
}

TEST(RailWindow, NothingIsWrittenLate) { EXPECT_EQ(bytes_written_late(), 0); }

// With checksums the target's software is to see everything.
TEST(RailWindow, DoesNothingItselfWithChecksums) {
  ClusterOptions options = two_rails();
  options.knobs.checksum = true;
  RailCluster cluster(options);
  EXPECT_FALSE(remote_capabilities(cluster.at(0).channel(), 1).put);
  EXPECT_FALSE(remote_capabilities(cluster.at(0).channel(), 1).get);
}

TEST(RailWindow, ManyWindowsLeaveNothing) {
  RailCluster cluster(two_rails());
  Origin origin(cluster, 0);
  Bytes bytes = pattern(64, 1);
  for (int i = 0; i < 10'000; ++i) {
    TestWindow window(cluster, 1, 4096, 1);
    if (i % 100 != 0) continue;
    origin.put(1, window.at(8), whole(bytes));
    ASSERT_TRUE(origin.settle(origin.flush(1)));
    ASSERT_TRUE(window.holds(8, bytes));
  }
  expect_rest(cluster);
}

}  // namespace
}  // namespace hawser::rails_test
