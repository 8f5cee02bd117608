#include "os/fiber.h"

#include <gtest/gtest.h>

#include <exception>
#include <memory>
#include <stdexcept>
#include <string>
#include <vector>

namespace hawser {
namespace {

TEST(Fiber, RunsInTurns) {
  std::string log;
  Fiber* self = nullptr;
  Fiber fiber([&] {
    log += "a";
    self->suspend();
    log += "b";
    self->suspend();
    log += "c";
  });
  self = &fiber;
  fiber.resume();
  log += "1";
  fiber.resume();
  log += "2";
  EXPECT_FALSE(fiber.finished());
  fiber.resume();
  EXPECT_TRUE(fiber.finished());
  EXPECT_EQ(log, "a1b2c");
}

TEST(Fiber, ManyWithDeepStacks) {
  constexpr int count = 300;
  std::vector<std::unique_ptr<Fiber>> fibers(count);
  std::vector<int> sums(count);
  for (int i = 0; i < count; ++i) {
    fibers[i] = std::make_unique<Fiber>(
        [&fibers, &sums, i] {
          volatile char deep[16 * 1024];
          for (int round = 0; round < 3; ++round) {
            for (std::size_t k = 0; k < sizeof(deep); k += 512) deep[k] = static_cast<char>(i);
            fibers[i]->suspend();
            for (std::size_t k = 0; k < sizeof(deep); k += 512) sums[i] += deep[k] == static_cast<char>(i);
          }
        },
        64 * 1024);
  }
  for (int round = 0; round < 4; ++round) {
    for (auto& fiber : fibers) fiber->resume();
  }
  for (int i = 0; i < count; ++i) {
    EXPECT_TRUE(fibers[i]->finished());
    EXPECT_EQ(sums[i], 96);
  }
}

// Each fiber sleeps inside a catch block: what is being handled belongs to its stack.
TEST(Fiber, ExceptionsBelongToTheStack) {
  std::vector<std::unique_ptr<Fiber>> fibers(4);
  std::vector<std::string> seen(4);
  for (int i = 0; i < 4; ++i) {
    fibers[i] = std::make_unique<Fiber>([&fibers, &seen, i] {
      try {
        throw std::runtime_error(std::to_string(i));
      } catch (const std::exception&) {
        fibers[i]->suspend();
        try {
          throw;
        } catch (const std::exception& again) {
          seen[i] = again.what();
        }
      }
    });
  }
  for (auto& fiber : fibers) fiber->resume();
  EXPECT_EQ(std::current_exception(), nullptr);
  fibers[2]->resume();
  fibers[0]->resume();
  fibers[3]->resume();
  fibers[1]->resume();
  EXPECT_EQ(seen, (std::vector<std::string>{"0", "1", "2", "3"}));
}

TEST(Fiber, AbandonedFiberKeepsItsHeap) {
  for (int i = 0; i < 3; ++i) {
    std::unique_ptr<Fiber> fiber;
    fiber = std::make_unique<Fiber>([&fiber] {
      std::vector<int> owned(1000, 7);
      fiber->suspend();
      FAIL() << owned[0];
    });
    fiber->resume();
  }
}

TEST(FiberDeathTest, OverflowIsAFault) {
  GTEST_FLAG_SET(death_test_style, "threadsafe");
  struct Recursion {
    static int deeper(volatile int* above) {
      volatile int frame[1024];
      frame[0] = *above + 1;
      if (frame[0] > 1'000'000) return 0;
      return deeper(frame) + frame[0];
    }
  };
  EXPECT_DEATH(
      {
        volatile int zero = 0;
        Fiber fiber([&] { zero = Recursion::deeper(&zero); }, 64 * 1024);
        fiber.resume();
      },
      "");
}

}  // namespace
}  // namespace hawser
