// Which of the receives that are shown a message takes, while receives come and go.
#include "channel/posted_buffers.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <thread>

#include "channel/channel_test_support.h"

namespace hawser {
namespace {

using namespace channel_test;

struct TwoProcesses {
  TwoProcesses()
      : segment(
            SharedSegment::map(make_memory_file("hawser-test").value().get(), SegmentLayout::plan(2, Knobs{}))
                .value()) {}

  int show(std::uint32_t transfer) {
    in_ring.tell_looked_at(false);
    return own.show(0, transfer, TransportHeader{}, TransportHeader{}, {memory, sizeof(memory)});
  }
  bool send() { return out_ring.try_send_inline(TransportHeader{}, memory, 8); }
  // As a sender decides whether message `number` may be written: the receive that it took.
  std::optional<PostedBuffers::Found> claim(std::uint32_t number) {
    auto found = theirs.find(1, TransportHeader{});
    if (!found.has_value()) return std::nullopt;
    if (out_ring.looked_at() != number - 1 || !theirs.unchanged(*found) || !theirs.claim(*found, number))
      return std::nullopt;
    return found;
  }

  SharedSegment segment;
  NeighbourWaker waker;
  std::byte memory[64] = {};
  RingSender out_ring{segment, 0, 1, waker, true};
  RingReceiver in_ring{segment, 0, 1};
  PostedBuffers theirs{segment, 0};  // of the process that sends
  PostedBuffers own{segment, 1};     // of the one that receives
};

TEST(PostedBuffers, AMessageTakesTheReceiveThatWasPostedFirst) {
  TwoProcesses two;
  two.show(7);
  two.show(8);
  ASSERT_TRUE(two.send());
  const auto taken = two.claim(1);
  ASSERT_TRUE(taken.has_value());
  EXPECT_EQ(7U, taken->transfer);
  EXPECT_TRUE(two.theirs.finish(*taken));
  EXPECT_EQ(PostedBuffers::Met::finished, two.own.meet(taken->place, 1, two.in_ring));
}

TEST(PostedBuffers, WhatWasFoundBeforeAMeetingIsNotTaken) {
  TwoProcesses two;
  const int first = two.show(7);
  two.show(8);
  ASSERT_TRUE(two.send());
  ASSERT_TRUE(two.send());
  const auto found = two.theirs.find(1, TransportHeader{});
  ASSERT_TRUE(found.has_value());
  EXPECT_TRUE(two.theirs.unchanged(*found));
  EXPECT_EQ(PostedBuffers::Met::unclaimed, two.own.meet(first, 1, two.in_ring));
  EXPECT_FALSE(two.theirs.unchanged(*found));
  EXPECT_EQ(1U, two.out_ring.looked_at());
  const auto second = two.claim(2);
  ASSERT_TRUE(second.has_value());
  EXPECT_EQ(8U, second->transfer);
}

// The receiver stopped in the middle of a change.
TEST(PostedBuffers, NothingIsFoundWhileReceivesChange) {
  TwoProcesses two;
  two.show(7);
  std::atomic<std::uint64_t>& version = two.segment.block(1).posted_version;
  version.fetch_add(1);
  EXPECT_FALSE(two.theirs.find(1, TransportHeader{}).has_value());
  version.fetch_add(1);
  EXPECT_TRUE(two.theirs.find(1, TransportHeader{}).has_value());
}

// A sender that takes the wrong receive is `by_another` for the message that meets it.
TEST(PostedBuffers, TwoThreadsAgreeWhichReceiveAMessageTakes) {
  constexpr std::uint32_t most_messages = 12000;
  const auto enough = std::chrono::steady_clock::now() + std::chrono::seconds(2);
  TwoProcesses two;
  std::atomic<std::uint32_t> met = 0, claimed = 0, wrong = 0;
  std::atomic<bool> over = false;
  // It looks at two messages at once, so that it sees the second while the receiver meets the first.
  std::thread sender([&] {
    std::uint32_t sent = 0;
    while (!over.load()) {
      const std::uint32_t before = met.load();
      while (sent < before + 2 && two.send()) ++sent;
      for (std::uint32_t number = std::max(before, claimed.load()) + 1; number <= sent; ++number) {
        const auto taken = two.claim(number);
        if (!taken.has_value()) continue;
        if (taken->transfer != number % 60) ++wrong;
        two.theirs.finish(*taken);
        claimed.store(number);
      }
      if (before % 8 == 0) std::this_thread::yield();
    }
  });
  int next = two.show(1);
  std::uint32_t number = 0;
  while (number < most_messages && (number < 64 || std::chrono::steady_clock::now() < enough)) {
    ++number;
    const int place = next;
    next = two.show((number + 1) % 60);
    while (two.in_ring.front() == nullptr) std::this_thread::yield();
    // Now and then the message is left to its sender.
    while (number % 64 == 0 && claimed.load() < number) std::this_thread::yield();
    if (two.own.meet(place, number, two.in_ring) == PostedBuffers::Met::by_another) ++wrong;
    two.in_ring.pop();
    two.in_ring.settle_credit();
    met.store(number);
  }
  over.store(true);
  sender.join();
  EXPECT_EQ(0U, wrong.load());
  EXPECT_GE(claimed.load(), number / 64 * 64);
}

}  // namespace
}  // namespace hawser
