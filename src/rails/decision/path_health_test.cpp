#include "rails/decision/path_health.h"

#include <gtest/gtest.h>

#include <algorithm>

namespace hawser {
namespace {

class PathHealthTest : public testing::Test {
 protected:
  // Runs failed attempts until `end`; how many there were.
  int attempt_until(PathHealth& health, Nanoseconds end) {
    int attempts = 0;
    while (health.next_attempt() <= end) {
      const Nanoseconds now = health.next_attempt();
      health.on_attempt(now);
      EXPECT_EQ(health.next_attempt(), never);
      health.on_failure(now);
      ++attempts;
    }
    return attempts;
  }
  Nanoseconds recover(PathHealth& health) {
    const Nanoseconds now = health.next_attempt();
    health.on_attempt(now);
    health.on_connected(now);
    EXPECT_EQ(health.state(), PathState::probing);
    health.on_probe_passed(now);
    return now;
  }

  HealthSettings settings;
  Random random{42};
};

TEST_F(PathHealthTest, attempts_back_off_with_jitter_up_to_the_cap) {
  PathHealth health(settings, random);
  EXPECT_EQ(health.next_attempt(), never);
  Nanoseconds now = 1000;
  health.on_failure(now);
  Nanoseconds whole = settings.first_retry;
  for (int i = 0; i < 20; ++i) {
    const Nanoseconds delay = health.next_attempt() - now;
    EXPECT_GE(delay, whole / 2);
    EXPECT_LE(delay, whole);
    now = health.next_attempt();
    health.on_attempt(now);
    health.on_failure(now);
    whole = std::min(2 * whole, settings.longest_retry);
  }
  EXPECT_EQ(whole, settings.longest_retry);
  EXPECT_EQ(health.attempts(), 20u);
  EXPECT_EQ(health.failures(), 1u);
}

TEST_F(PathHealthTest, paths_that_fail_together_do_not_try_in_step) {
  std::vector<Nanoseconds> due;
  for (int i = 0; i < 100; ++i) {
    PathHealth health(settings, random);
    health.on_failure(0);
    due.push_back(health.next_attempt());
  }
  std::sort(due.begin(), due.end());
  EXPECT_GT(due.back() - due.front(), settings.first_retry / 4);
  EXPECT_GT(std::unique(due.begin(), due.end()) - due.begin(), 90);
}

TEST_F(PathHealthTest, a_first_failure_is_not_held_down) {
  PathHealth health(settings, random);
  health.on_failure(second);
  EXPECT_LE(health.next_attempt(), second + settings.first_retry);
  EXPECT_FALSE(health.held_down(second));
}

TEST_F(PathHealthTest, hold_down_grows_with_every_flap_up_to_the_cap) {
  PathHealth health(settings, random);
  Nanoseconds now = 0;
  health.on_failure(now);
  now = recover(health);
  Nanoseconds expected = settings.first_hold_down;
  for (int flap = 0; flap < 15; ++flap) {
    now += millisecond;  // clear for a moment only
    health.on_failure(now);
    EXPECT_EQ(health.hold_down(), expected);
    EXPECT_TRUE(health.held_down(now + expected - 1));
    EXPECT_FALSE(health.held_down(now + expected));
    EXPECT_GE(health.next_attempt(), now + expected);
    expected = std::min(2 * expected, settings.longest_hold_down);
    now = recover(health);
  }
  EXPECT_EQ(expected, settings.longest_hold_down);
  // Long enough well: forgiven.
  now += settings.flap_window;
  health.on_failure(now);
  EXPECT_EQ(health.hold_down(), 0);
}

TEST_F(PathHealthTest, a_port_that_is_back_brings_the_attempt_forward_but_not_into_a_hold_down) {
  PathHealth health(settings, random);
  health.on_failure(0);
  attempt_until(health, 10 * second);  // delays have grown
  const Nanoseconds now = 10 * second + 1;
  health.on_port_back(now);
  EXPECT_LE(health.next_attempt(), now + settings.first_retry);
  recover(health);

  const Nanoseconds flap = health.last_change() + 1;
  health.on_failure(flap);
  health.on_port_back(flap + 1);
  EXPECT_EQ(health.next_attempt(), flap + settings.first_hold_down);
}

TEST_F(PathHealthTest, a_path_that_rests_is_tried_when_nothing_else_works) {
  PathHealth health(settings, random);
  health.on_failure(0);
  Nanoseconds now = 0;
  for (int flap = 0; flap < 20; ++flap) {  // the hold-down has grown to its longest
    now = recover(health) + 1;
    health.on_failure(now);
  }
  ASSERT_EQ(health.next_attempt(), now + settings.longest_hold_down);
  health.on_needed(now + 1);
  EXPECT_FALSE(health.held_down(now + 1));
  EXPECT_LE(health.next_attempt(), now + 1 + settings.first_retry);
  health.check_invariants();
}

TEST_F(PathHealthTest, a_port_that_is_back_is_never_bad_news) {
  PathHealth health(settings, random);
  health.on_failure(0);
  for (Nanoseconds now = 0; now < 100; ++now) {
    const Nanoseconds before = health.next_attempt();
    health.on_port_back(now);
    EXPECT_LE(health.next_attempt(), before);
  }
}

TEST_F(PathHealthTest, a_flapping_port_costs_few_attempts) {
  PathHealth health(settings, random);
  health.on_failure(0);
  // Port events every millisecond for ten seconds, and no attempt succeeds.
  for (Nanoseconds now = millisecond; now < 10 * second; now += millisecond) {
    health.on_port_back(now);
    attempt_until(health, now);
  }
  EXPECT_LT(health.attempts(), 40u);
}

TEST_F(PathHealthTest, data_that_does_not_pass_is_an_attempt_that_failed) {
  PathHealth health(settings, random);
  Nanoseconds now = 0;
  health.on_failure(now);
  Nanoseconds delay = 0;
  for (int i = 0; i < 12; ++i) {
    now = health.next_attempt();
    health.on_attempt(now);
    health.on_connected(now);
    health.on_failure(now);
    delay = health.next_attempt() - now;
  }
  EXPECT_GE(delay, settings.longest_retry / 2);
  EXPECT_EQ(health.failures(), 1u);
}

TEST_F(PathHealthTest, slowness_comes_and_goes) {
  PathHealth health(settings, random);
  health.on_slow(5);
  EXPECT_EQ(health.state(), PathState::suspect);
  EXPECT_EQ(health.last_change(), 5);
  health.on_slow(6);
  EXPECT_EQ(health.last_change(), 5);
  health.on_well(7);
  EXPECT_EQ(health.state(), PathState::clear);
  health.on_slow(8);
  health.on_failure(9);
  EXPECT_EQ(health.state(), PathState::failed);
  EXPECT_EQ(health.failures(), 1u);
}

TEST_F(PathHealthTest, the_peers_attempt_serves_too) {
  PathHealth health(settings, random);
  health.on_failure(0);
  health.on_connected(1);
  EXPECT_EQ(health.next_attempt(), never);
  health.on_probe_passed(2);
  EXPECT_EQ(health.state(), PathState::clear);
  EXPECT_EQ(health.attempts(), 0u);
}

// Whatever happens: invariants hold, a failed path is always tried again within the caps, and the rate of
// attempts is bounded.
TEST_F(PathHealthTest, random_events) {
  for (std::uint64_t seed = 1; seed <= 300; ++seed) {
    Random events(seed);
    PathHealth health(settings, random);
    Nanoseconds now = 0;
    bool attempting = false;
    std::uint32_t attempts_before = 0;
    Nanoseconds window_start = 0;
    for (int i = 0; i < 500; ++i) {
      now += static_cast<Nanoseconds>(events.below(1u << events.below(32)));
      const std::uint64_t dice = events.below(10);
      switch (health.state()) {
        case PathState::clear:
          if (dice < 3) health.on_slow(now);
          if (dice > 6) health.on_failure(now);
          break;
        case PathState::suspect:
          if (dice < 3) health.on_well(now);
          if (dice > 6) health.on_failure(now);
          break;
        case PathState::failed:
          if (!attempting) {
            const Nanoseconds latest = std::max(settings.longest_retry, settings.longest_hold_down) + now;
            ASSERT_LE(health.next_attempt(), latest) << "seed " << seed;
            if (dice < 3) health.on_port_back(now);
            if (now >= health.next_attempt()) {
              ASSERT_FALSE(health.held_down(now)) << "seed " << seed;
              health.on_attempt(now);
              attempting = true;
            } else if (dice == 9) {
              health.on_connected(now);
            }
          } else if (dice < 5) {
            health.on_failure(now);
            attempting = false;
          } else if (dice < 8) {
            health.on_connected(now);
            attempting = false;
          } else {
            health.on_port_back(now);
          }
          break;
        case PathState::probing:
          if (dice < 5) health.on_probe_passed(now);
          if (dice > 7) health.on_failure(now);
          break;
      }
      health.check_invariants();
      if (health.state() != PathState::failed) {
        ASSERT_EQ(health.next_attempt(), never);
      }
      if (now - window_start > second) {
        // At best one attempt per half of the first retry.
        ASSERT_LE(health.attempts() - attempts_before, 2 * (now - window_start) / settings.first_retry + 2)
            << "seed " << seed;
        attempts_before = health.attempts();
        window_start = now;
      }
    }
  }
}

}  // namespace
}  // namespace hawser
