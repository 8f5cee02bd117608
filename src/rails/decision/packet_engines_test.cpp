#include "rails/decision/packet_engines.h"

#include <gtest/gtest.h>

#include <functional>

namespace hawser {
namespace {

constexpr double port = 1e9;

// A peer's windows of packets, each alone on its port.
class Windows {
 public:
  using Rate = std::function<double(int engines)>;  // of the port's

  explicit Windows(PacketHints& hints, int most = 2) : engines(most), hints_(hints) {}

  // The engines that are wanted are open as soon as it is over.
  void send(const Rate& rate, int bytes = 4096, int count = 64, bool alone = true) {
    const auto packet = static_cast<Nanoseconds>(bytes / rate(engines.used()));
    sent_with_more += engines.used() > 1;
    engines.begin();
    engines.on_chosen(0, alone);
    for (int left = count - 1; left >= 0; --left) {
      now_ += packet;
      delivered_ += bytes;
      if (engines.measuring() && engines.count_done(left == 0)) {
        const PacketLoad load{static_cast<std::int64_t>(left) * bytes, delivered_, alone};
        engines.on_done({load, now_, now_, port}, hints_);
      }
    }
    if (opens) engines.on_open(engines.wanted());
  }
  void send(int count, const Rate& rate, int bytes = 4096) {
    for (int i = 0; i < count; ++i) send(rate, bytes);
  }

  PacketEngines engines;
  bool opens = true;
  int sent_with_more = 0;

 private:
  PacketHints& hints_;
  Nanoseconds now_ = 0;
  std::int64_t delivered_ = 0;
};

double one_is_slow(int engines) { return engines == 1 ? 0.5 : 0.9; }
double all_are_alike(int engines) { return engines == 1 ? 0.5 : 0.47; }

TEST(PacketEngines, TakeTwoWhereOneIsSlow) {
  PacketHints hints = packet_hints();
  Windows windows(hints);
  windows.send(2, one_is_slow);
  EXPECT_EQ(windows.engines.used(), 1) << "samples of the first window belong to no class yet";
  windows.send(3, one_is_slow);
  EXPECT_EQ(windows.engines.used(), 2);
  windows.sent_with_more = 0;
  windows.send(1000, one_is_slow);
  EXPECT_GE(windows.sent_with_more, 995) << "one is tried now and then";
}

TEST(PacketEngines, KeepToOneWhereTwoBringNothing) {
  PacketHints hints = packet_hints();
  Windows windows(hints);
  windows.send(1000, all_are_alike);
  EXPECT_EQ(windows.engines.used(), 1);
  EXPECT_GT(windows.sent_with_more, 2) << "it is tried again";
  EXPECT_LT(windows.sent_with_more, 12);
}

TEST(PacketEngines, KeepToOneThatIsNearlyAsFastAsThePort) {
  PacketHints hints = packet_hints();
  Windows windows(hints);
  windows.send(1000, [](int) { return 0.85; });
  EXPECT_EQ(windows.engines.wanted(), 1);
}

// Others on a link come and go.
TEST(PacketEngines, AreNotToBlameWhereNoSampleIsLikeAnother) {
  PacketHints hints = packet_hints();
  Windows windows(hints);
  double rate = 0.3;
  for (int i = 0; i < 6; ++i) {
    rate *= 1.1;
    windows.send([rate](int) { return rate; });
    EXPECT_EQ(windows.engines.wanted(), 1);
  }
}

TEST(PacketEngines, AreAskedForByClassesOfSizes) {
  PacketHints hints = packet_hints();
  Windows windows(hints);
  const auto of_long = [](int bytes) {
    return [bytes](int engines) { return bytes > 2048 && engines > 1 ? 0.9 : 0.5; };
  };
  windows.send(8, of_long(1024), 1024);
  EXPECT_EQ(windows.engines.used(), 1);
  windows.send(5, of_long(4096), 4096);
  EXPECT_EQ(windows.engines.used(), 2);
  windows.send(of_long(1024), 1024);
  windows.send(of_long(1024), 1024);
  EXPECT_EQ(windows.engines.used(), 1);
  EXPECT_EQ(windows.engines.wanted(), 2) << "they stay open";
  windows.send(of_long(4096), 4096);
  EXPECT_EQ(windows.engines.used(), 2);
}

TEST(PacketEngines, OfALongerClassBeginWithWhatAShorterFound) {
  PacketHints hints = packet_hints();
  Windows windows(hints);
  windows.send(8, one_is_slow, 2048);
  ASSERT_EQ(windows.engines.used(), 2);
  windows.send(one_is_slow, 4096);
  EXPECT_EQ(windows.engines.used(), 2);
  windows.send(
      40, [](int) { return 0.5; }, 4096);
  EXPECT_EQ(windows.engines.used(), 1) << "fewer were tried, and are as good";
}

// Others made room while two were tried.
TEST(PacketEngines, ReturnToOneIfMoreWereBetterByChance) {
  PacketHints hints = packet_hints();
  Windows windows(hints);
  windows.send(5, one_is_slow);
  ASSERT_EQ(windows.engines.used(), 2);
  windows.send(40, all_are_alike);
  EXPECT_EQ(windows.engines.used(), 1);
}

TEST(PacketEngines, LearnNothingBesideOthers) {
  PacketHints hints = packet_hints();
  Windows windows(hints);
  for (int i = 0; i < 100; ++i) windows.send(one_is_slow, 4096, 64, false);
  EXPECT_EQ(windows.engines.wanted(), 1);
}

TEST(PacketEngines, LearnNothingFromFew) {
  PacketHints hints = packet_hints();
  Windows windows(hints);
  for (int i = 0; i < 100; ++i) windows.send(one_is_slow, 4096, 7);
  EXPECT_EQ(windows.engines.wanted(), 1);
}

TEST(PacketEngines, MakeDoWithWhatIsOpen) {
  PacketHints hints = packet_hints();
  Windows windows(hints);
  windows.opens = false;
  windows.send(20, one_is_slow);
  EXPECT_EQ(windows.engines.wanted(), 2);
  EXPECT_EQ(windows.engines.used(), 1);
  windows.engines.on_refused();
  EXPECT_EQ(windows.engines.wanted(), 1);
  windows.opens = true;
  windows.send(60, one_is_slow);
  EXPECT_EQ(windows.engines.used(), 2);
  windows.engines.on_open(1);
  EXPECT_EQ(windows.engines.used(), 1) << "one failed";
}

}  // namespace
}  // namespace hawser
