#include "rails/decision/congestion_window.h"

#include <gtest/gtest.h>

#include <deque>

namespace hawser {
namespace {

constexpr FlowSettings settings{.queueing = 4 * millisecond, .first = 65536, .least = 16384};

// A path that moves one piece after the other at this rate, each heard of `latency` later.
class Path {
 public:
  explicit Path(double bytes_per_second, Nanoseconds latency = 10 * microsecond)
      : rate_(bytes_per_second / 1e9), latency_(latency) {}
  void set_rate(double bytes_per_second) { rate_ = bytes_per_second / 1e9; }

  // Moves so many bytes in pieces as large as the window lets them be; how long it took.
  Nanoseconds move(CongestionWindow& window, std::int64_t bytes) {
    const Nanoseconds began = now_;
    while (bytes > 0 || !pieces_.empty()) {
      while (bytes > 0) {
        const std::int64_t piece = window.room(bytes, under_way_);
        if (piece == 0) break;
        bytes -= piece;
        under_way_ += piece;
        const Nanoseconds start = std::max(free_at_, now_);
        free_at_ = start + static_cast<Nanoseconds>(static_cast<double>(piece) / rate_);
        pieces_.push_back({piece, window.delivered(), now_, free_at_ + latency_});
      }
      largest_ = std::max(largest_, under_way_);
      const Piece done = pieces_.front();
      pieces_.pop_front();
      now_ = done.done;
      under_way_ -= done.bytes;
      window.on_done(done.bytes, done.delivered, done.posted, now_, now_);
    }
    return now_ - began;
  }
  Nanoseconds now() const { return now_; }
  std::int64_t largest() const { return largest_; }  // under way
  void forget_largest() { largest_ = 0; }

