#include "rails/decision/engine_choice.h"

#include <gtest/gtest.h>

#include <functional>

namespace hawser {
namespace {

using Rate = std::function<double(int engines)>;

// Samples of a peer, with as many engines as it wants each time.
void sample(EngineChoice& choice, EngineHints& hints, int count, const Rate& rate) {
  for (int i = 0; i < count; ++i) choice.on_sample(choice.wanted(), rate(choice.wanted()), hints);
}

TEST(EngineChoice, KeepsToOneThatFillsThePort) {
  EngineHints hints;
  EngineChoice choice(4);
  int i = 0;
  for (; i < 1000; ++i) {
    sample(choice, hints, 1, [&i](int) { return i % 4 == 3 ? 0.4 : 0.95; });
    ASSERT_EQ(choice.wanted(), 1) << i;
  }
}

TEST(EngineChoice, TakesTwoWhereOneIsSlow) {
  EngineHints hints;
  EngineChoice choice(4);
  const Rate rate = [](int engines) { return engines == 1 ? 0.6 : 0.96; };
  sample(choice, hints, 1, rate);
  EXPECT_FALSE(choice.trying()) << "others may have been in the way";
  sample(choice, hints, 1, rate);
  EXPECT_TRUE(choice.trying());
  EXPECT_EQ(choice.base(), 1);
  EXPECT_EQ(choice.wanted(), 2);
  sample(choice, hints, 1, rate);
  EXPECT_FALSE(choice.trying());
  EXPECT_EQ(choice.base(), 2);
  EngineChoice another(4);
  EXPECT_TRUE(another.on_sample(1, 0.6, hints));
  EXPECT_EQ(another.wanted(), 2);
}

TEST(EngineChoice, DoesNotTakeMoreWhereThePathIsSlow) {
  EngineHints hints;
  EngineChoice choice(2);
  int tried = 0;
  for (int i = 0; i < 1000; ++i) {
    tried += choice.wanted() == 2;
    sample(choice, hints, 1, [](int) { return 0.5; });
  }
  EXPECT_EQ(choice.base(), 1);
  EXPECT_GT(tried, 2);
  EXPECT_LT(tried, 20);
}

// Another path may be better, and then the engine is what is narrow.
TEST(EngineChoice, AsksAgainWhenOneReachesMore) {
  EngineHints hints;
  EngineChoice choice(2);
  sample(choice, hints, 4, [](int) { return 0.5; });
  EXPECT_FALSE(choice.trying());
  sample(choice, hints, 1, [](int) { return 0.6; });
  EXPECT_FALSE(choice.trying()) << "an engine reaches the same each time";
  sample(choice, hints, 1, [](int) { return 0.6; });
  EXPECT_TRUE(choice.trying());
}

TEST(EngineChoice, WantsToBeClearlyBetterThanOneEverWas) {
  EngineHints hints;
  EngineChoice choice(2);
  choice.on_sample(1, 0.89, hints);
  choice.on_sample(1, 0.89, hints);  // tries two
  choice.on_sample(2, 0.89, hints);
  for (int i = 0; i < 100; ++i) choice.on_sample(1, 0.5, hints);
  EXPECT_FALSE(choice.trying()) << "it is not an engine that is slower than it was";
  choice.on_sample(1, 0.88, hints);
  ASSERT_TRUE(choice.trying());
  sample(choice, hints, 2, [](int) { return 0.93; });
  EXPECT_EQ(choice.base(), 1);
}

// The first one may have waited for what the other end still moves over one.
TEST(EngineChoice, OneSampleOfATrialIsFew) {
  EngineHints hints;
  EngineChoice choice(2);
  sample(choice, hints, 2, [](int) { return 0.6; });
  choice.on_sample(2, 0.5, hints, true);
  ASSERT_TRUE(choice.trying());
  choice.on_sample(2, 0.95, hints, true);
  EXPECT_EQ(choice.base(), 2);
}

TEST(EngineChoice, ASlowPartOfManyIsNotAnEngine) {
  EngineHints hints;
  EngineChoice choice(4);
  for (int i = 0; i < 100; ++i) {
    sample(choice, hints, 1, [](int) { return 0.2; });
    ASSERT_FALSE(choice.trying());
  }
}

// The adapter's others may be as slow, and the link faster than what it moves of data.
TEST(EngineChoice, TakesTheSecondAlsoIfBothAreSlowerThanThePort) {
  for (const int most : {2, 3, 4, 8}) {
    EngineHints hints;
    EngineChoice choice(most);
    sample(choice, hints, 10, [](int engines) { return engines == 1 ? 0.415 : 0.686; });
    EXPECT_EQ(choice.base(), 2) << "of " << most;
  }
}

// Who has two connections of a link that two flows crowd gets two thirds of it.
TEST(EngineChoice, ALargerShareOfACrowdedPathIsNoEngine) {
  const auto taken = [](double one, double two) {
    EngineHints hints;
    EngineChoice choice(2, EngineChoice::Doubts::of_path);
    sample(choice, hints, 10, [one, two](int engines) { return engines == 1 ? one : two; });
    return choice.base();
  };
  EXPECT_EQ(taken(1.0 / 2, 2.0 / 3), 1);
  EXPECT_EQ(taken(1.0 / 3, 2.0 / 4), 1);
  EXPECT_EQ(taken(0.6, 0.98), 2);
  EXPECT_EQ(taken(0.45, 0.9), 2);
  EXPECT_EQ(taken(0.85, 0.99), 2);
}

// A trial would keep messages on the path, and they had better leave it.
TEST(EngineChoice, TriesNoEnginesOnAPathThatIsCrowded) {
  EngineHints hints;
  EngineChoice choice(2, EngineChoice::Doubts::of_path);
  for (const double rate : {0.36, 0.39, 0.5, 0.53, 0.4, 0.51, 0.33, 0.5, 0.52, 0.25}) {
    sample(choice, hints, 1, [rate](int) { return rate; });
    ASSERT_FALSE(choice.trying()) << rate;
  }
  sample(choice, hints, 2, [](int) { return 0.6; });
  EXPECT_TRUE(choice.trying()) << "more than of two flows that meet";
}

TEST(EngineChoice, TriesMoreWhereASlowOneIsSteady) {
  EngineHints hints;
  EngineChoice choice(2, EngineChoice::Doubts::of_path);
  sample(choice, hints, 5, [](int) { return 0.45; });
  EXPECT_FALSE(choice.trying());
  sample(choice, hints, 1, [](int) { return 0.45; });
  EXPECT_TRUE(choice.trying());
}

TEST(EngineChoice, GoesOnToFour) {
  EngineHints hints;
  EngineChoice choice(4);
  sample(choice, hints, 8, [](int engines) { return 0.24 * engines; });
  EXPECT_EQ(choice.base(), 4);
}

TEST(EngineChoice, ReturnsToOneIfMoreWereBetterByChance) {
  EngineHints hints;
  EngineChoice choice(2), another(2);
  choice.on_sample(1, 0.5, hints);
  choice.on_sample(1, 0.5, hints);
  choice.on_sample(2, 0.95, hints);  // others went away
  ASSERT_EQ(choice.base(), 2);
  sample(choice, hints, 80, [](int) { return 0.95; });
  EXPECT_EQ(choice.base(), 1);
  another.on_sample(1, 0.95, hints);
  EXPECT_EQ(another.base(), 1);
}

TEST(EngineChoice, AFewSamplesOfOneAreLostToFindOutThatTwoAreNeeded) {
  EngineHints hints;
  EngineChoice choice(2);
  int with_one = 0;
  for (int i = 0; i < 5000; ++i) {
    with_one += choice.wanted() == 1;
    sample(choice, hints, 1, [](int engines) { return engines == 1 ? 0.6 : 0.96; });
  }
  EXPECT_EQ(choice.base(), 2);
  EXPECT_LT(with_one, 10);
}

TEST(EngineChoice, MakesDoWithOneWhenOthersAreRefused) {
  EngineHints hints;
  EngineChoice choice(2);
  choice.on_sample(1, 0.6, hints);
  choice.on_sample(1, 0.6, hints);
  EXPECT_EQ(choice.wanted(), 2);
  choice.on_refused();
  EXPECT_EQ(choice.wanted(), 1);
}

TEST(EngineChoice, HasNothingToChooseWhereThereIsOne) {
  EngineHints hints;
  EngineChoice choice(1);
  for (int i = 0; i < 100; ++i) EXPECT_FALSE(choice.on_sample(1, 0.5, hints));
  EXPECT_EQ(choice.wanted(), 1);
}

}  // namespace
}  // namespace hawser
