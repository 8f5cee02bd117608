// The verbs API over a fabric in this process, in virtual time: what programs see, without a daemon.
#include "provider/verbs_fixture.h"

namespace hawser::verbs {

Platform* turn = nullptr;

Platform& current_platform() { return *turn; }

namespace {

TEST_F(VerbsTest, DevicesHaveNamesAndPorts) {
  End end(*platforms_[1]);
  EXPECT_STREQ(ibv_get_device_name(end.context->device), "hw0");
  EXPECT_EQ(end.port.state, IBV_PORT_ACTIVE);
  EXPECT_NE(end.port.lid, 0);
  ibv_port_attr none;
  EXPECT_EQ(ibv_query_port(end.context, 2, &none), EINVAL);
}

TEST_F(VerbsTest, SendArrivesAndBothComplete) {
  End a(*platforms_[0]), b(*platforms_[1]);
  connect(a, b);
  EXPECT_EQ(b.receive(7, 100, 100), 0);
  EXPECT_EQ(a.send(8, "rope"), 0);
  settle();
  const auto received = b.poll(), sent = a.poll();
  ASSERT_TRUE(received && sent);
  EXPECT_EQ(received->wr_id, 7u);
  EXPECT_EQ(received->byte_len, 5u);
  EXPECT_EQ(received->qp_num, b.pair->qp_num);
  EXPECT_STREQ(b.memory + 100, "rope");
  EXPECT_EQ(sent->wr_id, 8u);
  EXPECT_EQ(sent->status, IBV_WC_SUCCESS);
  EXPECT_FALSE(a.poll() || b.poll());
}

TEST_F(VerbsTest, FullQueuesSayENOMEMAndEmptyAgain) {
  End a(*platforms_[0]), b(*platforms_[1]);
  connect(a, b);
  for (int i = 0; i < 4; ++i) EXPECT_EQ(b.receive(1, 0, 100), 0);
  EXPECT_EQ(b.receive(1, 0, 100), ENOMEM);
  for (int i = 0; i < 4; ++i) EXPECT_EQ(a.send(1, "x", i == 3 ? IBV_SEND_SIGNALED : 0), 0);
  EXPECT_EQ(a.send(1, "x"), ENOMEM);
  settle();
  EXPECT_TRUE(a.poll());
  EXPECT_FALSE(a.poll());
  for (int i = 0; i < 4; ++i) EXPECT_TRUE(b.poll());
  EXPECT_EQ(b.receive(1, 0, 100), 0);
  EXPECT_EQ(a.send(2, "y"), 0);
  settle();
  EXPECT_TRUE(a.poll() && b.poll());
}

TEST_F(VerbsTest, ChannelTellsOnceWhenArmed) {
  End a(*platforms_[0]), b(*platforms_[1]);
  connect(a, b);
  EXPECT_EQ(b.receive(1, 0, 100), 0);
  EXPECT_EQ(b.receive(2, 0, 100), 0);
  EXPECT_EQ(ibv_req_notify_cq(b.queue, 0), 0);
  EXPECT_EQ(a.send(1, "x"), 0);
  EXPECT_EQ(a.send(2, "y"), 0);
  settle();
  ibv_cq* queue = nullptr;
  void* owner = nullptr;
  ASSERT_EQ(ibv_get_cq_event(b.channel, &queue, &owner), 0);
  EXPECT_EQ(queue, b.queue);
  EXPECT_EQ(owner, &b);
  EXPECT_EQ(ibv_get_cq_event(b.channel, &queue, &owner), -1);
  EXPECT_EQ(errno, EAGAIN);
  ibv_ack_cq_events(b.queue, 1);
}

// As adapters do: a program that polls, arms and waits must not miss what came between the two.
TEST_F(VerbsTest, ArmingTellsOfWhatIsThereAlready) {
  End a(*platforms_[0]), b(*platforms_[1]);
  connect(a, b);
  EXPECT_EQ(b.receive(1, 0, 100), 0);
  EXPECT_EQ(a.send(1, "x"), 0);
  settle();
  ibv_cq* queue = nullptr;
  void* owner = nullptr;
  EXPECT_EQ(ibv_get_cq_event(b.channel, &queue, &owner), -1) << "nobody has armed it";
  EXPECT_EQ(ibv_req_notify_cq(b.queue, 1), 0);
  EXPECT_EQ(ibv_get_cq_event(b.channel, &queue, &owner), -1) << "the message was not solicited";
  EXPECT_EQ(ibv_req_notify_cq(b.queue, 0), 0);
  ASSERT_EQ(ibv_get_cq_event(b.channel, &queue, &owner), 0);
  EXPECT_EQ(queue, b.queue);
  EXPECT_TRUE(b.poll());
  EXPECT_EQ(ibv_req_notify_cq(b.queue, 0), 0);
  EXPECT_EQ(ibv_get_cq_event(b.channel, &queue, &owner), -1) << "there is nothing in it";
  ibv_ack_cq_events(b.queue, 1);
}

TEST_F(VerbsTest, ArmingAfterAnEventTellsOfNewCompletionsOnly) {
  End a(*platforms_[0]), b(*platforms_[1]);
  connect(a, b);
  for (int i = 0; i < 3; ++i) EXPECT_EQ(b.receive(1, 0, 100), 0);
  ibv_cq* queue = nullptr;
  void* owner = nullptr;
  EXPECT_EQ(ibv_req_notify_cq(b.queue, 0), 0);
  EXPECT_EQ(a.send(1, "x"), 0);
  settle();
  ASSERT_EQ(ibv_get_cq_event(b.channel, &queue, &owner), 0);
  EXPECT_EQ(ibv_req_notify_cq(b.queue, 0), 0);  // the one that was told of is not polled yet
  EXPECT_EQ(ibv_get_cq_event(b.channel, &queue, &owner), -1);
  EXPECT_EQ(a.send(2, "y"), 0);
  settle();
  ASSERT_EQ(ibv_get_cq_event(b.channel, &queue, &owner), 0);
  EXPECT_EQ(a.send(3, "z"), 0);
  settle();
  EXPECT_EQ(ibv_req_notify_cq(b.queue, 0), 0);  // the third came between
  ASSERT_EQ(ibv_get_cq_event(b.channel, &queue, &owner), 0);
  ibv_ack_cq_events(b.queue, 3);
}

TEST_F(VerbsTest, ErrorStateFlushesWhatWaitsInRings) {
  End a(*platforms_[0]), b(*platforms_[1]);
  connect(a, b);
  EXPECT_EQ(b.receive(1, 0, 100), 0);
  EXPECT_EQ(b.receive(2, 0, 100), 0);
  ibv_qp_attr attributes{};
  attributes.qp_state = IBV_QPS_ERR;
  EXPECT_EQ(ibv_modify_qp(b.pair, &attributes, IBV_QP_STATE), 0);
  EXPECT_EQ(b.receive(3, 0, 100), 0);  // flushed at once
  EXPECT_EQ(b.send(4, "x"), 0);
  settle();
  for (std::uint64_t id = 1; id <= 4; ++id) {
    const auto wc = b.poll();
    ASSERT_TRUE(wc) << id;
    EXPECT_EQ(wc->wr_id, id);
    EXPECT_EQ(wc->status, IBV_WC_WR_FLUSH_ERR);
  }
}

TEST_F(VerbsTest, LostLinkEndsInRetryExceeded) {
  End a(*platforms_[0]), b(*platforms_[1]);
  connect(a, b);
  EXPECT_TRUE(fabric_->inject("link n0/hw0 down"));
  EXPECT_EQ(a.send(1, "x"), 0);
  const Nanoseconds from = events_.now();
  settle();
  const auto wc = a.poll();
  ASSERT_TRUE(wc);
  EXPECT_EQ(wc->status, IBV_WC_RETRY_EXC_ERR);
  const double expected = 3 * 4096.0 * (1 << 14);  // timeout 14, 2 retries
  EXPECT_NEAR(static_cast<double>(events_.now() - from), expected, expected / 10);
  ibv_async_event event;
  ASSERT_EQ(ibv_get_async_event(a.context, &event), 0);
  EXPECT_EQ(event.event_type, IBV_EVENT_PORT_ERR);
  EXPECT_EQ(event.element.port_num, 1);
  ibv_ack_async_event(&event);
}

TEST_F(VerbsTest, SharedQueueTellsItsLimitByWhatIsPosted) {
  End a(*platforms_[0]), b(*platforms_[1]);
  ibv_srq_init_attr wanted{nullptr, {8, 1, 0}};
  ibv_srq* const srq = ibv_create_srq(b.domain, &wanted);
  ASSERT_NE(srq, nullptr);
  ibv_qp_init_attr init{};
  init.send_cq = init.recv_cq = b.queue;
  init.srq = srq;
  init.qp_type = IBV_QPT_RC;
  init.cap = {4, 0, 1, 0, 0};
  ibv_qp* const own = std::exchange(b.pair, ibv_create_qp(b.domain, &init));
  connect(a, b);
  ibv_sge part{reinterpret_cast<std::uint64_t>(b.memory), 100, b.region->lkey};
  ibv_recv_wr wr{5, nullptr, &part, 1};
  ibv_recv_wr* bad = nullptr;
  for (int i = 0; i < 4; ++i) EXPECT_EQ(ibv_post_srq_recv(srq, &wr, &bad), 0);
  ibv_srq_attr limit{0, 0, 2};
  EXPECT_EQ(ibv_modify_srq(srq, &limit, IBV_SRQ_LIMIT), 0);
  ibv_async_event event;
  const auto send_one = [&] {
    EXPECT_EQ(a.send(1, "x"), 0);
    settle();
    EXPECT_TRUE(b.poll());
    while (ibv_get_async_event(b.context, &event) == 0) {
      if (event.event_type == IBV_EVENT_SRQ_LIMIT_REACHED) return true;
      ibv_ack_async_event(&event);  // COMM_EST
    }
    return false;
  };
  EXPECT_FALSE(send_one());
  EXPECT_FALSE(send_one());
  EXPECT_TRUE(send_one());
  EXPECT_EQ(event.element.srq, srq);
  ibv_ack_async_event(&event);
  EXPECT_EQ(ibv_destroy_srq(srq), EBUSY);
  EXPECT_EQ(ibv_destroy_qp(std::exchange(b.pair, own)), 0);
  EXPECT_EQ(ibv_destroy_srq(srq), 0);
}

// A client that ends at once, after the last datagram of its protocol, is understood on every adapter.
TEST_F(VerbsTest, ADatagramLeavesBeforeItsQueuePairGoes) {
  constexpr std::uint32_t key = 0x1234;
  End b(*platforms_[1], IBV_QPT_UD);
  const auto ready = [](ibv_qp* pair) {
    ibv_qp_attr attributes{};
    attributes.qp_state = IBV_QPS_INIT;
    attributes.port_num = 1;
    attributes.qkey = key;
    EXPECT_EQ(ibv_modify_qp(pair, &attributes, IBV_QP_STATE | IBV_QP_PKEY_INDEX | IBV_QP_PORT | IBV_QP_QKEY),
              0);
    attributes.qp_state = IBV_QPS_RTR;
    EXPECT_EQ(ibv_modify_qp(pair, &attributes, IBV_QP_STATE), 0);
    attributes.qp_state = IBV_QPS_RTS;
    EXPECT_EQ(ibv_modify_qp(pair, &attributes, IBV_QP_STATE | IBV_QP_SQ_PSN), 0);
  };
  ready(b.pair);
  EXPECT_EQ(b.receive(1, 0, 200), 0);
  {
    End a(*platforms_[0], IBV_QPT_UD);
    ready(a.pair);
    ibv_ah_attr to{};
    to.dlid = b.port.lid;
    to.port_num = 1;
    ibv_ah* const address = ibv_create_ah(a.domain, &to);
    ASSERT_NE(address, nullptr);
    std::strcpy(a.memory, "the last");
    ibv_sge part{reinterpret_cast<std::uint64_t>(a.memory), 9, a.region->lkey};
    ibv_send_wr wr{};
    wr.sg_list = &part;
    wr.num_sge = 1;
    wr.opcode = IBV_WR_SEND;
    wr.wr.ud.ah = address;
    wr.wr.ud.remote_qpn = b.pair->qp_num;
    wr.wr.ud.remote_qkey = key;
    ibv_send_wr* bad = nullptr;
    EXPECT_EQ(ibv_post_send(a.pair, &wr, &bad), 0);
    EXPECT_EQ(ibv_destroy_ah(address), 0);
  }
  settle();
  ASSERT_TRUE(b.poll().has_value());
  EXPECT_STREQ(b.memory + 40, "the last");
}

TEST_F(VerbsTest, WhatIsNotThereIsRefused) {
  End end(*platforms_[0]);
  ibv_qp_init_attr init{};
  init.send_cq = init.recv_cq = end.queue;
  init.qp_type = IBV_QPT_RAW_PACKET;
  EXPECT_EQ(ibv_create_qp(end.domain, &init), nullptr);
  EXPECT_EQ(errno, EOPNOTSUPP);
  init.qp_type = IBV_QPT_RC;
  init.cap.max_send_wr = 1u << 30;
  EXPECT_EQ(ibv_create_qp(end.domain, &init), nullptr);
  EXPECT_EQ(errno, EINVAL);
  EXPECT_EQ(ibv_create_cq(end.context, 0, nullptr, nullptr, 0), nullptr);
  EXPECT_EQ(end.send(1, "x"), EINVAL);  // RESET
  EXPECT_EQ(ibv_dealloc_pd(end.domain), EBUSY);
}

}  // namespace
}  // namespace hawser::verbs
