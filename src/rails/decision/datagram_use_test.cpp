#include "rails/decision/datagram_use.h"

#include <gtest/gtest.h>

#include <set>

namespace hawser {
namespace {

using Repeat = DatagramUse::Repeat;

TEST(DatagramUse, ManyOfLateAreWorthAConnection) {
  DatagramUse use;
  Nanoseconds now = second;
  for (std::uint32_t i = 0; i < 4; ++i) EXPECT_FALSE(use.on_sent(i, 4, now));
  EXPECT_TRUE(use.on_sent(4, 4, now));
}

TEST(DatagramUse, APeerThatIsSpokenToNowAndThenIsNot) {
  DatagramUse use;
  for (std::uint32_t i = 0; i < 100; ++i)
    EXPECT_FALSE(use.on_sent(i, 1, second + i * 2 * DatagramUse::memory)) << i;
}

// Until it is assumed that nobody is there.
void ask(DatagramUse& use, Random& random) {
  use.on_due(0, second, random);
  for (std::uint32_t i = 0; i < DatagramUse::most_asked; ++i) use.on_due(0, use.due(), random);
}

TEST(DatagramUse, HowManyMayBeUnderWay) {
  SequenceWindow window;
  for (std::uint32_t i = 0; i < DatagramUse::most_under_way; ++i) {
    EXPECT_TRUE(DatagramUse::admits(window));
    window.take();
  }
  EXPECT_FALSE(DatagramUse::admits(window));
  window.acknowledge(1);
  EXPECT_TRUE(DatagramUse::admits(window));
}

TEST(DatagramUse, RepeatsWithPausesThatDouble) {
  Random random(1);
  DatagramUse use;
  SequenceWindow window;
  EXPECT_FALSE(use.under_way(window));
  use.on_sent(window.take(), 16, second);
  EXPECT_TRUE(use.under_way(window));
  // The time when it was sent may be that of a look long ago, so it counts from the next one.
  Nanoseconds now = 2 * second;
  EXPECT_LE(use.due(), now);
  EXPECT_EQ(use.on_due(0, now, random), Repeat::nothing);
  EXPECT_GE(use.due(), now + DatagramUse::soon);
  EXPECT_LT(use.due(), now + 2 * DatagramUse::soon);
  Nanoseconds pause = DatagramUse::soon;
  for (std::uint32_t asked = 1; asked <= DatagramUse::most_asked; ++asked) {
    now = use.due();
    EXPECT_EQ(use.on_due(0, now, random), Repeat::first_alone) << "is somebody there?";
    pause = asked < DatagramUse::most_asked ? 2 * pause : DatagramUse::first_repeat;
    EXPECT_GE(use.due(), now + pause);
    EXPECT_LT(use.due(), now + 2 * pause);
  }
  for (std::uint32_t i = 1; i < DatagramUse::most_repeats; ++i) {
    EXPECT_EQ(use.on_due(0, use.due() - 1, random), Repeat::nothing);
    now = use.due();
    EXPECT_EQ(use.on_due(0, now, random), Repeat::again);
    EXPECT_EQ(use.repeats(), i);
    pause *= 2;
    EXPECT_GE(use.due(), now + pause);
    EXPECT_LT(use.due(), now + 2 * pause);
  }
  EXPECT_EQ(use.on_due(0, use.due(), random), Repeat::again_and_connect) << "nothing may reach it there";
  for (int i = 0; i < 10; ++i) use.on_due(0, use.due(), random);
  now = use.due();
  use.on_due(0, now, random);
  EXPECT_GE(use.due(), now + DatagramUse::longest_repeat);
  EXPECT_LT(use.due(), now + 2 * DatagramUse::longest_repeat);
}

TEST(DatagramUse, OfManyWhoSentAtOnceFewRepeatAtOnce) {
  std::set<Nanoseconds> repeats;
  for (std::uint64_t seed = 0; seed < 1000; ++seed) {
    Random random(seed);
    DatagramUse use;
    use.on_sent(0, 16, second);
    ask(use, random);
    repeats.insert(use.due() / (10 * microsecond));
  }
  EXPECT_GE(repeats.size(), 190u) << "of 200 intervals";
}

// Most of a burst of many was lost, and an answer came before anybody looked.
TEST(DatagramUse, WhoeverAnswersIsAskedSoonForTheRest) {
  Random random(1);
  DatagramUse use;
  SequenceWindow window;
  for (int i = 0; i < 4; ++i) use.on_sent(window.take(), 16, second);
  EXPECT_FALSE(use.on_heard(0, second, random)) << "an older packet was acknowledged, or none";
  EXPECT_TRUE(use.on_heard(2, second, random));
  EXPECT_LT(use.due(), second + 2 * DatagramUse::soon);
  EXPECT_EQ(use.on_due(2, use.due(), random), Repeat::again);
}

TEST(DatagramUse, AnAnswerStartsTheTimeAnew) {
  Random random(1);
  DatagramUse use;
  SequenceWindow window;
  use.on_sent(window.take(), 16, second);
  ask(use, random);
  EXPECT_EQ(use.on_due(0, use.due(), random), Repeat::again);
  use.on_sent(window.take(), 16, second);
  window.acknowledge(1);
  Nanoseconds now = use.due();
  EXPECT_EQ(use.on_due(1, now, random), Repeat::nothing) << "the second one may be on its way";
  EXPECT_EQ(use.repeats(), 0u);
  EXPECT_EQ(use.turn(), 1u) << "the way that brought the answer is kept";
  for (Nanoseconds pause = DatagramUse::soon; pause < DatagramUse::first_repeat; pause *= 2) {
    EXPECT_GE(use.due(), now + pause);
    EXPECT_LT(use.due(), now + 2 * pause);
    now = use.due();
    EXPECT_EQ(use.on_due(1, now, random), Repeat::again) << "whoever answered is there, and lacks it";
    EXPECT_EQ(use.repeats(), 0u) << "no reason yet to connect";
  }
  EXPECT_TRUE(use.under_way(window));
  window.acknowledge(2);
  EXPECT_FALSE(use.under_way(window));
}

}  // namespace
}  // namespace hawser
