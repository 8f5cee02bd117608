// What every transport owes to the rooms above (transport.h, remote_memory.h), as tests that run over any of
// them: instantiate TransportContract with a Job of two processes or more:
//
//   Transport& at(ProcessIndex)    the transport of one; it has the turn until the next call
//   void pass_time()               between two passes of everybody
//   static constexpr bool native   whether it does puts and gets natively
//   static constexpr bool native_atomics
#pragma once

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "channel/channel_test_support.h"
#include "channel/lane.h"
#include "channel/window_test_room.h"

namespace hawser::channel_test {

template <class Job>
class TransportContract : public ::testing::Test {
 public:
  TransportContract() {
    for (ProcessIndex i : {0, 1}) {
      const auto place = static_cast<std::size_t>(i);
      for (std::uint8_t id = 0; id < handler_ids; ++id) {
        rooms[place][id].channel = &job.at(i);
        lanes[place].set_handler(HandlerId{id}, &rooms[place][id]);
      }
    }
  }
  Recorder& room(ProcessIndex process, HandlerId id) {
    return rooms[static_cast<std::size_t>(process)][static_cast<std::size_t>(id)];
  }
  void turn() {
    for (ProcessIndex i : {0, 1}) job.at(i).progress(lanes[static_cast<std::size_t>(i)], job.now());
    job.pass_time();
  }
  template <class Condition>
  void until(Condition condition) {
    for (int passes = 0; !condition(); ++passes) {
      ASSERT_LT(passes, 10'000'000);
      turn();
    }
  }

