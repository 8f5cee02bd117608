#include "rails/decision/bundle_account.h"

#include <gtest/gtest.h>

namespace hawser {
namespace {

// A program sends `burst` messages in bundles of `together`, then computes while the last of them waits.
struct Program {
  std::int64_t burst, together;
  Nanoseconds computes;
};
struct Course {
  std::int64_t shared = 0, alone = 0;
  Nanoseconds late = 0;
};

Course run(const Program& program, int rounds) {
  BundleAccount account;
  Course course;
  for (int round = 0; round < rounds; ++round) {
    std::int64_t waiting = 0;
    for (std::int64_t i = 0; i < program.burst; ++i) {
      if (waiting == 0 && !account.may_wait()) {
        ++course.alone;
        continue;
      }
      ++course.shared;
      if (++waiting == program.together) {
        account.on_time(waiting);
        waiting = 0;
      }
    }
    if (waiting == 0) continue;
    account.on_late(program.computes);
    course.late += program.computes;
  }
  return course;
}

TEST(BundleAccount, LosesLittleMoreThanSharingSaves) {
  for (const Program& program : {Program{10, 32, millisecond}, Program{60, 32, 10 * millisecond},
                                 Program{60, 32, 50 * microsecond}, Program{1000, 32, 10 * millisecond},
                                 Program{10000, 32, millisecond}, Program{100, 32, 40 * millisecond}}) {
    const Course course = run(program, 20000);
    const Nanoseconds gained = course.shared * BundleAccount::saved + course.alone * BundleAccount::paid;
    EXPECT_LE(course.late, gained + BundleAccount::at_first + program.computes) << program.burst;
  }
}

TEST(BundleAccount, TriesAgain) {
  const Course course = run({60, 32, 10 * millisecond}, 100000);
  EXPECT_GT(course.late, 10 * (10 * millisecond));
  EXPECT_LT(course.late, 100000 * (10 * millisecond) / 50);
}

TEST(BundleAccount, LetsAllShareWhereNothingIsLate) {
  const Course course = run({64, 32, millisecond}, 1000);
  EXPECT_EQ(course.alone, 0);
}

TEST(BundleAccount, WatchesTheThreadAfterALateOneForAWhile) {
  BundleAccount account;
  EXPECT_FALSE(account.watches());
  account.on_late(5 * microsecond);
  for (int i = 0; i < BundleAccount::watched_after_late; ++i) {
    EXPECT_TRUE(account.watches());
    account.on_time(32);
  }
  EXPECT_FALSE(account.watches());
}

// Others had the core: waiting was not in vain.
TEST(BundleAccount, WhatOthersTookIsNotOwed) {
  BundleAccount account;
  for (int i = 0; i < 1000; ++i) account.on_late(-1);
  EXPECT_TRUE(account.may_wait());
}

}  // namespace
}  // namespace hawser