 private:
  struct Piece {
    std::int64_t bytes, delivered;
    Nanoseconds posted, done;
  };
  double rate_;
  Nanoseconds latency_, now_ = 0, free_at_ = 0;
  std::int64_t under_way_ = 0, largest_ = 0;
  std::deque<Piece> pieces_;
};

TEST(CongestionWindow, LetsOnePieceThroughWhenNothingIsUnderWay) {
  CongestionWindow window(settings);
  EXPECT_EQ(window.room(1, 0), 1);
  EXPECT_EQ(window.room(1 << 20, 0), 32768);
  EXPECT_EQ(window.room(1 << 20, 32768), 32768);
  EXPECT_EQ(window.room(1 << 20, 65536), 0);
  EXPECT_EQ(window.room(100, 65536 - 100), 100);
  window.on_failed();
  EXPECT_EQ(window.room(1 << 20, 0), settings.least);
  EXPECT_EQ(window.room(1 << 20, settings.least), 0);
}

TEST(CongestionWindow, FillsAFastPath) {
  CongestionWindow window(settings);
  Path path(10e9);
  const Nanoseconds took = path.move(window, 64 << 20);
  EXPECT_LT(took, (64 << 20) / 10 * 11 / 10);
  EXPECT_GT(window.bytes(), 8 << 20);
}

TEST(CongestionWindow, KeepsTheQueueOfASlowPathShort) {
  CongestionWindow window(settings);
  Path path(10e6);
  path.move(window, 1 << 20);
  path.forget_largest();
  const Nanoseconds took = path.move(window, 4 << 20);
  EXPECT_LT(took, (4 << 20) * 100.0 * 1.05);
  EXPECT_LE(path.largest(), 65536);  // 6.5 ms
}

TEST(CongestionWindow, LeavesNoPathEmptyHoweverSlow) {
  CongestionWindow window(settings);
  Path path(100e3);
  EXPECT_LT(path.move(window, 1 << 20), (1 << 20) * 10'000.0 * 1.01);
  EXPECT_LT(window.bytes(), 2 * settings.least);
}

TEST(CongestionWindow, FollowsARateThatChanges) {
  CongestionWindow window(settings);
  Path path(1e9);
  path.move(window, 64 << 20);
  EXPECT_GT(window.bytes(), 2 << 20);
  path.set_rate(10e6);
  path.move(window, 8 << 20);
  EXPECT_LT(window.bytes(), 100'000);
  path.set_rate(1e9);
  path.move(window, 64 << 20);
  EXPECT_GT(window.bytes(), 2 << 20);
}

TEST(CongestionWindow, IsNotShutByALongWay) {
  CongestionWindow window(settings);
  Path path(1e9, 20 * millisecond);
  path.move(window, 256 << 20);
  EXPECT_GT(window.bytes(), 4 << 20);
}

TEST(CongestionWindow, DoesNotTakeLatePollingForASlowPath) {
  CongestionWindow window(settings);
  for (Nanoseconds now = 0; now < 10 * second; now += 100 * millisecond) {
    window.room(1 << 30, 0);
    // Done at some time after the last pass of polling, which was right after the post.
    window.on_done(65536, window.delivered(), now, now, now + 100 * millisecond);
  }
  EXPECT_GE(window.bytes(), settings.first);
}

TEST(CongestionWindow, RemembersTheSlowestOfTheLastSeconds) {
  CongestionWindow window(settings);
  EXPECT_FALSE(window.measured());
  window.on_done(100, 0, 0, 30 * millisecond, 30 * millisecond);
  window.room(1, 0);
  EXPECT_TRUE(window.measured());
  EXPECT_EQ(window.slowest(), 30 * millisecond + microsecond);
  for (Nanoseconds now = second; now < 3 * second; now += second / 10) {
    window.on_done(100, window.delivered(), now, now + millisecond, now + millisecond);
    window.room(1, 0);
  }
  EXPECT_EQ(window.slowest(), millisecond + microsecond);
}

TEST(CongestionWindow, AdmitsOnePacketAlways) {
  const FlowSettings small{.first = 8192, .least = 4096};
  CongestionWindow window(small);
  EXPECT_TRUE(window.admits(9000, 0));
  EXPECT_TRUE(window.admits(100, 8092));
  EXPECT_FALSE(window.admits(101, 8092));
}

// One that has nothing to do moves little, and yet a request would not wait for it.
TEST(CongestionWindow, SaysHowLongARequestWouldWaitWhereSomeWereSeenToWait) {
  CongestionWindow window(settings);
  EXPECT_EQ(window.wait(1 << 20, 0), 0);
  Path path(1e9);
  for (int i = 0; i < 4; ++i) path.move(window, 1024);
  EXPECT_EQ(window.wait(1 << 20, path.now()), 0);
  path.move(window, 1 << 20);
  window.room(1, 0);
  EXPECT_NEAR(static_cast<double>(window.wait(1 << 20, path.now())), 1.05e6, 0.1e6);
  EXPECT_EQ(window.wait(1024, path.now()), 0);
}

TEST(CongestionWindow, LearnsThatAPathBecameSlowerOrFaster) {
  CongestionWindow window(settings);
  Path path(1e9);
  path.move(window, 1 << 20);
  path.set_rate(1e8);
  path.move(window, 1 << 20);
  window.room(1, 0);
  EXPECT_NEAR(static_cast<double>(window.wait(1 << 20, path.now())), 1.05e7, 0.1e7);
  EXPECT_EQ(window.wait(1 << 20, path.now() + second), 0) << "to be tried again";
  path.set_rate(1e9);
  path.move(window, 1 << 20);
  window.room(1, 0);
  EXPECT_NEAR(static_cast<double>(window.wait(1 << 20, path.now())), 1.05e6, 0.1e6);
  window.on_failed();
  EXPECT_EQ(window.wait(1 << 20, path.now()), 0);
}

// All are found done at once, so they may have been done long before.
TEST(CongestionWindow, DoesNotTakeALateLookForASlowPath) {
  CongestionWindow window(settings);
  for (Nanoseconds now = 0; now < 10 * millisecond; now += millisecond)
    window.on_done(4096, window.delivered(), now, now + 10 * microsecond, now + millisecond);
  window.room(1, 0);
  EXPECT_EQ(window.wait(4096, 10 * millisecond), 0);
}

// They may have waited for what others were sent.
TEST(CongestionWindow, DoesNotTakeAPortThatItSharesForASlowPath) {
  for (const bool alone : {true, false}) {
    CongestionWindow window(settings);
    window.on_done(4096, window.delivered(), 0, 10 * microsecond, 10 * microsecond);
    const std::int64_t before = window.delivered();
    for (int i = 1; i <= 16; ++i) {
      const Nanoseconds now = i * 80 * microsecond;
      window.on_done(8192, before, 0, now, now, alone);
    }
    EXPECT_TRUE(window.admits(8192, 0));
    EXPECT_EQ(window.ns_per_byte(2 * millisecond) > 0, alone);
  }
}

// What several engines of a path move, one of them has found out.
TEST(CongestionWindow, BeginsWithWhatTheOneBesideItFound) {
  CongestionWindow known(settings), fresh(settings);
  Path path(1e9);
  path.move(known, 64 << 20);
  Nanoseconds now = 64 * millisecond;
  known.on_done(4096, known.delivered(), now, now + 10 * microsecond, now + 10 * microsecond);
  const std::int64_t before = known.delivered();
  for (int i = 1; i <= 16; ++i)
    known.on_done(8192, before, now, now + i * 8 * microsecond, now + i * 8 * microsecond);
  now += 16 * 8 * microsecond;
  EXPECT_TRUE(known.admits(8192, 0));
  ASSERT_GT(known.ns_per_byte(now), 0);
  fresh.begin_as(known);
  EXPECT_EQ(fresh.bytes(), known.bytes());
  EXPECT_EQ(fresh.ns_per_byte(now), known.ns_per_byte(now));
  EXPECT_GE(fresh.wait(1 << 16, now), known.wait(1 << 16, now)) << "its shortest time is not known";
  EXPECT_FALSE(fresh.measured());
}

}  // namespace
}  // namespace hawser