  Job job;
  std::array<Lane, 2> lanes;
  std::array<std::array<Recorder, handler_ids>, 2> rooms;
};
TYPED_TEST_SUITE_P(TransportContract);

inline TransportHeader header_of(std::uint8_t handler, std::uint8_t traffic, std::uint8_t salt) {
  TransportHeader header;
  header.handler = HandlerId{handler};
  header.traffic = TrafficClass{traffic};
  for (std::size_t i = 0; i < header.own.size(); ++i) header.own[i] = static_cast<std::byte>(salt * 19 + i);
  return header;
}
inline bool same(const TransportHeader& a, const TransportHeader& b) {
  return a.handler == b.handler && a.traffic == b.traffic && a.own == b.own;
}

TYPED_TEST_P(TransportContract, EveryHandlerGetsItsOwnMessagesInOrder) {
  const std::int64_t limit = this->job.at(0).eager_limit(1);
  ASSERT_GE(limit, 1024);
  std::array<std::vector<std::pair<TransportHeader, Bytes>>, handler_ids> sent;
  std::uint8_t salt = 0;
  for (const std::int64_t size : {std::int64_t{0}, std::int64_t{1}, std::int64_t{36}, std::int64_t{37},
                                  std::int64_t{1000}, std::min(limit, Transport::one_piece), limit})
    for (std::uint8_t handler = 0; handler < handler_ids; ++handler)
      for (std::uint8_t traffic = 0; traffic < traffic_classes; ++traffic) {
        const TransportHeader header = header_of(handler, traffic, ++salt);
        Bytes bytes = pattern(static_cast<std::size_t>(size), salt);
        this->until([&] { return this->job.at(0).try_send(1, header, whole(bytes)); });
        sent[handler].emplace_back(header, std::move(bytes));
      }
  for (std::uint8_t handler = 0; handler < handler_ids; ++handler) {
    const auto& got = this->room(1, HandlerId{handler}).messages;
    this->until([&] { return got.size() == sent[handler].size() && got.back()->whole; });
    for (std::size_t i = 0; i < got.size(); ++i) {
      EXPECT_EQ(got[i]->source, 0);
      EXPECT_TRUE(same(got[i]->header, sent[handler][i].first)) << i;
      EXPECT_TRUE(got[i]->bytes == sent[handler][i].second) << i;
    }
    EXPECT_TRUE(this->room(0, HandlerId{handler}).messages.empty());
  }
}

TYPED_TEST_P(TransportContract, OffersAreFetchedAsFarAsWanted) {
  int keys[100] = {};
  int next = 0;
  for (const std::int64_t size : {1, 5000, 300'000})
    for (const std::int64_t wanted : {std::int64_t{0}, size / 2, size})
      for (const bool in_pieces : {false, true}) {
        int* const key = &keys[next++];
        const TransportHeader header = header_of(static_cast<std::uint8_t>(HandlerId::window), 3, 5);
        EveryOther source(static_cast<std::size_t>(size));
        source.memory = pattern(source.memory.size(), static_cast<std::uint64_t>(next));
        Bytes packed = source.packed();
        Recorder& owner = this->room(0, HandlerId::window);
        Recorder& receiver = this->room(1, HandlerId::window);
        receiver.fetch_limit = wanted;
        const std::size_t before = receiver.messages.size();
        this->until([&] {
          return this->job.at(0).try_expose(1, header, in_pieces ? source.sequence() : whole(packed),
                                            owner.exposing(key));
        });
        this->until([&] {
          return receiver.messages.size() == before + 1 && receiver.messages.back()->whole &&
                 owner.exposed_done[key] > 0 && this->job.at(0).flushed() && this->job.at(1).flushed();
        });
        const auto& got = *receiver.messages.back();
        EXPECT_TRUE(same(got.header, header));
        EXPECT_EQ(owner.exposed_done[key], 1);
        ASSERT_EQ(static_cast<std::int64_t>(got.bytes.size()), wanted);
        EXPECT_TRUE(std::equal(got.bytes.begin(), got.bytes.end(), packed.begin()));
      }
  EXPECT_EQ(this->room(0, HandlerId::window).failures + this->room(1, HandlerId::window).failures, 0);
}

TYPED_TEST_P(TransportContract, HandlerThatNobodyHasIsBadInput) {
  Bytes bytes = pattern(40, 1);
  this->lanes[1].set_handler(HandlerId::collective, nullptr);
  for (const std::uint8_t handler : {std::uint8_t{200}, static_cast<std::uint8_t>(HandlerId::collective)}) {
    Lane lane;
    std::swap(lane, this->lanes[1]);
    this->until([&] { return this->job.at(0).try_send(1, header_of(handler, 0, 1), whole(bytes)); });
    this->until([&] { return !this->lanes[1].bad_packet().empty(); });
    EXPECT_THAT(this->lanes[1].bad_packet(),
                ::testing::StartsWith("rank 0 sent a message for handler " + std::to_string(handler)));
  }
  for (Recorder& room : this->rooms[1]) EXPECT_TRUE(room.messages.empty());
}

// The same program whether the transport does it or the room: what the capabilities are for.
TYPED_TEST_P(TransportContract, OneSidedOperationsNativelyOrByMessages) {
  using Op = AtomicOperation;
  std::vector<std::uint64_t> memory(1024, 0);
  const auto memory_bytes = static_cast<std::int64_t>(memory.size() * sizeof(memory[0]));
  const auto act = [&](ProcessIndex process) -> Transport& { return this->job.at(process); };
  WindowTestRoom origin(act, 0), owner(act, 1);
  this->lanes[0].set_handler(HandlerId::window, &origin);
  this->lanes[1].set_handler(HandlerId::window, &owner);
  const RemoteCapabilities can = remote_capabilities(this->job.at(0), 1);
  EXPECT_EQ(can.put, TypeParam::native);
  EXPECT_EQ(can.get, TypeParam::native);
  for (const Op each : {Op::add, Op::compare_and_swap})
    EXPECT_EQ(can.atomic(each), TypeParam::native_atomics);
  const WindowToken window = owner.open(reinterpret_cast<std::byte*>(memory.data()), memory_bytes);
  const auto settle = [&](const WindowTestRoom::Operation& operation) {
    this->until([&] {
      origin.send_waiting();
      owner.send_waiting();
      return operation.over;
    });
    EXPECT_EQ(operation.ends, 1);
  };

  Bytes put = pattern(999, 3);
  for (const std::int64_t offset : {std::int64_t{0}, std::int64_t{17}, memory_bytes - 999}) {
    settle(origin.put(1, {window, offset}, whole(put)));
    settle(origin.flush(1));
    EXPECT_EQ(std::memcmp(reinterpret_cast<std::byte*>(memory.data()) + offset, put.data(), put.size()), 0);
    Bytes got(put.size());
    settle(origin.get(1, {window, offset}, whole(got)));
    EXPECT_TRUE(got == put);
  }
  std::uint64_t expected = memory[5] = 40, before = 0;
  const auto atomic = [&](Op operation, std::uint64_t operand, std::uint64_t compared = 0) {
    settle(origin.atomic(1, {window, 40}, {operation, operand, compared}, before));
    EXPECT_EQ(before, expected);
    expected = memory[5];
  };
  atomic(Op::add, 2);
  EXPECT_EQ(memory[5], 42u);
  atomic(Op::compare_and_swap, 7, 41);
  EXPECT_EQ(memory[5], 42u);
  atomic(Op::compare_and_swap, 7, 42);
  EXPECT_EQ(memory[5], 7u);
  atomic(Op::bit_or, 8);
  atomic(Op::bit_and, 12);
  atomic(Op::bit_xor, 4);
  EXPECT_EQ(memory[5], 8u);
  atomic(Op::swap, 99);
  atomic(Op::fetch, 0);
  EXPECT_EQ(memory[5], 99u);

  // What is outside of the window, or in none, is refused and touches nothing.
  const std::vector<std::uint64_t> untouched = memory;
  WindowToken wrong = window;
  wrong.words[0] += 1000;
  for (const RemotePlace& place : {RemotePlace{window, memory_bytes - 998}, RemotePlace{window, -1},
                                   RemotePlace{window, INT64_MAX}, RemotePlace{wrong, 0}}) {
    const auto& refused = origin.put(1, place, whole(put));
    settle(refused);
    EXPECT_TRUE(refused.failed);
  }
  EXPECT_TRUE(memory == untouched);
  owner.close(window);
  this->until([&] { return this->job.at(0).flushed() && this->job.at(1).flushed(); });
}

REGISTER_TYPED_TEST_SUITE_P(TransportContract, EveryHandlerGetsItsOwnMessagesInOrder,
                            OffersAreFetchedAsFarAsWanted, HandlerThatNobodyHasIsBadInput,
                            OneSidedOperationsNativelyOrByMessages);

}  // namespace hawser::channel_test
