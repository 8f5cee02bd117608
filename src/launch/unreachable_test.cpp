#include "launch/unreachable.h"

#include <gtest/gtest.h>

#include <algorithm>

#include "base/random.h"

namespace hawser {
namespace {

std::vector<std::int32_t> nodes(int count, int ranks_each) {
  std::vector<std::int32_t> of;
  for (int rank = 0; rank < count * ranks_each; ++rank) of.push_back(rank / ranks_each);
  return of;
}

std::vector<int> ranks_of(const std::vector<Unreachable::Condemned>& condemned) {
  std::vector<int> ranks;
  for (const auto& each : condemned) ranks.push_back(each.rank);
  std::ranges::sort(ranks);
  return ranks;
}

TEST(Unreachable, DecidesWhenItsPatienceIsOver) {
  Unreachable unreachable(nodes(2, 1), 100);
  EXPECT_EQ(unreachable.deadline(), never);
  unreachable.report(0, 1, "no path", 1000);
  unreachable.report(1, 0, "no path", 1050);
  EXPECT_EQ(unreachable.deadline(), 1150);
  const auto condemned = unreachable.decide();
  ASSERT_EQ(condemned.size(), 1u);
  EXPECT_EQ(condemned[0].rank, 1);
  EXPECT_EQ(condemned[0].why, "rank 0 says: no path");
  EXPECT_EQ(unreachable.deadline(), never);
}

// Reports that come one by one do not keep it from deciding.
TEST(Unreachable, DoesNotCollectForEver) {
  Unreachable unreachable(nodes(2, 100), 100);
  for (int rank = 1; rank < 10; ++rank) unreachable.report(0, 100 + rank, "", rank * 90);
  EXPECT_EQ(unreachable.deadline(), 90 + 400);
}

TEST(Unreachable, WhoIsGoneCountsNoMore) {
  Unreachable unreachable(nodes(3, 1), 100);
  unreachable.report(0, 1, "", 0);
  unreachable.report(1, 2, "", 0);
  unreachable.forget(1);
  EXPECT_EQ(unreachable.deadline(), never);
  EXPECT_TRUE(unreachable.decide().empty());
}

// The first that speaks may be the one that is cut off.
TEST(Unreachable, TheNodeThatIsCutOffGoesWhoeverSpeaksFirst) {
  Unreachable unreachable(nodes(4, 2), 100);
  for (const int cut : {0, 1})
    for (int rank = 2; rank < 8; ++rank) unreachable.report(cut, rank, "", 0);
  for (int rank = 2; rank < 8; ++rank)
    for (const int cut : {0, 1}) unreachable.report(rank, cut, "", 50);
  EXPECT_EQ(ranks_of(unreachable.decide()), (std::vector{0, 1}));
}

// The others may wait for a word of it, and not notice.
TEST(Unreachable, TheNodeThatIsCutOffGoesIfItAloneSpeaks) {
  Unreachable unreachable(nodes(4, 1), 100);
  for (int rank = 1; rank < 4; ++rank) unreachable.report(0, rank, "", 0);
  EXPECT_EQ(ranks_of(unreachable.decide()), (std::vector{0}));
}

// One pair notices, as the others wait for these two; so others are asked.
TEST(Unreachable, WhomOthersReachStays) {
  for (const auto& [reporter, accused] : {std::pair(0, 4), std::pair(4, 0)}) {
    Unreachable unreachable(nodes(4, 2), 100);
    unreachable.forget(2);  // it cannot be asked any more
    unreachable.report(reporter, accused, "", 0);
    auto questions = unreachable.take_questions();
    std::ranges::sort(questions);
    EXPECT_EQ(questions, (std::vector<Unreachable::Question>{{3, 0}, {3, 4}, {6, 0}, {6, 4}}));
    unreachable.report(accused, reporter, "", 10);
    unreachable.report(reporter + 1, accused + 1, "", 10);
    questions = unreachable.take_questions();
    EXPECT_EQ(questions.size(), 4u) << "about the others; no question is asked twice";
    for (const int witness : {3, 6}) unreachable.note_reached(witness, 4);
    EXPECT_EQ(ranks_of(unreachable.decide()), (std::vector{0, 1}));
    // Of another time nothing is known.
    unreachable.report(4, 6, "", 1000);
    EXPECT_EQ(unreachable.take_questions().size(), 2u);
    EXPECT_EQ(ranks_of(unreachable.decide()), (std::vector{6}));
  }
}

TEST(Unreachable, AsksFewOfMany) {
  Unreachable unreachable(nodes(1000, 1), 100);
  unreachable.report(7, 900, "", 0);
  EXPECT_EQ(unreachable.take_questions().size(), 16u);
  EXPECT_TRUE(unreachable.take_questions().empty());
}

// Each talks with its two neighbours only.
TEST(Unreachable, InARingTheNodeBetweenTheCutsGoes) {
  Unreachable unreachable(nodes(4, 2), 100);
  for (const auto& [one, other] : {std::pair(1, 2), std::pair(7, 0)}) {
    unreachable.report(one, other, "", 0);
    unreachable.report(other, one, "", 0);
  }
  EXPECT_EQ(ranks_of(unreachable.decide()), (std::vector{0, 1}));
}

// A process that stands still is reported, and reports nobody.
TEST(Unreachable, OnlyTheProcessThatIsSilentGoes) {
  Unreachable unreachable(nodes(2, 2), 100);
  unreachable.report(2, 0, "", 0);
  EXPECT_EQ(ranks_of(unreachable.decide()), (std::vector{0}));
  // The same within a node.
  unreachable.report(3, 2, "", 0);
  EXPECT_EQ(ranks_of(unreachable.decide()), (std::vector{2}));
}

// However a network is cut in two, and whoever of those who talk with each other notices it: nobody is left
// who cannot reach another, and the larger half stays as a whole where everyone talks with everyone.
TEST(Unreachable, OneSideIsLeft) {
  Random random(5);
  for (int trial = 0; trial < 2000; ++trial) {
    const int count = 2 + static_cast<int>(random.below(7)), each = 1 + static_cast<int>(random.below(3));
    const auto node_of = nodes(count, each);
    Unreachable unreachable(node_of, 1);
    std::vector<bool> side(static_cast<std::size_t>(count));
    for (std::size_t i = 0; i < side.size(); ++i) side[i] = random.chance(0.5);
    const auto left = static_cast<int>(std::ranges::count(side, false));
    const bool everyone = random.chance(0.5);
    const auto side_of = [&](int rank) {
      return side[static_cast<std::size_t>(node_of[static_cast<std::size_t>(rank)])];
    };
    const int ranks = count * each;
    std::vector<std::pair<int, int>> talks;
    for (int a = 0; a < ranks; ++a)
      for (int b = 0; b < ranks; ++b)
        if (side_of(a) != side_of(b) && (everyone || random.chance(0.3))) talks.emplace_back(a, b);
    for (const auto& [a, b] : talks) unreachable.report(a, b, "", 0);
    const auto gone = ranks_of(unreachable.decide());
    const auto lives = [&](int rank) { return !std::ranges::binary_search(gone, rank); };
    EXPECT_LT(static_cast<int>(gone.size()), ranks);
    for (const auto& [a, b] : talks) EXPECT_FALSE(lives(a) && lives(b)) << a << " and " << b;
    if (!everyone || left == count - left) continue;
    const bool larger = count - left > left;
    for (int rank = 0; rank < ranks; ++rank) EXPECT_EQ(lives(rank), side_of(rank) == larger) << rank;
  }
}

}  // namespace
}  // namespace hawser
