// Reliable connections without faults of the network: operations, order, errors of the programs at both ends.
#include <gtest/gtest.h>

#include "fabric/fabric_fixture.h"

namespace hawser::fabric::test {
namespace {

class Reliable : public testing::TestWithParam<int> {
 protected:
  Bed bed{star(2), speeds()[static_cast<std::size_t>(GetParam())]};
};
INSTANTIATE_TEST_SUITE_P(Speeds, Reliable, testing::Values(0, 1, 2));

TEST_P(Reliable, SendCarriesBytesAndImmediate) {
  Pair pair(bed);
  pair.a.fill(0, 100000, 1);
  const auto r1 = pair.b.receive(*pair.qb, 200000, 100000);
  const auto r2 = pair.b.receive(*pair.qb, 500000, 10);
  const auto s1 = pair.a.send(*pair.qa, Opcode::send, 0, 100000);
  const auto s2 = pair.a.send(*pair.qa, Opcode::send_with_immediate, 0, 0);
  EXPECT_EQ(pair.a.status(s1), CompletionStatus::success);
  EXPECT_EQ(pair.a.status(s2), CompletionStatus::success);
  EXPECT_EQ(pair.b.completion(r1).byte_length, 100000u);
  EXPECT_EQ(pair.b.completion(r1).flags, 0u);
  EXPECT_TRUE(pair.b.same(200000, pair.a, 0, 100000));
  EXPECT_EQ(pair.b.completion(r2).byte_length, 0u);
  EXPECT_EQ(pair.b.completion(r2).immediate, 0x1234u);
  EXPECT_EQ(pair.b.completion(r2).flags, completion_with_immediate);
  EXPECT_EQ(pair.b.completion(r2).opcode, CompletionOpcode::receive);
  EXPECT_EQ(pair.b.completion(r2).source_qp, pair.qa->number());
}

TEST_P(Reliable, WriteAndReadMoveBytesWithoutTheOtherProgram) {
  Pair pair(bed);
  pair.a.fill(0, 300000, 2);
  EXPECT_EQ(pair.a.status(pair.a.send(*pair.qa, Opcode::rdma_write, 0, 300000, &pair.b, 5)),
            CompletionStatus::success);
  EXPECT_TRUE(pair.b.same(5, pair.a, 0, 300000));
  const auto read = pair.a.send(*pair.qa, Opcode::rdma_read, 400000, 300000, &pair.b, 5);
  EXPECT_EQ(pair.a.status(read), CompletionStatus::success);
  EXPECT_EQ(pair.a.completion(read).opcode, CompletionOpcode::rdma_read);
  EXPECT_EQ(pair.a.completion(read).byte_length, 300000u);
  EXPECT_TRUE(pair.a.same(400000, pair.b, 5, 300000));
  pair.b.collect();
  EXPECT_TRUE(pair.b.completions.empty());
  const auto r = pair.b.receive(*pair.qb, 0, 0);
  pair.a.send(*pair.qa, Opcode::rdma_write_with_immediate, 0, 5000, &pair.b, 400000);
  EXPECT_EQ(pair.b.completion(r).opcode, CompletionOpcode::receive_rdma_with_immediate);
  EXPECT_EQ(pair.b.completion(r).byte_length, 5000u);
  EXPECT_TRUE(pair.b.same(400000, pair.a, 0, 5000));
}

TEST_P(Reliable, AtomicsActOnceAndReturnTheOldValue) {
  Pair pair(bed);
  std::uint64_t value = 40;
  std::memcpy(pair.b.at(64), &value, 8);
  Segment segment{reinterpret_cast<std::uintptr_t>(pair.a.at(8)), 8, pair.a.region->key};
  SendRequest request{
      .segments = &segment, .segment_count = 1, .opcode = Opcode::fetch_and_add, .flags = send_signaled};
  request.remote_address = reinterpret_cast<std::uintptr_t>(pair.b.at(64));
  request.rkey = pair.b.region->key;
  request.compare_add = 2;
  EXPECT_EQ(pair.a.status(pair.a.post(*pair.qa, request)), CompletionStatus::success);
  std::memcpy(&value, pair.a.at(8), 8);
  EXPECT_EQ(value, 40u);
  request.opcode = Opcode::compare_and_swap;
  request.compare_add = 42;
  request.swap = 7;
  const auto id = pair.a.post(*pair.qa, request);
  EXPECT_EQ(pair.a.completion(id).opcode, CompletionOpcode::compare_and_swap);
  std::memcpy(&value, pair.a.at(8), 8);
  EXPECT_EQ(value, 42u);
  std::memcpy(&value, pair.b.at(64), 8);
  EXPECT_EQ(value, 7u);
  pair.a.status(pair.a.post(*pair.qa, request));  // does not match now
  std::memcpy(&value, pair.b.at(64), 8);
  EXPECT_EQ(value, 7u);
}

TEST_P(Reliable, GatherScatterAndInline) {
  Pair pair(bed);
  pair.a.fill(0, 10000, 3);
  const auto address = [](Client& c, std::size_t o) { return reinterpret_cast<std::uintptr_t>(c.at(o)); };
  const Segment gather[] = {
      {address(pair.a, 0), 3000, pair.a.region->key},   {address(pair.a, 5000), 0, pair.a.region->key},
      {address(pair.a, 6000), 1, pair.a.region->key},   {address(pair.a, 7000), 2999, pair.a.region->key},
      {address(pair.a, 3000), 100, pair.a.region->key}, {address(pair.a, 3200), 100, pair.a.region->key}};
  const Segment scatter[] = {{address(pair.b, 0), 1, pair.b.region->key},
                             {address(pair.b, 100), 9000, pair.b.region->key}};
  EXPECT_TRUE(pair.qb->post_receive({1000, scatter, 2}).ok());
  pair.a.post(*pair.qa,
              {.segments = gather, .segment_count = 6, .opcode = Opcode::send, .flags = send_signaled});
  EXPECT_EQ(pair.b.completion(1000).byte_length, 6200u);
  EXPECT_TRUE(pair.b.same(0, pair.a, 0, 1));
  EXPECT_TRUE(pair.b.same(100, pair.a, 1, 2999));
  EXPECT_TRUE(pair.b.same(3099, pair.a, 6000, 1));
  EXPECT_TRUE(pair.b.same(3100, pair.a, 7000, 2999));
  EXPECT_TRUE(pair.b.same(6199, pair.a, 3200, 100));
  char text[] = "inline data may be changed at once";
  const auto r = pair.b.receive(*pair.qb, 20000, 100);
  pair.a.post(
      *pair.qa,
      {.inline_data = text, .inline_length = sizeof text, .opcode = Opcode::send, .flags = send_inline});
  text[0] = 'X';
  EXPECT_EQ(pair.b.completion(r).byte_length, sizeof text);
  EXPECT_EQ(std::memcmp(pair.b.at(20000), "inline", 6), 0);
}

TEST_P(Reliable, UnsignaledRequestsAreSilentAndOrderHolds) {
  Pair pair(bed);
  for (int i = 0; i < 50; ++i) {
    pair.b.receive(*pair.qb, 100000u + 10u * static_cast<unsigned>(i), 10);
    pair.a.memory[static_cast<std::size_t>(i)] = static_cast<std::byte>(i);
    pair.a.send(*pair.qa, Opcode::send, static_cast<unsigned>(i), 1, nullptr, 0,
                i == 49 ? std::uint32_t{send_signaled} : 0);
  }
  EXPECT_EQ(pair.a.status(50), CompletionStatus::success);
  EXPECT_EQ(pair.a.completions.size(), 1u);
  pair.b.collect();
  EXPECT_EQ(pair.b.completions.size(), 50u);
  for (int i = 0; i < 50; ++i)
    EXPECT_EQ(pair.b.memory[100000u + 10u * static_cast<unsigned>(i)], static_cast<std::byte>(i));
}

TEST_P(Reliable, FenceWaitsForReads) {
  Pair pair(bed);
  pair.b.fill(0, 50000, 4);
  pair.a.send(*pair.qa, Opcode::rdma_read, 0, 50000, &pair.b, 0);
  // Sends back what the read has brought.
  const auto w =
      pair.a.send(*pair.qa, Opcode::rdma_write, 0, 50000, &pair.b, 100000, send_signaled | send_fence);
  EXPECT_EQ(pair.a.status(w), CompletionStatus::success);
  EXPECT_TRUE(pair.b.same(100000, pair.b, 0, 50000));
}

TEST_P(Reliable, MoreReadsThanTheDepthTakeTurns) {
  Pair pair(bed, QpType::rc, {.depth = 2});
  pair.b.fill(0, 200000, 5);
  std::vector<std::uint64_t> reads;
  for (unsigned i = 0; i < 20; ++i)
    reads.push_back(pair.a.send(*pair.qa, Opcode::rdma_read, i * 10000, 10000, &pair.b, i * 10000));
  for (const auto id : reads) EXPECT_EQ(pair.a.status(id), CompletionStatus::success);
  EXPECT_TRUE(pair.a.same(0, pair.b, 0, 200000));
}

TEST_P(Reliable, ReceiverNotReadyIsRetried) {
  Pair pair(bed);
  pair.a.fill(0, 5000, 6);
  const auto s = pair.a.send(*pair.qa, Opcode::send, 0, 5000);
  bed.run_for(3 * millisecond);
  EXPECT_FALSE(pair.a.completed(s));
  const auto r = pair.b.receive(*pair.qb, 0, 5000);
  EXPECT_EQ(pair.a.status(s), CompletionStatus::success);
  EXPECT_EQ(pair.b.completion(r).byte_length, 5000u);
  EXPECT_TRUE(pair.b.same(0, pair.a, 0, 5000));
}

TEST_P(Reliable, ReceiverNotReadyForGoodFails) {
  Pair pair(bed, QpType::rc, {.rnr_retries = 3, .rnr_timer = 14});  // 1.28 ms
  const auto s = pair.a.send(*pair.qa, Opcode::send, 0, 10);
  EXPECT_EQ(pair.a.status(s), CompletionStatus::receiver_not_ready_retry_exceeded_error);
  EXPECT_NEAR(static_cast<double>(pair.a.completion_time(s)), 3 * 1.28e6, 0.1e6);
  EXPECT_EQ(pair.qa->state(), QpState::err);
}

TEST_P(Reliable, WrongKeysAndBoundsAreRefused) {
  struct Case {
    Opcode opcode;
    std::uint64_t offset;
    bool bad_key;
  };
  const Case cases[] = {{Opcode::rdma_write, 0, true},
                        {Opcode::rdma_write, (1 << 20) - 99, false},
                        {Opcode::rdma_read, 0, true},
                        {Opcode::rdma_read, (1 << 20) - 99, false}};
  for (const Case& each : cases) {
    Pair pair(bed);
    const std::vector<std::byte> before = pair.b.memory;
    Segment segment{reinterpret_cast<std::uintptr_t>(pair.a.at(0)), 100, pair.a.region->key};
    SendRequest request{
        .segments = &segment, .segment_count = 1, .opcode = each.opcode, .flags = send_signaled};
    request.remote_address = reinterpret_cast<std::uintptr_t>(pair.b.at(0)) + each.offset;
    request.rkey = pair.b.region->key + (each.bad_key ? 1 : 0);
    EXPECT_EQ(pair.a.status(pair.a.post(*pair.qa, request)), CompletionStatus::remote_access_error);
    EXPECT_EQ(pair.qb->state(), QpState::err);
    EXPECT_EQ(pair.b.count(AsyncEventType::qp_access_error), 1);
    EXPECT_EQ(pair.b.memory, before);
  }
}

TEST_P(Reliable, RightsThatAreMissingAreRefused) {
  Pair pair(bed, QpType::rc, {.access = access_local_write | access_remote_read});
  EXPECT_EQ(pair.a.status(pair.a.send(*pair.qa, Opcode::rdma_read, 0, 10, &pair.b)),
            CompletionStatus::success);
  const auto w = pair.a.send(*pair.qa, Opcode::rdma_write, 0, 10, &pair.b);
  const auto next = pair.a.send(*pair.qa, Opcode::rdma_write, 0, 10, &pair.b);
  EXPECT_EQ(pair.a.status(w), CompletionStatus::remote_access_error);
  EXPECT_EQ(pair.a.status(next), CompletionStatus::flush_error);
}

TEST_P(Reliable, LocalFaultsAreReportedInOrder) {
  Pair pair(bed);
  const auto good = pair.a.send(*pair.qa, Opcode::rdma_write, 0, 100000, &pair.b);
  Segment segment{reinterpret_cast<std::uintptr_t>(pair.a.at(0)), 100, pair.a.region->key ^ 1};
  const auto bad = pair.a.post(*pair.qa, {.segments = &segment, .segment_count = 1, .opcode = Opcode::send});
  const auto after = pair.a.send(*pair.qa, Opcode::rdma_write, 0, 10, &pair.b);
  EXPECT_EQ(pair.a.status(good), CompletionStatus::success);
  EXPECT_EQ(pair.a.status(bad), CompletionStatus::local_protection_error);
  EXPECT_EQ(pair.a.status(after), CompletionStatus::flush_error);
}

TEST_P(Reliable, AMessageLongerThanTheReceiveIsAnErrorAtBothEnds) {
  Pair pair(bed);
  const auto r = pair.b.receive(*pair.qb, 0, 5000);
  const auto r2 = pair.b.receive(*pair.qb, 0, 5000);
  const auto s = pair.a.send(*pair.qa, Opcode::send, 0, 6000);
  EXPECT_EQ(pair.a.status(s), CompletionStatus::remote_invalid_request_error);
  EXPECT_EQ(pair.b.status(r), CompletionStatus::local_length_error);
  EXPECT_EQ(pair.b.status(r2), CompletionStatus::flush_error);
  EXPECT_EQ(pair.qb->state(), QpState::err);
}

TEST_P(Reliable, AReceiveWithABadKeyFailsBothEnds) {
  Pair pair(bed);
  Segment segment{reinterpret_cast<std::uintptr_t>(pair.b.at(0)), 100, pair.b.region->key ^ 1};
  EXPECT_TRUE(pair.qb->post_receive({999, &segment, 1}).ok());
  EXPECT_EQ(pair.a.status(pair.a.send(*pair.qa, Opcode::send, 0, 50)),
            CompletionStatus::remote_operation_error);
  EXPECT_EQ(pair.b.status(999), CompletionStatus::local_protection_error);
}

TEST_P(Reliable, DeregisteredMemoryIsOutOfReach) {
  Pair pair(bed);
  MemoryRegion* extra = nullptr;
  const auto address = reinterpret_cast<std::uintptr_t>(pair.b.at(0));
  ASSERT_TRUE(pair.b.context->register_memory(*pair.b.domain, address, 100, address, 7, &extra).ok());
  const std::uint32_t key = extra->key;
  ASSERT_TRUE(pair.b.context->deregister_memory(*extra).ok());
  Segment segment{reinterpret_cast<std::uintptr_t>(pair.a.at(0)), 10, pair.a.region->key};
  SendRequest request{
      .segments = &segment, .segment_count = 1, .opcode = Opcode::rdma_write, .flags = send_signaled};
  request.remote_address = address;
  request.rkey = key;
  EXPECT_EQ(pair.a.status(pair.a.post(*pair.qa, request)), CompletionStatus::remote_access_error);
}

TEST_P(Reliable, WhatIsReadKeepsItsBytesWhenTheirMemoryIsTakenBack) {
  Pair pair(bed);
  pair.b.fill(0, 1000, 1);
  pair.a.fill(5000, 1000, 1);
  const auto read = pair.a.send(*pair.qa, Opcode::rdma_read, 0, 1000, &pair.b);
  bed.run_for(3 * microsecond);  // the answer is on its way
  ASSERT_TRUE(pair.b.context->deregister_memory(*pair.b.region).ok());
  pair.b.fill(0, 1000, 2);
  EXPECT_EQ(pair.a.status(read), CompletionStatus::success);
  EXPECT_TRUE(pair.a.same(0, pair.a, 5000, 1000));
}

TEST_P(Reliable, TheReadDepthOfTheOtherEndIsChecked) {
  Pair pair(bed);
  QueuePair& qa = pair.a.create();
  QueuePair& qb = pair.b.create();
  to_rts(qa, qb, {.depth = 4});
  to_rts(qb, qa, {.depth = 0});
  EXPECT_EQ(pair.a.status(pair.a.send(qa, Opcode::rdma_read, 0, 10, &pair.b)),
            CompletionStatus::remote_invalid_request_error);
  EXPECT_EQ(pair.b.count(AsyncEventType::qp_request_error), 1);
  QueuePair& qc = pair.a.create();
  QueuePair& qd = pair.b.create();
  connect(qc, qd, {.depth = 0});
  EXPECT_EQ(pair.a.status(pair.a.send(qc, Opcode::rdma_read, 0, 10, &pair.b)),
            CompletionStatus::local_qp_operation_error);
}

TEST_P(Reliable, SharedReceiveQueueServesManyAndWarnsOnce) {
  Client server(bed, bed.adapter("n1/hw0"));
  Client client(bed, bed.adapter("n0/hw0"));
  SharedReceiveQueue* srq = nullptr;
  ASSERT_TRUE(server.context->create_shared_receive_queue(*server.domain, 64, 2, 0, &srq).ok());
  std::vector<std::uint64_t> receives;
  for (unsigned i = 0; i < 20; ++i) receives.push_back(server.receive(*srq, i * 100, 100));
  ASSERT_TRUE(server.context->set_limit(*srq, 15).ok());
  for (int i = 0; i < 4; ++i) connect(client.create(), server.create(QpType::rc, srq));
  for (int i = 0; i < 20; ++i)
    client.send(*client.queue_pairs[static_cast<std::size_t>(i % 4)], Opcode::send, 0, 100);
  for (const auto r : receives) EXPECT_EQ(server.status(r), CompletionStatus::success);
  EXPECT_EQ(server.count(AsyncEventType::srq_limit_reached), 1);
  EXPECT_EQ(server.queue_pairs[0]->post_receive({}).error, EINVAL);
  EXPECT_EQ(server.context->destroy_shared_receive_queue(srq).error, EBUSY);
}

TEST_P(Reliable, AnOverflowingCompletionQueueIsLost) {
  Client a(bed, bed.adapter("n0/hw0"), 1 << 16, 8);
  Client b(bed, bed.adapter("n1/hw0"));
  connect(a.create(), b.create());
  for (int i = 0; i < 20; ++i) a.send(*a.queue_pairs[0], Opcode::rdma_write, 0, 8, &b);
  bed.run();
  EXPECT_EQ(a.count(AsyncEventType::cq_error), 1);
  EXPECT_EQ(a.count(AsyncEventType::qp_fatal), 1);
  EXPECT_EQ(a.queue_pairs[0]->state(), QpState::err);
  a.collect();
  EXPECT_EQ(a.completions.size(), 8u);
}

TEST_P(Reliable, SolicitedEventsWakeAndOthersDoNot) {
  Pair pair(bed);
  int woken = 0;
  pair.b.ring->notify = [&] { ++woken; };
  for (int i = 0; i < 4; ++i) pair.b.receive(*pair.qb, 0, 10);
  pair.b.ring->arm(true);
  pair.a.status(pair.a.send(*pair.qa, Opcode::send, 0, 1));
  EXPECT_EQ(woken, 0);
  pair.a.status(pair.a.send(*pair.qa, Opcode::send, 0, 1, nullptr, 0, send_signaled | send_solicited));
  EXPECT_EQ(woken, 1);
  pair.a.status(pair.a.send(*pair.qa, Opcode::send, 0, 1, nullptr, 0, send_signaled | send_solicited));
  EXPECT_EQ(woken, 1);  // not armed again
  pair.b.ring->arm(false);
  pair.a.status(pair.a.send(*pair.qa, Opcode::send, 0, 1));
  EXPECT_EQ(woken, 2);
}

TEST_P(Reliable, AnAdapterTalksToItself) {
  Client a(bed, bed.adapter("n0/hw0"));
  Client b(bed, bed.adapter("n0/hw0"));
  connect(a.create(), b.create());
  a.fill(0, 50000, 9);
  EXPECT_EQ(a.status(a.send(*a.queue_pairs[0], Opcode::rdma_write, 0, 50000, &b)), CompletionStatus::success);
  EXPECT_TRUE(b.same(0, a, 0, 50000));
}

TEST_P(Reliable, CommunicationEstablishedIsToldInRtr) {
  Pair pair(bed);
  QueuePair& qa = pair.a.create();
  QueuePair& qb = pair.b.create();
  to_rts(qa, qb, {});
  QpAttributes a = qa.attributes();
  a.state = QpState::init;
  ASSERT_TRUE(qb.modify(a, mask_state | mask_pkey_index | mask_port | mask_access_flags).ok());
  a.state = QpState::rtr;
  a.path = path_to(qa, 1, 0);
  a.destination_qp = qa.number();
  a.rq_psn = qa.attributes().sq_psn;
  ASSERT_TRUE(qb.modify(a, mask_state | mask_path | mask_path_mtu | mask_destination_qp | mask_rq_psn |
                               mask_max_dest_rd_atomic | mask_min_rnr_timer)
                  .ok());
  EXPECT_EQ(pair.a.status(pair.a.send(qa, Opcode::rdma_write, 0, 10, &pair.b)), CompletionStatus::success);
  EXPECT_EQ(pair.b.count(AsyncEventType::communication_established), 1);
}

}  // namespace
}  // namespace hawser::fabric::test
