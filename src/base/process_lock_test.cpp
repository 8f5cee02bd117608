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
  // As a thread does that polls.
  void give_way() {
    lock_.unlock();
    do {
      sched_yield();
    } while (lock_.held());
    lock_.lock("MPI_Test");
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
        lock_.lock("MPI_Test");
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
          lock_.lock("MPI_Test");
          lock_.unlock();
        }
        --left;
      });
    lock_.lock("MPI_Test");
    while (left > 0) {
      if (gives_way && lock_.contended()) {
        give_way();
      } else {
        lock_.unlock();
        lock_.lock("MPI_Test");
      }
    }
    lock_.unlock();
    for (std::thread& thread : all) thread.join();
  }
}

TEST_F(ProcessLockTest, SaysWhetherOthersWant) {
  lock_.lock("MPI_Test");
  EXPECT_FALSE(lock_.contended());
  std::thread other([&] {
    lock_.lock("MPI_Test");
    lock_.unlock();
  });
  while (!lock_.contended()) sched_yield();
  give_way();  // the other thread has had it afterwards, or will
  lock_.unlock();
  other.join();
}

TEST(ThreadEvent, WakesWhoWaits) {
  ThreadEvent event;
  std::thread waiting([&] { event.wait(); });
  event.set();
  waiting.join();
}

// A program's thread that calls, and a stand-in.
class StandInLock : public ::testing::Test {
 protected:
  StandInLock() {
    lock_.lock("MPI_Init");
    admitted_ = lock_.admit_stand_in([this] { ++left_; });
    lock_.unlock();
  }
  void SetUp() override {
    if (!admitted_) GTEST_SKIP() << "this kernel has no membarrier";
  }
  ProcessLock lock_;
  bool admitted_ = false;
  int left_ = 0;  // calls that ended after the stand-in had come
};

TEST_F(StandInLock, ComesInWhileTheProgramComputes) {
  ASSERT_TRUE(lock_.try_stand_in());
  lock_.end_stand_in();
  lock_.lock("MPI_Test");
  EXPECT_STREQ(lock_.holder(), "MPI_Test");
  lock_.unlock();
  EXPECT_EQ(lock_.holder(), nullptr);
  EXPECT_EQ(left_, 0);
}

TEST_F(StandInLock, LeavesTheWorkToACall) {
  lock_.lock("MPI_Wait");
  std::thread stand_in([&] {
    EXPECT_FALSE(lock_.try_stand_in());
    EXPECT_EQ(left_, 0);
  });
  stand_in.join();
  lock_.unlock();
  EXPECT_EQ(left_, 1);
  lock_.lock("MPI_Wait");
  lock_.unlock();
  EXPECT_EQ(left_, 1) << "once";
}

TEST_F(StandInLock, SleepsUntilTheCallIsOver) {
  lock_.lock("MPI_Wait");
  std::atomic<bool> tried{false}, woke{false};
  std::thread stand_in([&] {
    EXPECT_FALSE(lock_.try_stand_in());
    tried = true;
    lock_.wait_until_left();
    woke = true;
  });
  while (!tried) sched_yield();
  EXPECT_FALSE(woke);
  lock_.unlock();
  stand_in.join();
}

TEST_F(StandInLock, DismissalEndsTheSleep) {
  lock_.lock("MPI_Finalize");
  std::atomic<bool> tried{false};
  std::thread stand_in([&] {
    EXPECT_FALSE(lock_.try_stand_in());
    tried = true;
    lock_.wait_until_left();
  });
  while (!tried) sched_yield();
  lock_.dismiss_stand_in();
  stand_in.join();
  lock_.unlock();
}

// Neither ever sees the other inside. The counter is a plain one: the thread sanitizer sees what is wrong.
TEST_F(StandInLock, OnlyOneOfThemIsInside) {
  constexpr int calls = 200'000, least_turns = 100;
  std::int64_t inside = 0, total = 0, turns = 0;
  std::atomic<bool> over{false};
  std::atomic<std::int64_t> turns_seen{0};
  std::thread stand_in([&] {
    while (!over) {
      if (!lock_.try_stand_in()) continue;
      EXPECT_EQ(inside++, 0);
      ++total;
      turns_seen = ++turns;
      --inside;
      lock_.end_stand_in();
    }
  });
  std::int64_t made = 0;
  for (; made < calls || turns_seen < least_turns; ++made) {
    lock_.lock("MPI_Test");
    EXPECT_EQ(inside++, 0);
    ++total;
    --inside;
    lock_.unlock();
    if (made % 64 == 0) sched_yield();
  }
  over = true;
  stand_in.join();
  EXPECT_EQ(total, made + turns);
}

// The program asks for MPI_THREAD_MULTIPLE later, in a session of its own.
TEST_F(StandInLock, TakesTurnsWithSeveralThreads) {
  lock_.lock("MPI_Session_init");
  std::atomic<bool> tried{false};
  std::int64_t total = 0;
  std::thread stand_in([&] {
    EXPECT_FALSE(lock_.try_stand_in());
    tried = true;
    lock_.wait_until_left();
    for (int turns = 0; turns < 100;) {
      if (!lock_.try_stand_in()) continue;
      ++total;
      ++turns;
      lock_.end_stand_in();
    }
  });
  while (!tried) sched_yield();
  lock_.enable();
  lock_.unlock();
  std::vector<std::thread> threads;
  for (int t = 0; t < 3; ++t)
    threads.emplace_back([&] {
      for (int i = 0; i < 1000; ++i) {
        lock_.lock("MPI_Test");
        ++total;
        lock_.unlock();
      }
    });
  for (std::thread& thread : threads) thread.join();
  stand_in.join();
  EXPECT_EQ(total, 3100);
}

}  // namespace
}  // namespace hawser
