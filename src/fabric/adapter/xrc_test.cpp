// XRC: one connection per pair of hosts, and every message names the shared receive queue it is for.
#include <gtest/gtest.h>

#include "fabric/fabric_fixture.h"

namespace hawser::fabric::test {
namespace {

constexpr std::uint32_t domain = 5;

class Xrc : public testing::TestWithParam<int> {
 protected:
  // Two processes on n1 receive, through a queue pair that the first of them owns; n0 sends.
  void SetUp() override {
    QueuePair::Configuration send{.type = QpType::xrc_send,
                                  .domain = sender.domain,
                                  .send_queue = sender.cq,
                                  .capabilities = {64, 0, 4, 0, 0}};
    ASSERT_TRUE(sender.context->create_queue_pair(send, &from).ok());
    QueuePair::Configuration receive{.type = QpType::xrc_recv, .xrc_domain = domain};
    ASSERT_TRUE(first.context->create_queue_pair(receive, &to).ok());
    connect(*from, *to, {.timeout = 10});
    srq1 = make_queue(first);
    srq2 = make_queue(second);
  }
  SharedReceiveQueue* make_queue(Client& client) {
    SharedReceiveQueue* queue = nullptr;
    EXPECT_TRUE(
        client.context->create_xrc_receive_queue(*client.domain, 64, 2, 0, domain, *client.cq, &queue).ok());
    return queue;
  }
  std::uint64_t send(Opcode opcode, std::uint32_t bytes, std::uint32_t srq, const Client* remote = nullptr) {
    const Segment segment{reinterpret_cast<std::uintptr_t>(sender.at(0)), bytes, sender.key};
    SendRequest request{.segments = &segment, .segment_count = 1, .opcode = opcode, .flags = send_signaled};
    request.remote_srq = srq;
    if (remote != nullptr) {
      request.remote_address = reinterpret_cast<std::uintptr_t>(remote->memory.data());
      request.rkey = remote->key;
    }
    return sender.post(*from, request);
  }

  Bed bed{star(2), speeds()[static_cast<std::size_t>(GetParam())]};
  Client sender{bed, bed.adapter("n0/hw0")}, first{bed, bed.adapter("n1/hw0")},
      second{bed, bed.adapter("n1/hw0")};
  QueuePair *from = nullptr, *to = nullptr;
  SharedReceiveQueue *srq1 = nullptr, *srq2 = nullptr;
};
INSTANTIATE_TEST_SUITE_P(Speeds, Xrc, testing::Values(0, 1, 2));

TEST_P(Xrc, MessagesGoToTheQueueTheyName) {
  sender.fill(0, 10000, 1);
  const auto r1 = first.receive(*srq1, 0, 10000);
  const auto r2 = second.receive(*srq2, 500, 10000);
  EXPECT_EQ(sender.status(send(Opcode::send, 9000, srq2->number)), CompletionStatus::success);
  EXPECT_EQ(second.completion(r2).byte_length, 9000u);
  EXPECT_EQ(second.completion(r2).qp_number, to->number());
  EXPECT_TRUE(second.same(500, sender, 0, 9000));
  EXPECT_FALSE(first.completed(r1));
  EXPECT_EQ(sender.status(send(Opcode::send, 100, srq1->number)), CompletionStatus::success);
  EXPECT_TRUE(first.same(0, sender, 0, 100));
}

TEST_P(Xrc, MemoryIsThatOfTheQueuesOwner) {
  sender.fill(0, 5000, 2);
  EXPECT_EQ(sender.status(send(Opcode::rdma_write, 5000, srq2->number, &second)), CompletionStatus::success);
  EXPECT_TRUE(second.same(0, sender, 0, 5000));
  EXPECT_EQ(sender.status(send(Opcode::rdma_read, 5000, srq1->number, &first)), CompletionStatus::success);
  EXPECT_TRUE(first.same(0, sender, 0, 5000));
  EXPECT_EQ(sender.status(send(Opcode::rdma_write, 10, srq1->number, &second)),
            CompletionStatus::remote_access_error);
}

TEST_P(Xrc, AQueueThatIsNotThereIsAnInvalidRequest) {
  EXPECT_EQ(sender.status(send(Opcode::send, 10, 999)), CompletionStatus::remote_invalid_request_error);
  EXPECT_EQ(to->state(), QpState::err);
  EXPECT_EQ(to->post_send({}).error, EINVAL);
  EXPECT_EQ(from->post_receive({}).error, EINVAL);
  EXPECT_EQ(second.context->destroy_completion_queue(second.cq).error, EBUSY);
  EXPECT_TRUE(second.context->destroy_shared_receive_queue(srq2).ok());
  EXPECT_TRUE(second.context->destroy_completion_queue(second.cq).ok());
}

TEST_P(Xrc, AQueueMayVanishInTheMiddleOfAMessage) {
  second.receive(*srq2, 0, 1 << 19);
  const auto s = send(Opcode::send, 1 << 19, srq2->number);
  bed.run_for(30 * microsecond);
  const bool done = sender.completed(s);
  EXPECT_TRUE(second.context->destroy_shared_receive_queue(srq2).ok());
  if (!done) {
    EXPECT_EQ(sender.status(s), CompletionStatus::remote_invalid_request_error);
  }
}

}  // namespace
}  // namespace hawser::fabric::test
