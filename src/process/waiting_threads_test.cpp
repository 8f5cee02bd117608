#include "process/waiting_threads.h"

#include <gtest/gtest.h>

#include <utility>

namespace hawser {
namespace {

constexpr auto never_done = [] { return false; };

// A process in which several threads wait, one of which polls.
class Process {
 public:
  Process(int rank, int threads) {
    waiting_.open(rank);
    for (int i = 0; i < threads; ++i) waiting_.enter();
  }
  std::uint32_t passes() const { return waiting_.passes_before_rest(thread_); }
  void polls_in_vain() { waiting_.note_in_vain(thread_); }
  void finds() { waiting_.note_found(); }

 private:
  WaitingThreads waiting_;
  WaitingThread thread_{never_done, false};
};

TEST(WaitingThreads, ProcessesInStepFallOutOfIt) {
  constexpr std::pair<int, int> neighbours[] = {{0, 1}, {0, 2}, {1, 3}, {6, 10}, {0, 64}};
  for (const auto& [one, other] : neighbours)
    for (int threads = 2; threads <= 8; threads *= 2) {
      Process here(one, threads), there(other, threads);
      int rounds = 0;
      for (; here.passes() == there.passes() && rounds < 64 * threads; ++rounds) {
        here.polls_in_vain();
        there.polls_in_vain();
      }
      EXPECT_NE(here.passes(), there.passes()) << one << " and " << other << ", " << threads << " threads";
    }
}

// When another thread has its turn, each of this process's is tried until the right one has the core.
TEST(WaitingThreads, WhatWorksStays) {
  constexpr int threads = 4;
  Process process(1, threads);
  const std::uint32_t at_first = process.passes();
  for (int turn = 0; turn < 1000; ++turn) {
    for (int i = 1; i < threads; ++i) process.polls_in_vain();
    process.finds();
    ASSERT_EQ(process.passes(), at_first);
  }
}

TEST(WaitingThreads, WhoHasYieldedAlreadyPollsBriefly) {
  WaitingThreads waiting;
  waiting.open(1);
  waiting.enter();
  waiting.enter();
  WaitingThread thread(never_done, false);
  const std::uint32_t fresh = waiting.passes_before_rest(thread);
  ++thread.yields;
  EXPECT_LT(waiting.passes_before_rest(thread), fresh);
  thread.note_movement();
  EXPECT_EQ(waiting.passes_before_rest(thread), fresh);
}

}  // namespace
}  // namespace hawser
