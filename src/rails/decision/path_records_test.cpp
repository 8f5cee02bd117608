#include "rails/decision/path_records.h"

#include <gtest/gtest.h>

#include <vector>

namespace hawser {
namespace {

constexpr PathEnds first{0, 1, 10}, second_path{0, 1, 11}, other_rail{1, 2, 10};
constexpr Nanoseconds patience = 300 * millisecond;

class PathRecordsTest : public testing::Test {
 protected:
  std::vector<PathRecords::Question> questions() {
    std::vector<PathRecords::Question> all;
    while (const auto question = records.next_question(now)) all.push_back(*question);
    return all;
  }
  static rdma::PathAnswer answer_to(const PathRecords::Question& question, std::uint8_t level = 5) {
    return {
        question.transaction, 0, question.ends.source_lid, question.ends.destination_lid, {level, 4, 0xffff}};
  }
  // Lets time pass as the rails do: at every deadline. Returns whether something was settled.
  bool pass(Nanoseconds until) {
    bool settled = false;
    while (records.deadline() <= until) {
      now = std::max(now, records.deadline());
      settled |= records.progress(now);
      asked += questions().size();
    }
    now = until;
    return settled;
  }
  void expect_settled_without(const PathEnds& ends) {
    const auto lookup = records.find(ends, now);
    EXPECT_TRUE(lookup.settled);
    EXPECT_FALSE(lookup.record.has_value());
  }

