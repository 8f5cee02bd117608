#include "base/process_lock.h"

#include <gtest/gtest.h>
#include <sched.h>

#include <thread>
#include <vector>

namespace hawser {
namespace {

class ProcessLockTest : public ::testing::Test {
 protected:
  ProcessLockTest() {
    lock_.enable();  // counts as locked by the caller
    lock_.unlock();
  }
  ProcessLock lock_;
};

TEST_F(ProcessLockTest, OneAtATime) {
  constexpr int threads = 8, rounds = 20'000;
  int inside = 0, total = 0;
  std::vector<std::thread> all;
  for (int t = 0; t < threads; ++t)
    all.emplace_back([&, t] {
      for (int i = 0; i < rounds; ++i) {
        lock_.lock();
        EXPECT_EQ(inside++, 0);
        ++total;
        if (i % 100 == t) sched_yield();
        --inside;
        lock_.unlock();
      }
    });
  for (std::thread& thread : all) thread.join();
  EXPECT_EQ(total, threads * rounds);
}

// A thread that takes the lock again at once, whenever it let go, does not keep others out: both loops end
// only when the other threads had it often enough.
TEST_F(ProcessLockTest, OthersGetItFromOneThatLoops) {
  for (const bool gives_way : {false, true}) {
    constexpr int others = 3, turns = 200;
    std::atomic<int> left{others};
    std::vector<std::thread> all;
    for (int t = 0; t < others; ++t)
      all.emplace_back([&] {
        for (int i = 0; i < turns; ++i) {
          lock_.lock();
          lock_.unlock();
        }
        --left;
      });
    lock_.lock();
    while (left > 0) {
      if (gives_way && lock_.contended()) {
        lock_.give_way();
      } else {
        lock_.unlock();
        lock_.lock();
      }
    }
    lock_.unlock();
    for (std::thread& thread : all) thread.join();
  }
}

TEST_F(ProcessLockTest, SaysWhetherOthersWant) {
  lock_.lock();
  EXPECT_FALSE(lock_.contended());
  std::thread other([&] {
    lock_.lock();
    lock_.unlock();
  });
  while (!lock_.contended()) sched_yield();
  lock_.give_way();  // the other thread has had it afterwards, or will
  lock_.unlock();
  other.join();
}

TEST(ThreadEvent, WakesWhoWaits) {
  ThreadEvent event;
  std::thread waiting([&] { event.wait(); });
  event.set();
  waiting.join();
}

}  // namespace
}  // namespace hawser
