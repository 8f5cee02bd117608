#include "message/point_to_point.h"

#include <gtest/gtest.h>

#include <array>
#include <utility>
#include <vector>

#include "message/joint_request.h"
#include "message/test_network.h"

namespace hawser {
namespace {

constexpr std::uint32_t context = 4;

ByteSequence bytes_of(std::vector<std::byte>& data) {
  return {data.data(), static_cast<std::int64_t>(data.size()), nullptr};
}

std::vector<std::byte> pattern(std::size_t size, int salt) {
  std::vector<std::byte> data(size);
  for (std::size_t i = 0; i < size; ++i)
    data[i] = static_cast<std::byte>(i * 7 + static_cast<std::size_t>(salt));
  return data;
}

class PairTest : public ::testing::TestWithParam<std::size_t> {
 protected:
  TestNetwork network_{2, 7, {.refusal = 0, .delivery = 1}};
  PointToPoint& sender_ = network_[0];
  PointToPoint& receiver_ = network_[1];
  const SendTarget target_{1, context, 0, 5};
  const ReceivePattern pattern_{context, 0, 5};
};

TEST_P(PairTest, StandardAndSynchronousBothOrders) {
  for (const SendMode mode : {SendMode::standard, SendMode::synchronous}) {
    for (const bool receive_first : {true, false}) {
      auto data = pattern(GetParam(), 3);
      std::vector<std::byte> into(GetParam() + 10);
      MessageRequest* receive = nullptr;
      if (receive_first) receive = &receiver_.ireceive(pattern_, bytes_of(into));
      MessageRequest& send = sender_.isend(mode, target_, bytes_of(data));
      network_.progress(1);
      if (!receive_first) {
        network_.settle();
        EXPECT_EQ(send.complete, mode == SendMode::standard && GetParam() <= 256);
        Status status;
        EXPECT_TRUE(receiver_.probe({context, any_source, any_tag}, status));
        EXPECT_EQ(status.bytes, static_cast<std::int64_t>(GetParam()));
        EXPECT_EQ(status.tag, 5);
        receive = &receiver_.ireceive(pattern_, bytes_of(into));
      }
      network_.settle();
      ASSERT_TRUE(send.complete && receive->complete);
      EXPECT_EQ(receive->status.bytes, static_cast<std::int64_t>(GetParam()));
      EXPECT_EQ(receive->status.source, 0);
      EXPECT_EQ(receive->status.error, ErrorClass::success);
      into.resize(GetParam());
      EXPECT_EQ(into, data);
      sender_.release(send);
      receiver_.release(*receive);
    }
  }
}

// The receiver's program revoked the communicator before or after the message came; the sender's has not
// heard of it.
TEST_P(PairTest, SynchronousIntoAClosedContextFails) {
  for (const bool closed_first : {true, false}) {
    const std::uint32_t closed = context + (closed_first ? 1 : 2);
    auto data = pattern(GetParam(), 3);
    if (closed_first) receiver_.close_context(closed);
    MessageRequest& send = sender_.isend(SendMode::synchronous, {1, closed, 0, 5}, bytes_of(data));
    MessageRequest& standard = sender_.isend(SendMode::standard, {1, closed, 0, 5}, bytes_of(data));
    network_.settle();
    if (!closed_first) {
      EXPECT_FALSE(send.complete);
      receiver_.close_context(closed);
      network_.settle();
    }
    ASSERT_TRUE(send.complete && standard.complete);
    EXPECT_EQ(send.status.error, ErrorClass::revoked);
    // Its buffer is free, which is all that the end of a standard send says.
    EXPECT_EQ(standard.status.error, ErrorClass::success);
    EXPECT_EQ(network_.exposed(), 0u);
    EXPECT_EQ(network_.lane(0).bad_packet() + network_.lane(1).bad_packet(), "");
    sender_.release(send);
    sender_.release(standard);
  }
}

// Of something that can be too long.
class TruncationTest : public PairTest {};

TEST_P(TruncationTest, HarmsNothingElse) {
  auto data = pattern(GetParam(), 3);
  std::vector<std::byte> small(GetParam() / 2);
  std::vector<std::byte> large(GetParam());
  for (const bool receive_first : {true, false}) {
    MessageRequest& first = sender_.isend(SendMode::standard, target_, bytes_of(data));
    MessageRequest& second = sender_.isend(SendMode::standard, target_, bytes_of(data));
    if (!receive_first) network_.settle();
    MessageRequest& truncated = receiver_.ireceive(pattern_, bytes_of(small));
    MessageRequest& whole = receiver_.ireceive(pattern_, bytes_of(large));
    network_.settle();
    ASSERT_TRUE(first.complete && second.complete && truncated.complete && whole.complete);
    EXPECT_EQ(truncated.status.error, ErrorClass::truncate);
    EXPECT_EQ(truncated.status.bytes, static_cast<std::int64_t>(small.size()));
    EXPECT_EQ(truncated.message_size, static_cast<std::int64_t>(data.size()));
    EXPECT_EQ(whole.status.error, ErrorClass::success);
    EXPECT_EQ(large, data);
    EXPECT_TRUE(std::equal(small.begin(), small.end(), data.begin()));
    sender_.release(first);
    sender_.release(second);
    receiver_.release(truncated);
    receiver_.release(whole);
  }
  EXPECT_EQ(network_.exposed(), 0u);
}

// The short way of a receive takes what an ordinary one would take, or nothing.
TEST_P(PairTest, StoredMessagesAreReceivedWithoutARequest) {
  auto first = pattern(GetParam(), 3), second = pattern(GetParam(), 4);
  const auto capacity = static_cast<std::int64_t>(GetParam());
  std::vector<std::byte> into(GetParam());
  Status status;
  const auto receive = [&](const ReceivePattern& wanted, std::int64_t fits) {
    return receiver_.receive_stored(wanted, into.data(), fits, &status);
  };
  EXPECT_FALSE(receive(pattern_, capacity)) << "nothing came";
  for (const SendMode mode : {SendMode::standard, SendMode::synchronous}) {
    const bool whole = mode == SendMode::standard && GetParam() <= 256;
    MessageRequest& one = sender_.isend(mode, target_, bytes_of(first));
    MessageRequest& other = sender_.isend(mode, target_, bytes_of(second));
    network_.settle();
    EXPECT_FALSE(receive({context, 0, 6}, capacity)) << "another tag";
    EXPECT_FALSE(receive({context + 1, 0, 5}, capacity)) << "another communicator";
    EXPECT_FALSE(receive(pattern_, capacity - 1)) << "does not fit";
    for (const auto& [wanted, data] :
         {std::pair(pattern_, &first), std::pair(ReceivePattern{context, any_source, any_tag}, &second)}) {
      if (whole) {
        ASSERT_TRUE(receive(wanted, capacity));
      } else {
        EXPECT_FALSE(receive(wanted, capacity)) << "its sender has to be told, or asked for it";
        MessageRequest& request = receiver_.ireceive(wanted, bytes_of(into));
        network_.settle();
        ASSERT_TRUE(request.complete);
        status = request.status;
        receiver_.release(request);
      }
      EXPECT_EQ(into, *data);
      EXPECT_EQ(status.source, 0);
      EXPECT_EQ(status.tag, 5);
      EXPECT_EQ(status.bytes, capacity);
      EXPECT_EQ(status.error, ErrorClass::success);
    }
    EXPECT_FALSE(receive(pattern_, capacity)) << "all were taken";
    sender_.release(one);
    sender_.release(other);
  }
}

TEST_P(PairTest, MatchedProbeTakesTheMessageOut) {
  auto data = pattern(GetParam(), 3);
  std::vector<std::byte> one(GetParam());
  std::vector<std::byte> two(GetParam());
  MessageRequest& first = sender_.isend(SendMode::standard, target_, bytes_of(data));
  auto other = pattern(GetParam(), 4);
  MessageRequest& second = sender_.isend(SendMode::standard, target_, bytes_of(other));
  network_.settle();
  Status status;
  Message* message = receiver_.matched_probe(pattern_, status);
  ASSERT_NE(message, nullptr);
  MessageRequest& later = receiver_.ireceive(pattern_, bytes_of(two));
  MessageRequest& matched = receiver_.take_receive(pattern_, bytes_of(one));
  receiver_.start_matched_receive(*message, matched);
  network_.settle();
  ASSERT_TRUE(first.complete && second.complete && later.complete && matched.complete);
  EXPECT_EQ(one, data);
  EXPECT_EQ(two, other);
  EXPECT_EQ(receiver_.matched_probe(pattern_, status), nullptr);
}

TEST_P(PairTest, SelfMessages) {
  const SendTarget self{0, context, 0, 9};
  for (const SendMode mode : {SendMode::standard, SendMode::synchronous}) {
    auto data = pattern(GetParam(), 1);
    std::vector<std::byte> into(GetParam());
    MessageRequest& send = sender_.isend(mode, self, bytes_of(data));
    EXPECT_EQ(send.complete, mode == SendMode::standard && GetParam() <= 64 * 1024);
    Status status;
    Message* message = sender_.matched_probe({context, any_source, 9}, status);
    ASSERT_NE(message, nullptr);
    MessageRequest& receive = sender_.take_receive({context, 0, 9}, bytes_of(into));
    sender_.start_matched_receive(*message, receive);
    ASSERT_TRUE(send.complete && receive.complete);
    EXPECT_EQ(into, data);
    sender_.release(send);
    sender_.release(receive);
    into.assign(GetParam(), std::byte{0});
    MessageRequest& early = sender_.ireceive({context, any_source, any_tag}, bytes_of(into));
    MessageRequest& late = sender_.isend(mode, self, bytes_of(data));
    ASSERT_TRUE(early.complete && late.complete);
    EXPECT_EQ(into, data);
    sender_.release(early);
    sender_.release(late);
  }
}

TEST_P(PairTest, CancelledSendIsTakenBackOrDelivered) {
  auto data = pattern(GetParam(), 3);
  for (const bool received_before : {false, true}) {
    std::vector<std::byte> into(GetParam());
    MessageRequest& send = sender_.isend(SendMode::synchronous, target_, bytes_of(data));
    network_.settle();
    MessageRequest* receive = nullptr;
    if (received_before) receive = &receiver_.ireceive(pattern_, bytes_of(into));
    sender_.cancel(send);
    network_.settle();
    ASSERT_TRUE(send.complete);
    EXPECT_EQ(send.status.cancelled, !received_before);
    if (receive != nullptr) {
      EXPECT_TRUE(receive->complete);
      receiver_.release(*receive);
    }
    Status status;
    EXPECT_FALSE(receiver_.probe(pattern_, status));
    sender_.release(send);
  }
  EXPECT_EQ(network_.exposed(), 0u);
}

INSTANTIATE_TEST_SUITE_P(Sizes, TruncationTest,
                         ::testing::Values(1, 8, 16, 17, 63, 64, 256, 257, 5000, 100000));
INSTANTIATE_TEST_SUITE_P(Sizes, PairTest, ::testing::Values(0, 1, 8, 16, 17, 63, 64, 256, 257, 5000, 100000));

TEST(PointToPoint, CancelledReceiveLeavesTheMessage) {
  TestNetwork network(2, 1, {.refusal = 0, .delivery = 1});
  std::vector<std::byte> into(8), data(8);
  MessageRequest& receive = network[1].ireceive({context, any_source, any_tag}, bytes_of(into));
  network[1].cancel(receive);
  EXPECT_TRUE(receive.complete && receive.status.cancelled);
  network[0].isend(SendMode::standard, {1, context, 0, 1}, bytes_of(data));
  network.settle();
  Status status;
  EXPECT_TRUE(network[1].probe({context, 0, 1}, status));
}

TEST(PointToPoint, FreedWhileActive) {
  TestNetwork network(2, 1, {.refusal = 0, .delivery = 1});
  auto data = pattern(5000, 2);
  std::vector<std::byte> into(5000);
  MessageRequest& receive = network[1].ireceive({context, 0, 1}, bytes_of(into));
  MessageRequest& send = network[0].isend(SendMode::standard, {1, context, 0, 1}, bytes_of(data));
  network[1].release(receive);
  network[0].release(send);
  network.settle();
  EXPECT_EQ(into, data);
  // Both are at rest again, and the next one taken is one of them.
  EXPECT_EQ(&network[1].ireceive({context, 0, 1}, bytes_of(into)), &receive);
}

TEST(PointToPoint, PersistentBothWays) {
  TestNetwork network(2, 1, {.refusal = 0, .delivery = 1});
  for (const std::size_t size : {std::size_t{8}, std::size_t{1000}}) {
    std::vector<std::byte> data(size), into(size);
    MessageRequest& send = network[0].prepare_send(SendMode::synchronous, {1, context, 0, 1}, bytes_of(data));
    MessageRequest& receive = network[1].prepare_receive({context, any_source, any_tag}, bytes_of(into));
    for (int round = 0; round < 5; ++round) {
      const auto values = pattern(size, round);
      std::copy(values.begin(), values.end(), data.begin());
      ASSERT_TRUE(receive.start());
      ASSERT_TRUE(send.start());
      network.settle();
      ASSERT_TRUE(send.complete && receive.complete);
      EXPECT_EQ(into, data);
      EXPECT_EQ(receive.status.tag, 1);
      send.active = receive.active = false;
    }
    network[0].release(send);
    network[1].release(receive);
  }
}

TEST(PointToPoint, BufferedSendsAccount) {
  TestNetwork network(2, 1, {.refusal = 1, .delivery = 0});  // nothing leaves
  PointToPoint& sender = network[0];
  auto data = pattern(100, 1);
  const SendTarget target{1, context, 0, 1};
  EXPECT_EQ(error_class_of(sender.send_buffered(target, bytes_of(data), nullptr).error()),
            ErrorClass::buffer);
  std::vector<std::byte> buffer(3 * (100 + static_cast<std::size_t>(bsend_overhead)));
  SendBuffer& attached = sender.process_buffer();
  ASSERT_TRUE(attached.attach(buffer.data(), static_cast<std::int64_t>(buffer.size())));
  for (int i = 0; i < 3; ++i) {
    data = pattern(100, i);
    ASSERT_TRUE(sender.send_buffered(target, bytes_of(data), nullptr));
  }
  EXPECT_EQ(error_class_of(sender.send_buffered(target, bytes_of(data), nullptr).error()),
            ErrorClass::buffer);
  MessageRequest& flush = sender.iflush(attached);
  EXPECT_FALSE(flush.complete);
  network.settle();
  EXPECT_TRUE(flush.complete);
  sender.release(flush);
  std::vector<std::byte> into(100);
  for (int i = 0; i < 3; ++i) {
    MessageRequest& receive = network[1].ireceive({context, 0, 1}, bytes_of(into));
    ASSERT_TRUE(receive.complete);
    EXPECT_EQ(into, pattern(100, i));
    network[1].release(receive);
  }
  void* base = nullptr;
  std::int64_t size = 0;
  attached.detach(base, size);
  EXPECT_EQ(base, buffer.data());
  EXPECT_EQ(size, static_cast<std::int64_t>(buffer.size()));
}

TEST(PointToPoint, ReleasedContextDropsItsMessages) {
  TestNetwork network(2, 1, {.refusal = 0, .delivery = 1});
  auto small = pattern(8, 1), large = pattern(5000, 1);
  network[0].isend(SendMode::standard, {1, context, 0, 1}, bytes_of(small));
  MessageRequest& send = network[0].isend(SendMode::standard, {1, context, 0, 1}, bytes_of(large));
  network.settle();
  EXPECT_FALSE(send.complete);
  network[1].release_context(context);
  network.settle();
  EXPECT_TRUE(send.complete);
  Status status;
  EXPECT_FALSE(network[1].probe({context, any_source, any_tag}, status));
}

// A process that comes later: what is queued or under way then is untouched, and messages go both ways.
TEST(PointToPoint, ProcessesThatComeLater) {
  TestNetwork network(2, 1, {.eager_limit = 256, .refusal = 1, .delivery = 0.5});
  std::vector<std::byte> queued(100, std::byte{1}), large(5000, std::byte{2}), into(100), into_large(5000);
  const auto sequence = [](std::vector<std::byte>& bytes) {
    return ByteSequence{bytes.data(), static_cast<std::int64_t>(bytes.size()), nullptr};
  };
  // No channel has room: these wait in the queue of process 1.
  MessageRequest& first = network[0].isend(SendMode::standard, {1, context, 0, 1}, sequence(queued));
  MessageRequest& second = network[0].isend(SendMode::synchronous, {1, context, 0, 2}, sequence(large));
  EXPECT_FALSE(first.complete || second.complete);
  for (int added = 2; added < 40; ++added) network.add_process();
  MessageRequest& got_first = network[1].ireceive({context, 0, 1}, sequence(into));
  MessageRequest& got_second = network[1].ireceive({context, 0, 2}, sequence(into_large));
  network.settle();
  EXPECT_TRUE(first.complete && second.complete && got_first.complete && got_second.complete);
  EXPECT_TRUE(into == queued && into_large == large);
  for (const int late : {2, 17, 39}) {
    for (const auto& [from, to] : {std::pair(0, late), std::pair(late, 1), std::pair(late, 38)}) {
      std::vector<std::byte> sent(5000, static_cast<std::byte>(from + to)), received(5000);
      MessageRequest& send = network[from].isend(SendMode::standard, {to, context, from, 3}, sequence(sent));
      MessageRequest& receive = network[to].ireceive({context, any_source, 3}, sequence(received));
      network.settle();
      EXPECT_TRUE(send.complete && receive.complete && received == sent);
      EXPECT_EQ(receive.status.source, from);
    }
  }
}

}  // namespace
}  // namespace hawser