  Random random{1};
  PathRecords records{2, random};
  Nanoseconds now = 0;
  std::size_t asked = 0;
};

TEST_F(PathRecordsTest, ARecordIsAskedForOnceAndKept) {
  EXPECT_EQ(records.deadline(), never);
  EXPECT_FALSE(records.find(first, now).settled);
  const auto asked_first = questions();
  ASSERT_EQ(asked_first.size(), 1u);
  EXPECT_EQ(asked_first[0].ends, first);
  EXPECT_FALSE(records.find(first, now).settled);
  EXPECT_TRUE(questions().empty());
  EXPECT_EQ(records.on_answer(0, answer_to(asked_first[0]), now), PathRecords::Answer::taken);
  EXPECT_EQ(records.find(first, now).record, (rdma::PathRecord{5, 4, 0xffff}));
  EXPECT_EQ(records.deadline(), never);
  EXPECT_TRUE(questions().empty());
}

TEST_F(PathRecordsTest, AQueryIsRepeatedAndAnyOfItsAnswersCounts) {
  records.find(first, now);
  const auto one = questions();
  now = 20 * millisecond - 1;
  EXPECT_TRUE(questions().empty());
  now = 20 * millisecond;
  const auto two = questions();
  ASSERT_EQ(two.size(), 1u);
  EXPECT_EQ(two[0].transaction, one[0].transaction);
  EXPECT_EQ(records.on_answer(0, answer_to(one[0]), now), PathRecords::Answer::taken);
  EXPECT_EQ(records.on_answer(0, answer_to(two[0]), now), PathRecords::Answer::late);
}

TEST_F(PathRecordsTest, OnlyWhatWasAskedIsAnswered) {
  records.find(first, now);
  const auto question = questions().at(0);
  auto answer = answer_to(question);
  EXPECT_EQ(records.on_answer(1, answer, now), PathRecords::Answer::late);
  answer.transaction ^= 1;
  EXPECT_EQ(records.on_answer(0, answer, now), PathRecords::Answer::late);
  answer = answer_to(question);
  answer.destination_lid = 11;
  EXPECT_EQ(records.on_answer(0, answer, now), PathRecords::Answer::malformed);
  EXPECT_FALSE(records.find(first, now).settled);
}

TEST_F(PathRecordsTest, ARefusalIsAnAnswer) {
  records.find(first, now);
  EXPECT_EQ(records.on_answer(0, {questions().at(0).transaction, 0x0300, 0, 0, {}}, now),
            PathRecords::Answer::taken);
  expect_settled_without(first);
  EXPECT_TRUE(questions().empty());
}

TEST_F(PathRecordsTest, NobodyWaitsLongForASilentAdministrator) {
  records.find(first, now);
  records.find(other_rail, now);
  const auto both = questions();
  ASSERT_EQ(both.size(), 2u);
  EXPECT_FALSE(pass(patience - 1));
  EXPECT_EQ(asked, 6u);  // four each in all
  EXPECT_EQ(records.on_answer(1, answer_to(both[1]), now), PathRecords::Answer::taken);
  records.find(second_path, now);  // begun late, and given up with the first
  EXPECT_TRUE(pass(patience));
  EXPECT_TRUE(records.silent(0));
  EXPECT_FALSE(records.silent(1));
  expect_settled_without(first);
  expect_settled_without(second_path);
  EXPECT_EQ(records.deadline(), never);
}

TEST_F(PathRecordsTest, ASilentAdministratorIsAskedAgainNowAndThen) {
  records.find(first, now);
  questions();
  pass(patience);
  ASSERT_TRUE(records.silent(0));
  asked = 0;
  // Whoever looks does not wait.
  while (now < 100 * second) {
    expect_settled_without(first);
    expect_settled_without(second_path);
    pass(now + 10 * millisecond);
  }
  EXPECT_GE(asked, 5u * 4u);
  EXPECT_LE(asked, 8u * 4u);
  pass(now + 100 * second);
  expect_settled_without(first);
  const auto question = questions().at(0);
  EXPECT_EQ(records.on_answer(0, answer_to(question), now), PathRecords::Answer::taken);
  EXPECT_FALSE(records.silent(0));
  EXPECT_TRUE(records.find(first, now).record.has_value());
  EXPECT_FALSE(records.find(second_path, now).settled);  // worth waiting for again
}

TEST_F(PathRecordsTest, OneQueryWithoutAnswerIsNoSilence) {
  records.find(first, now);
  records.find(second_path, now);
  const auto both = questions();
  records.on_answer(0, answer_to(both[1]), ++now);
  EXPECT_TRUE(pass(patience));
  EXPECT_FALSE(records.silent(0));
  expect_settled_without(first);
}

TEST_F(PathRecordsTest, FewAreAskedAtATime) {
  for (std::uint16_t lid = 1; lid <= 100; ++lid) records.find({0, 1, lid}, now);
  records.find(other_rail, now);
  auto open = questions();
  EXPECT_EQ(open.size(), PathRecords::most_asked + 1);
  EXPECT_EQ(open.back().ends, other_rail);
  std::size_t answered = 0;
  while (!open.empty()) {
    for (const auto& question : open) {
      EXPECT_EQ(records.on_answer(question.ends.rail, answer_to(question), now), PathRecords::Answer::taken);
      ++answered;
    }
    open = questions();
  }
  EXPECT_EQ(answered, 101u);
  EXPECT_EQ(records.deadline(), never);
}

TEST_F(PathRecordsTest, WhatIsForgottenIsAskedAnew) {
  records.find(first, now);
  const auto before = questions().at(0);
  records.on_answer(0, answer_to(before), now);
  records.find(second_path, now);
  const auto open = questions().at(0);
  records.find({0, 1, 12}, now);
  records.forget(0);
  EXPECT_TRUE(questions().empty());
  EXPECT_EQ(records.on_answer(0, answer_to(open), now), PathRecords::Answer::late);
  EXPECT_FALSE(records.find(first, now).settled);
  const auto after = questions().at(0);
  EXPECT_NE(after.transaction, before.transaction);
  EXPECT_EQ(records.on_answer(0, answer_to(after, 3), now), PathRecords::Answer::taken);
  EXPECT_EQ(records.find(first, now).record->service_level, 3);
}

TEST_F(PathRecordsTest, WhereNobodyCanBeAskedNobodyWaits) {
  records.find(first, now);
  records.find(other_rail, now);
  questions();
  records.on_not_offered(0);
  expect_settled_without(first);
  expect_settled_without(second_path);
  EXPECT_FALSE(records.find(other_rail, now).settled);
}

TEST(PathKnobs, AreRead) {
  using Kind = ServiceLevelChoice::Kind;
  EXPECT_EQ(parse_service_level("auto").value().kind, Kind::automatic);
  EXPECT_EQ(parse_service_level("ask").value().kind, Kind::ask);
  EXPECT_EQ(parse_service_level("15").value().kind, Kind::fixed);
  EXPECT_EQ(parse_service_level("15").value().level, 15);
  for (const char* const bad : {"", "16", "-1", "3x", "asked"}) EXPECT_FALSE(parse_service_level(bad)) << bad;
  EXPECT_EQ(parse_partition("default").value(), 0);
  EXPECT_EQ(parse_partition("0x8001").value(), 0x8001);
  EXPECT_EQ(parse_partition("7fff").value(), 0x7fff);
  for (const char* const bad : {"", "0", "0x8000", "0x10001", "0x80g1", "no"})
    EXPECT_FALSE(parse_partition(bad)) << bad;
}

}  // namespace
}  // namespace hawser
