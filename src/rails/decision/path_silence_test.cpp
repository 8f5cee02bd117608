#include "rails/decision/path_silence.h"

#include <gtest/gtest.h>

namespace hawser {
namespace {

using Outcome = PathSilence::Outcome;

constexpr SilenceSettings settings;

// A path that was quick, and on which nothing was done since 1 s.
PathActivity quick_path(Nanoseconds age) {
  PathActivity path;
  path.since = 1 * second;
  path.now = path.since + age;
  path.slowest = 1 * millisecond;
  path.rate = 1;  // a gigabyte a second
  path.bytes = 100'000;
  return path;
}

TEST(PathSilence, FailsAQuickPathWhileOthersGetThrough) {
  PathSilence silence;
  const PathActivity early = quick_path(settings.silence / 2 - 1);
  EXPECT_FALSE(PathSilence::worth_comparing(settings, early));
  const PathActivity halfway = quick_path(settings.silence / 2);
  EXPECT_TRUE(PathSilence::worth_comparing(settings, halfway));
  EXPECT_EQ(PathSilence::compare_since(settings, halfway), halfway.since + settings.silence / 2);
  EXPECT_EQ(silence.decide(settings, halfway, true), Outcome::wait);
  EXPECT_EQ(silence.decide(settings, quick_path(settings.silence), true), Outcome::leave_or_fail);
}

TEST(PathSilence, WaitsWhileNobodyGetsThrough) {
  PathSilence silence;
  const PathActivity path = quick_path(10 * settings.silence);
  EXPECT_EQ(silence.decide(settings, path, false), Outcome::wait);
  PathActivity only = path;
  only.alone = true;
  EXPECT_EQ(silence.decide(settings, only, false), Outcome::leave);
}

TEST(PathSilence, SaysNothingOfASlowOrUnknownPath) {
  const Nanoseconds long_ago = 10 * settings.silence;
  PathActivity slow = quick_path(long_ago);
  slow.slowest = settings.silence / 3;
  EXPECT_FALSE(PathSilence::worth_comparing(settings, slow));
  PathActivity unknown = quick_path(long_ago);
  unknown.slowest = -1;
  EXPECT_FALSE(PathSilence::worth_comparing(settings, unknown));
  // Only tiny packets were measured, and more than tiny ones are under way.
  PathActivity tiny = quick_path(long_ago);
  tiny.rate = 0;
  EXPECT_FALSE(PathSilence::worth_comparing(settings, tiny));
  tiny.bytes = 1023;
  EXPECT_TRUE(PathSilence::worth_comparing(settings, tiny));
  PathActivity loaded = quick_path(long_ago);
  loaded.expected = long_ago;
  EXPECT_FALSE(PathSilence::worth_comparing(settings, loaded));
}

TEST(PathSilence, GivesASlowLinkTheTimeOfWhatMayStandAhead) {
  PathSilence silence;
  PathActivity path = quick_path(0);
  path.rate = 0.001F;  // a megabyte a second: 256 KiB take 262 ms
  path.now = path.since + 200 * millisecond;
  EXPECT_EQ(silence.decide(settings, path, true), Outcome::wait);
  path.now = path.since + 270 * millisecond;
  EXPECT_EQ(silence.decide(settings, path, true), Outcome::leave_or_fail);
}

// With the knob at 0, silence is never judged; only the watchdog ends it.
TEST(PathSilence, IsSwitchedOff) {
  SilenceSettings off;
  off.silence = 0;
  const PathActivity path = quick_path(900 * millisecond);
  EXPECT_FALSE(PathSilence::worth_comparing(off, path));
  EXPECT_FALSE(PathSilence().wants_packet(off, path));
  EXPECT_FALSE(PathSilence().found_late(off, path));
  EXPECT_FALSE(PathSilence::timed_out(off, path));
  EXPECT_TRUE(PathSilence::timed_out(off, quick_path(2 * settings.adapter_patience + 1)));
}

TEST(PathSilence, AsksAgainLessAndLessOften) {
  PathSilence silence;
  EXPECT_FALSE(silence.wants_packet(settings, quick_path(settings.silence / 4 - 1)));
  PathActivity path = quick_path(settings.silence / 4);
  EXPECT_TRUE(silence.wants_packet(settings, path));
  silence.on_packet_sent(path.now);
  EXPECT_FALSE(silence.wants_packet(settings, path));
  EXPECT_FALSE(silence.wants_packet(settings, quick_path(settings.silence / 2 - 1)));
  path = quick_path(settings.silence / 2);
  EXPECT_TRUE(silence.wants_packet(settings, path));
  silence.on_packet_sent(path.now);
  EXPECT_FALSE(silence.wants_packet(settings, quick_path(settings.silence - 1)));
  // Where nothing was measured, the first comes later.
  PathActivity unknown = quick_path(settings.silence - 1);
  unknown.slowest = -1;
  EXPECT_FALSE(PathSilence().wants_packet(settings, unknown));
}

TEST(PathSilence, TheWatchdogGivesACrowdedPathMoreTime) {
  const Nanoseconds least = 2 * settings.adapter_patience;
  EXPECT_FALSE(PathSilence::timed_out(settings, quick_path(least)));
  EXPECT_TRUE(PathSilence::timed_out(settings, quick_path(least + 1)));
  PathActivity crowded = quick_path(least + 1);
  crowded.false_alarms = 1;
  EXPECT_FALSE(PathSilence::timed_out(settings, crowded));
  crowded.now = crowded.since + 4 * settings.watchdog + 1;
  EXPECT_TRUE(PathSilence::timed_out(settings, crowded));
}

TEST(PathSilence, TellsWhatItShouldHaveFoundBefore) {
  PathSilence silence;
  EXPECT_FALSE(silence.found_late(settings, quick_path(150 * millisecond)));  // nobody got through
  static_cast<void>(silence.decide(settings, quick_path(40 * millisecond), true));
  EXPECT_FALSE(silence.found_late(settings, quick_path(90 * millisecond)));
  EXPECT_TRUE(silence.found_late(settings, quick_path(101 * millisecond)));
  PathActivity slow = quick_path(150 * millisecond);
  slow.slowest = PathSilence::quick_request;
  EXPECT_FALSE(silence.found_late(settings, slow));
}

TEST(PathSilence, IsLateFromWhenOthersWereFirstKnownToGetThrough) {
  PathSilence silence;
  static_cast<void>(silence.decide(settings, quick_path(140 * millisecond), true));
  EXPECT_FALSE(silence.found_late(settings, quick_path(190 * millisecond)));
  EXPECT_TRUE(silence.found_late(settings, quick_path(191 * millisecond)));
  // Still since then, however often it is asked.
  static_cast<void>(silence.decide(settings, quick_path(180 * millisecond), true));
  EXPECT_TRUE(silence.found_late(settings, quick_path(191 * millisecond)));
  // What was known before the path fell silent says nothing.
  PathActivity next = quick_path(120 * millisecond);
  next.since += second;
  next.now += second;
  static_cast<void>(silence.decide(settings, next, true));
  EXPECT_FALSE(silence.found_late(settings, next));
  next.now += 51 * millisecond;
  EXPECT_TRUE(silence.found_late(settings, next));
  static_cast<void>(silence.decide(settings, next, false));
  EXPECT_FALSE(silence.found_late(settings, next)) << "nobody gets through any more";
}

}  // namespace
}  // namespace hawser
