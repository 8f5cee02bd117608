#include "rails/decision/packet_times.h"

#include <gtest/gtest.h>

namespace hawser {
namespace {

constexpr double nominal = 1e9;

// Packets over a path of so many bytes per second, 4 us there and back, that are timed exactly.
class Path {
 public:
  explicit Path(double rate) : rate_(rate) {}
  void send(std::uint32_t bytes, std::int64_t ahead = 0, Nanoseconds late = 0) {
    PeerTimes peer;
    peer.add_latency(times.latency(), times.knows_latency());
    peer.add_rate(nominal);
    send(bytes, ahead, late, peer);
  }
  void send(std::uint32_t bytes, std::int64_t ahead, Nanoseconds late, const PeerTimes& peer) {
    const auto time = static_cast<Nanoseconds>(static_cast<double>(bytes) / rate_ * 1e9) + 4000 + late;
    now += time;
    times.on_done({bytes, ahead, time, time}, nominal, peer, now);
  }
  double rate() const { return rate_; }
  PacketTimes times;
  Nanoseconds now = second;

 private:
  double rate_;
};

TEST(PacketTimes, TellASlowPathFromOneThatIsAsFastAsItsPortSays) {
  Path slow(100e6), fast(1e9);
  for (Path* path : {&slow, &fast}) {
    path->send(16);
    for (int i = 0; i < 3; ++i) path->send(4096);
  }
  EXPECT_NEAR(slow.times.rate(nominal), 100e6, 10e6);
  EXPECT_EQ(fast.times.rate(nominal), nominal);
}

TEST(PacketTimes, AreNotMisledByOnesThatOthersDelay) {
  Path path(1e9);
  path.send(16);
  for (int i = 0; i < 30; ++i) path.send(4096, 0, i % 3 == 0 ? 0 : 50'000);
  EXPECT_EQ(path.times.rate(nominal), nominal);
  for (int i = 0; i < 9; ++i) path.send(4096, 4096, 10'000);
  EXPECT_EQ(path.times.rate(nominal), nominal) << "some were ahead";
}

// Each took less than 20 us, which as far as they say may be all latency.
TEST(PacketTimes, OfAPeerThatIsSentNothingSmallTellOnceItIsKnownHowFarItIs) {
  Path path(100e6);
  const auto send = [&path](const PeerTimes& peer) { path.send(1024, 0, 0, peer); };
  for (int i = 0; i < 60; ++i) send({});
  EXPECT_EQ(path.times.rate(nominal), nominal);
  EXPECT_LE(path.times.timed_from(), 1024u) << "there is something to find out";
  PeerTimes peer;
  peer.add_latency(4000, true);
  for (int i = 0; i < 3; ++i) send(peer);
  EXPECT_LT(path.times.rate(nominal), 200e6);
  for (int i = 0; i < 30; ++i) send(peer);
  EXPECT_GT(path.times.timed_from(), 1024u);
  Path never(1e9);
  for (int i = 0; i < 250; ++i) never.send(1024, 0, 0, PeerTimes{});
  EXPECT_GT(never.times.timed_from(), 1024u) << "not for ever";
}

TEST(PacketTimes, OfAPeerThatIsSentNothingSmallTellByWhatOthersOfThePortTook) {
  Path path(100e6);
  PeerTimes peer;
  peer.limit_latency(4000);
  for (int i = 0; i < 3; ++i) path.send(1024, 0, 0, peer);
  EXPECT_LT(path.times.rate(nominal), 0.5 * nominal);
  PeerTimes far;
  far.add_latency(12'000, true);
  far.limit_latency(4000);
  EXPECT_EQ(far.latency(), 12'000) << "that is known";
}

// What is ahead goes to others, and is as slow.
TEST(PacketTimes, ThatAreNeverTheFirstTellAfterAWhile) {
  Path path(100e6);
  for (int i = 0; i < 4; ++i) path.send(16);
  for (int i = 0; i < 12; ++i) {
    EXPECT_EQ(path.times.rate(nominal), nominal) << "others may have delayed it";
    path.send(2048, 2048);
  }
  EXPECT_LT(path.times.rate(nominal), 0.35 * nominal);
}

// On the way or at the other end: half of what the fastest rail does may be all that is left.
TEST(PacketTimes, ThatAreNeverTheFirstDoNotTellOfWhatIsNotMuchSlower) {
  Path path(500e6);
  PeerTimes peer;
  peer.add_latency(4000, true);
  peer.add_rate(nominal);
  for (int i = 0; i < 50; ++i) path.send(4096, 4096, 8192, peer);
  EXPECT_EQ(path.times.rate(nominal), nominal);
}

// Exchanges of two processes: the one before is on its way when the next is posted, but it may have left.
TEST(PacketTimes, ThatAreBehindOneOfTheirOwnTellAsMuchAsOthers) {
  PeerTimes peer;
  peer.add_latency(4000, true);
  peer.add_rate(nominal);
  constexpr std::uint32_t bytes = 2048;
  constexpr double rate = 400e6;
  const auto moving = static_cast<Nanoseconds>(bytes / rate * 1e9);
  for (const Nanoseconds before : {0, 2000, 6000, 9000}) {
    PacketTimes times;
    const Nanoseconds waits = std::max<Nanoseconds>(moving - before, 0), time = 4000 + waits + moving;
    for (int i = 0; i < 3; ++i) times.on_done({bytes, bytes, time, time, before}, nominal, peer, second);
    EXPECT_NEAR(times.rate(nominal), rate, 0.15 * rate) << before << " ns apart";
  }
}

// From 0.55 of the fastest rail on one counts as alike (subchannel_selector.cpp).
TEST(PacketTimes, OfAKilobyteTellAPathOfLessThanHalfTheRate) {
  Path path(400e6);
  for (int i = 0; i < 4; ++i) path.send(16);
  for (int i = 0; i < 3; ++i) path.send(1064);
  EXPECT_GE(path.times.rate(nominal), 400e6);
  EXPECT_LT(path.times.rate(nominal), 0.55 * nominal);
}

TEST(PacketTimes, OfAQuarterOfAKilobyteTellAPathOfATenthOfTheRate) {
  Path path(100e6);
  for (int i = 0; i < 4; ++i) path.send(16);
  for (int i = 0; i < 3; ++i) path.send(296);
  EXPECT_LT(path.times.rate(nominal), 150e6);
}

TEST(PacketTimes, AreTakenOftenAtFirstAndThenNowAndThen) {
  Path path(1e9);
  EXPECT_EQ(path.times.timed_from(), 0u) << "small ones tell of the latency";
  for (int i = 0; i < 4; ++i) path.send(16);
  EXPECT_GT(path.times.timed_from(), 16u);
  EXPECT_LE(path.times.timed_from(), 1024u);
  for (int i = 0; i < 30; ++i) path.send(4096);
  EXPECT_GT(path.times.timed_from(), 4096u);
  path.times.look(path.now);
  EXPECT_GT(path.times.timed_from(), 4096u);
  path.times.look(path.now + 100 * millisecond);
  EXPECT_LE(path.times.timed_from(), 4096u);
}

TEST(PacketTimes, OfASlowPathAreTriedAgain) {
  Path path(100e6);
  path.send(16);
  for (int i = 0; i < 3; ++i) path.send(4096);
  EXPECT_FALSE(path.times.wants_trial(4096, path.now));
  EXPECT_TRUE(path.times.wants_trial(4096, path.now + second));
  EXPECT_FALSE(path.times.wants_trial(16, path.now + second)) << "a small one tells nothing";
  path.times.begin_trial(path.now + second);
  EXPECT_FALSE(path.times.wants_trial(4096, path.now + second));
  // It is as fast as ever.
  PeerTimes peer;
  peer.add_latency(4000, true);
  path.times.on_done({4096, 0, 8096, 8096}, nominal, peer, path.now + second);
  EXPECT_EQ(path.times.rate(nominal), nominal);
}

TEST(PacketTimes, OfAPathThatOthersDelayedAreTriedAtOnceIfInDoubt) {
  Path delayed(1e9);
  delayed.send(16);
  for (int i = 0; i < 3; ++i) delayed.send(4096, 0, 20'000);
  EXPECT_LT(delayed.times.rate(nominal), 0.5 * nominal);
  const Nanoseconds now = delayed.now + millisecond;
  delayed.times.doubt(now, delayed.now - 1);
  EXPECT_FALSE(delayed.times.wants_trial(4096, now)) << "it told something since then";
  delayed.times.doubt(now, now);
  EXPECT_TRUE(delayed.times.wants_trial(4096, now));
  delayed.times.begin_trial(now);
  delayed.times.doubt(now, now);
  EXPECT_FALSE(delayed.times.wants_trial(4096, now)) << "the trial is under way";
  delayed.send(4096);
  EXPECT_EQ(delayed.times.rate(nominal), nominal);
}

TEST(PacketTimes, SayWhenASlowPathWasJudged) {
  Path slow(100e6), fast(1e9);
  const auto judged = [](Path& path, std::uint32_t bytes) {
    PeerTimes peer;
    peer.add_latency(4000, true);
    const auto time = static_cast<Nanoseconds>(bytes / path.rate() * 1e9) + 4000;
    return path.times.on_done({bytes, 0, time, time}, nominal, peer, path.now);
  };
  for (int i = 0; i < 4; ++i) {
    EXPECT_FALSE(judged(fast, 4096));
    EXPECT_EQ(judged(slow, 4096), i == 2) << "three packets judge it";
  }
}

}  // namespace
}  // namespace hawser
