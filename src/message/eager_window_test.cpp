#include "message/eager_window.h"

#include <gtest/gtest.h>

#include <deque>
#include <vector>

#include "base/random.h"
#include "message/test_network.h"

namespace hawser {
namespace {

// One sender and one receiver, with packets under way in both directions.
class EagerWindowTest : public ::testing::TestWithParam<std::uint64_t> {
 protected:
  static constexpr std::int64_t share = 10'000;
  static constexpr std::int64_t largest = 1'500;

  void send() {
    if (window_.mark_due()) {
      to_receiver_.push_back({true, window_.position()});
      window_.note_mark();
    }
    if (!window_.open()) return;
    const auto bytes = 1 + static_cast<std::int64_t>(random_.below(largest));
    to_receiver_.push_back({false, bytes});
    window_.charge(bytes);
    sent_ += bytes;
  }
  void arrive() {
    if (to_receiver_.empty()) return;
    const auto [mark, value] = to_receiver_.front();
    to_receiver_.pop_front();
    if (mark) {
      memory_.on_mark(value);
      to_sender_.push_back(memory_.report());
    } else if (random_.chance(unexpected_)) {
      memory_.hold(value);
      messages_.push_back(value);
      most_ = std::max(most_, memory_.held());
    }
  }
  void receive() {
    if (messages_.empty()) return;
    const std::int64_t bytes = messages_.front();
    messages_.pop_front();
    if (memory_.let_go(bytes, share)) to_sender_.push_back(memory_.report());
  }
  void hear() {
    if (to_sender_.empty()) return;
    EXPECT_TRUE(window_.on_report(to_sender_.front()));
    to_sender_.pop_front();
  }
  void deliver_all() {
    while (!to_receiver_.empty()) arrive();
    while (!to_sender_.empty()) hear();
  }

