// Unreliable datagrams, multicast, and unreliable connections.
#include <gtest/gtest.h>

#include "fabric/fabric_fixture.h"

namespace hawser::fabric::test {
namespace {

constexpr std::uint32_t key = 0x11111111;

void ready(QueuePair& qp, std::uint32_t qkey = key) {
  QpAttributes a;
  a.state = QpState::init;
  a.port = 1;
  a.qkey = qkey;
  ASSERT_TRUE(qp.modify(a, mask_state | mask_pkey_index | mask_port | mask_qkey).ok());
  a.state = QpState::rtr;
  ASSERT_TRUE(qp.modify(a, mask_state).ok());
  a.state = QpState::rts;
  ASSERT_TRUE(qp.modify(a, mask_state | mask_sq_psn).ok());
}

std::uint64_t send_to(Client& from, QueuePair& qp, const AddressVector& path, std::uint32_t remote_qp,
                      std::uint32_t bytes, std::uint32_t qkey = key) {
  const Segment segment{reinterpret_cast<std::uintptr_t>(from.at(0)), bytes, from.region->key};
  SendRequest request{.segments = &segment,
                      .segment_count = 1,
                      .opcode = Opcode::send_with_immediate,
                      .flags = send_signaled};
  request.immediate = 99;
  request.path = &path;
  request.remote_qp = remote_qp;
  request.remote_qkey = qkey;
  return from.post(qp, request);
}

class Datagrams : public testing::TestWithParam<int> {
 protected:
  Bed bed{star(3), speeds()[static_cast<std::size_t>(GetParam())]};
  Client a{bed, bed.adapter("n0/hw0")}, b{bed, bed.adapter("n1/hw0")}, c{bed, bed.adapter("n2/hw0")};
};
INSTANTIATE_TEST_SUITE_P(Speeds, Datagrams, testing::Values(0, 1, 2));

TEST_P(Datagrams, ArriveBehindRoomForTheRouteHeader) {
  QueuePair &qa = a.create(QpType::ud), &qb = b.create(QpType::ud);
  ready(qa);
  ready(qb);
  a.fill(0, 1000, 1);
  const auto r = b.receive(qb, 0, 1040);
  const auto s = send_to(a, qa, path_to(qb, 1, 0), qb.number(), 1000);
  EXPECT_EQ(a.status(s), CompletionStatus::success);
  const Completion received = b.completion(r);
  EXPECT_EQ(received.byte_length, 1040u);
  EXPECT_EQ(received.source_qp, qa.number());
  EXPECT_EQ(received.source_lid, a.adapter.port(1).lid());
  EXPECT_EQ(received.immediate, 99u);
  EXPECT_EQ(received.flags, completion_with_immediate);
  EXPECT_TRUE(b.same(40, a, 0, 1000));
}

TEST_P(Datagrams, AGlobalPathBringsTheHeader) {
  QueuePair &qa = a.create(QpType::ud), &qb = b.create(QpType::ud);
  ready(qa);
  ready(qb);
  const auto r = b.receive(qb, 0, 100);
  AddressVector path = path_to(qb, 1, 0);
  path.is_global = true;
  path.destination_gid = b.adapter.port(1).gids()[0].gid;
  path.hop_limit = 5;
  send_to(a, qa, path, qb.number(), 10);
  EXPECT_EQ(b.completion(r).flags, completion_with_immediate | completion_grh);
  EXPECT_EQ(std::memcmp(b.at(8), a.adapter.port(1).gids()[0].gid.data(), 16), 0);
  EXPECT_EQ(std::memcmp(b.at(24), b.adapter.port(1).gids()[0].gid.data(), 16), 0);
  EXPECT_EQ(static_cast<int>(b.memory[0] >> 4), 6);
}

TEST_P(Datagrams, AreDroppedInSilence) {
  QueuePair &qa = a.create(QpType::ud), &qb = b.create(QpType::ud);
  ready(qa);
  ready(qb);
  EXPECT_EQ(a.status(send_to(a, qa, path_to(qb, 1, 0), qb.number(), 10)),
            CompletionStatus::success);  // no receive
  bed.run();
  const auto r = b.receive(qb, 0, 100);
  EXPECT_EQ(a.status(send_to(a, qa, path_to(qb, 1, 0), qb.number(), 10, key + 1)),
            CompletionStatus::success);                                                           // Q_Key
  EXPECT_EQ(a.status(send_to(a, qa, path_to(qb, 1, 0), 0x1234, 10)), CompletionStatus::success);  // nobody
  bed.run();
  EXPECT_FALSE(b.completed(r));
  EXPECT_EQ(qb.state(), QpState::rts);
}

TEST_P(Datagrams, TheBufferMayChangeAfterTheCompletion) {
  QueuePair &qa = a.create(QpType::ud), &qb = b.create(QpType::ud);
  ready(qa);
  ready(qb);
  const auto r = b.receive(qb, 0, 100);
  a.memory[0] = std::byte{1};
  EXPECT_EQ(a.status(send_to(a, qa, path_to(qb, 1, 0), qb.number(), 1)), CompletionStatus::success);
  a.memory[0] = std::byte{2};
  b.status(r);
  EXPECT_EQ(b.memory[40], std::byte{1});
}

TEST_P(Datagrams, LongerThanTheMtuIsALocalErrorAndSqeIsLeftByModify) {
  QueuePair &qa = a.create(QpType::ud), &qb = b.create(QpType::ud);
  ready(qa);
  ready(qb);
  const auto s = send_to(a, qa, path_to(qb, 1, 0), qb.number(), 4097);
  const auto after = send_to(a, qa, path_to(qb, 1, 0), qb.number(), 10);
  EXPECT_EQ(a.status(s), CompletionStatus::local_length_error);
  EXPECT_EQ(a.status(after), CompletionStatus::flush_error);
  EXPECT_EQ(qa.state(), QpState::sqe);
  QpAttributes back;
  back.state = QpState::rts;
  EXPECT_TRUE(qa.modify(back, mask_state).ok());
  EXPECT_EQ(a.status(send_to(a, qa, path_to(qb, 1, 0), qb.number(), 10)), CompletionStatus::success);
}

TEST_P(Datagrams, MulticastReachesAllAttachedButTheSender) {
  Client a2(bed, bed.adapter("n0/hw0"));
  Gid group{};
  group[0] = 0xff;
  group[15] = 7;
  constexpr Lid lid = 0xc007;
  std::vector<std::pair<Client*, std::uint64_t>> receives;
  for (Client* client : {&a, &a2, &b, &c}) {
    QueuePair& qp = client->create(QpType::ud);
    ready(qp);
    ASSERT_TRUE(qp.attach_multicast(group, lid).ok());
    EXPECT_EQ(client->context->destroy_queue_pair(&qp).error, EBUSY);
    receives.emplace_back(client, client->receive(qp, 0, 200));
  }
  ASSERT_TRUE(c.queue_pairs[0]->detach_multicast(group, lid).ok());
  EXPECT_EQ(c.queue_pairs[0]->detach_multicast(group, lid).error, EINVAL);
  a.fill(0, 100, 3);
  AddressVector path;
  path.destination_lid = lid;
  path.is_global = true;
  path.destination_gid = group;
  EXPECT_EQ(a.status(send_to(a, *a.queue_pairs[0], path, 0xffffff, 100)), CompletionStatus::success);
  bed.run();
  EXPECT_FALSE(a.completed(receives[0].second));
  EXPECT_TRUE(a2.completed(receives[1].second));
  EXPECT_TRUE(b.completed(receives[2].second));
  EXPECT_FALSE(c.completed(receives[3].second));
  EXPECT_TRUE(b.same(40, a, 0, 100));
  EXPECT_TRUE(a2.same(40, a, 0, 100));
}

class Unreliable : public testing::TestWithParam<int> {
 protected:
  Bed bed{star(2), speeds()[static_cast<std::size_t>(GetParam())]};
};
INSTANTIATE_TEST_SUITE_P(Speeds, Unreliable, testing::Values(0, 1, 2));

TEST_P(Unreliable, ConnectionsCarryLongMessages) {
  Pair pair(bed, QpType::uc);
  pair.a.fill(0, 100000, 1);
  const auto r = pair.b.receive(*pair.qb, 0, 100000);
  const auto s = pair.a.send(*pair.qa, Opcode::send, 0, 100000);
  EXPECT_EQ(pair.a.status(s), CompletionStatus::success);
  EXPECT_EQ(pair.b.completion(r).byte_length, 100000u);
  EXPECT_TRUE(pair.b.same(0, pair.a, 0, 100000));
  pair.a.status(pair.a.send(*pair.qa, Opcode::rdma_write, 0, 100000, &pair.b, 200000));
  bed.run();
  EXPECT_TRUE(pair.b.same(200000, pair.a, 0, 100000));
  SendRequest read{.opcode = Opcode::rdma_read};
  EXPECT_EQ(pair.qa->post_send(read).error, EINVAL);
}

TEST_P(Unreliable, LostMessagesAreSkippedWhole) {
  Pair pair(bed, QpType::uc);
  for (int i = 0; i < 200; ++i) pair.b.receive(*pair.qb, 0, 8000);
  bed.inject("link n0/hw0 loss 0.1");
  for (int i = 0; i < 200; ++i)
    EXPECT_EQ(pair.a.status(pair.a.send(*pair.qa, Opcode::send, 0, 8000)), CompletionStatus::success);
  bed.run();
  pair.b.collect();
  EXPECT_GT(pair.b.completions.size(), 50u);
  EXPECT_LT(pair.b.completions.size(), 199u);
  for (const auto& [id, completion] : pair.b.completions) {
    EXPECT_EQ(completion.status, CompletionStatus::success);
    EXPECT_EQ(completion.byte_length, 8000u);
  }
  // Nothing posted is not an error either.
  Pair silent(bed, QpType::uc);
  EXPECT_EQ(silent.a.status(silent.a.send(*silent.qa, Opcode::send, 0, 10)), CompletionStatus::success);
  bed.run();
  EXPECT_EQ(silent.qb->state(), QpState::rts);
}

}  // namespace
}  // namespace hawser::fabric::test
