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
    const auto time = static_cast<Nanoseconds>(static_cast<double>(bytes) / rate_ * 1e9) + 4000 + late;
    now += time;
    times.on_done({bytes, ahead, time, time}, nominal, times.latency(), now);
  }
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
  path.times.on_done({4096, 0, 8096, 8096}, nominal, 4000, path.now + second);
  EXPECT_EQ(path.times.rate(nominal), nominal);
}

}  // namespace
}  // namespace hawser