  Random random_{GetParam()};
  double unexpected_ = random_.uniform();
  EagerWindow window_{share};
  UnexpectedMemory memory_;
  std::deque<std::pair<bool, std::int64_t>> to_receiver_;
  std::deque<UnexpectedReport> to_sender_;
  std::deque<std::int64_t> messages_;
  std::int64_t sent_ = 0;
  std::int64_t most_ = 0;
};

TEST_P(EagerWindowTest, HoldsNoMoreThanTheShareAndOneMessage) {
  const double receives = random_.uniform();
  for (int step = 0; step < 20'000; ++step) {
    const double dice = random_.uniform();
    if (dice < 0.4)
      send();
    else if (dice < 0.7)
      arrive();
    else if (dice < 0.85)
      hear();
    else if (random_.chance(receives))
      receive();
    ASSERT_LE(memory_.held(), share + largest);
  }
  // Once everything was received the window opens, whatever was under way.
  deliver_all();
  while (!messages_.empty()) receive();
  send();
  deliver_all();
  while (!messages_.empty()) receive();
  deliver_all();
  if (window_.mark_due()) window_.note_mark();
  EXPECT_TRUE(window_.open());
}

TEST_P(EagerWindowTest, AReceiverThatReceivesNothingIsSentTheShare) {
  unexpected_ = 1;
  for (int step = 0; step < 1'000; ++step) {
    send();
    deliver_all();
  }
  EXPECT_GE(memory_.held(), share * 3 / 4);
  EXPECT_LE(memory_.held(), share + largest);
  EXPECT_FALSE(window_.open());
}

TEST_P(EagerWindowTest, MessagesThatAreExpectedNeverCloseIt) {
  unexpected_ = 0;
  for (int step = 0; step < 1'000; ++step) {
    send();
    deliver_all();
    ASSERT_TRUE(window_.open() || window_.mark_due());
  }
  EXPECT_GT(sent_, 10 * share);
}

INSTANTIATE_TEST_SUITE_P(Seeds, EagerWindowTest, ::testing::Range<std::uint64_t>(1, 11));

TEST(EagerWindow, RefusesReportsThatCannotBe) {
  EagerWindow window(1'000);
  window.charge(400);
  window.note_mark();
  EXPECT_FALSE(window.on_report({500, 0}));  // beyond what was marked
  EXPECT_FALSE(window.on_report({-1, 0}));
  EXPECT_FALSE(window.on_report({400, -1}));
  EXPECT_TRUE(window.on_report({400, 0}));
  EXPECT_TRUE(window.on_report({400, INT64_MAX}));
  EXPECT_FALSE(window.open());
}

TEST(EagerWindow, ReportsCrossTheHeaderWhole) {
  const UnexpectedReport report{0x0123456789abcdef, 0x7edcba9876543210};
  const MessageHeader header = report.header(MessageHeader::Kind::report);
  EXPECT_EQ(header.kind, MessageHeader::Kind::report);
  EXPECT_EQ(UnexpectedReport::from(header).position, report.position);
  EXPECT_EQ(UnexpectedReport::from(header).held, report.held);
}

TEST(UnexpectedBounds, EveryoneGetsEnoughToWorkWith) {
  EXPECT_EQ(UnexpectedBounds::of(64 << 20, 2).share, 64 << 20);
  EXPECT_EQ(UnexpectedBounds::of(64 << 20, 65).share, 1 << 20);
  EXPECT_EQ(UnexpectedBounds::of(64 << 20, 100'000).share, 64 << 10);
  EXPECT_EQ(UnexpectedBounds::of(64 << 20, 1).own, 64 << 20);
}

// Through sends and receives: far more than the bound is sent before anything is received.
class UnexpectedFloodTest : public ::testing::TestWithParam<int> {
 protected:
  static constexpr std::int64_t bound = 20'000;
  static constexpr int count = 1'000;
  static constexpr std::uint32_t context = 4;

  std::vector<std::byte> data_of(int number) const {
    std::vector<std::byte> data(static_cast<std::size_t>(GetParam()));
    for (std::size_t i = 0; i < data.size(); ++i)
      data[i] = static_cast<std::byte>(number + static_cast<int>(i));
    return data;
  }
  static ByteSequence bytes_of(std::vector<std::byte>& data) {
    return {data.data(), static_cast<std::int64_t>(data.size()), nullptr};
  }
  void flood(int from, int to) {
    for (int i = 0; i < count; ++i) {
      data_.push_back(data_of(i));
      sends_.push_back(
          &network_[from].isend(SendMode::standard, {to, context, from, 7}, bytes_of(data_.back())));
      if (i % 3 == 0) network_.settle();
    }
    network_.settle();
  }
  int completed() const {
    return static_cast<int>(
        std::count_if(sends_.begin(), sends_.end(), [](auto* send) { return send->complete; }));
  }
  void receive_all(int at, std::int32_t source) {
    for (int i = 0; i < count; ++i) {
      std::vector<std::byte> into(static_cast<std::size_t>(GetParam()));
      MessageRequest& receive = network_[at].ireceive({context, source, any_tag}, bytes_of(into));
      network_.settle();
      ASSERT_TRUE(receive.complete);
      ASSERT_EQ(into, data_of(i)) << "message " << i;
      network_[at].release(receive);
    }
    EXPECT_EQ(completed(), count);
    EXPECT_EQ(network_.exposed(), 0u);
  }

  TestNetwork network_{2, 3, {.refusal = 0, .delivery = 1, .bounds = {bound, bound}}};
  std::deque<std::vector<std::byte>> data_;
  std::vector<MessageRequest*> sends_;
};

TEST_P(UnexpectedFloodTest, SendersKeepWhatDoesNotFit) {
  flood(0, 1);
  const std::int64_t each = memory_of_unexpected(GetParam());
  EXPECT_LE(completed() * each, bound + each);
  EXPECT_GE(completed() * each, bound / 2);
  EXPECT_LE(network_[1].counters().most_unexpected_bytes, bound + each);
  receive_all(1, any_source);
  // Memory is free again, and so is the sender.
  data_.push_back(data_of(0));
  EXPECT_TRUE(network_[0].isend(SendMode::standard, {1, context, 0, 7}, bytes_of(data_.back())).complete);
}

TEST_P(UnexpectedFloodTest, AProcessKeepsItsOwnMessagesToo) {
  flood(0, 0);
  EXPECT_LE(completed() * memory_of_unexpected(GetParam()), bound);
  receive_all(0, 0);
}

TEST_P(UnexpectedFloodTest, WhatIsKeptCanBeCancelledAndProbed) {
  flood(0, 1);
  const int kept = completed();
  for (int i = kept; i < count; ++i) network_[0].cancel(*sends_[static_cast<std::size_t>(i)]);
  network_.settle();
  EXPECT_EQ(completed(), count);
  for (int i = kept; i < count; ++i)
    EXPECT_TRUE(sends_[static_cast<std::size_t>(i)]->status.cancelled) << "message " << i;
  for (int i = 0; i < kept; ++i) {
    Status status;
    Message* message = network_[1].matched_probe({context, 0, 7}, status);
    ASSERT_NE(message, nullptr);
    std::vector<std::byte> into(static_cast<std::size_t>(GetParam()));
    MessageRequest& receive = network_[1].take_receive({context, 0, 7}, bytes_of(into));
    network_[1].start_matched_receive(*message, receive);
    network_.settle();
    ASSERT_TRUE(receive.complete);
    EXPECT_EQ(into, data_of(i));
  }
  Status status;
  EXPECT_FALSE(network_[1].probe({context, any_source, any_tag}, status));
}

INSTANTIATE_TEST_SUITE_P(Sizes, UnexpectedFloodTest, ::testing::Values(8, 64, 100, 256));

}  // namespace
}  // namespace hawser
