// What came to verbs after its first version: XRC, windows, extended completion queues, and objects that
// change.
#include <fcntl.h>

#include "provider/verbs_fixture.h"

namespace hawser::verbs {
namespace {

class VerbsExtensions : public VerbsTest {
 protected:
  // Posts one request and returns how it completed.
  ibv_wc_status post(End& end, ibv_send_wr wr, ibv_qp* pair = nullptr) {
    wr.send_flags |= IBV_SEND_SIGNALED;
    ibv_send_wr* bad = nullptr;
    EXPECT_EQ(ibv_post_send(pair != nullptr ? pair : end.pair, &wr, &bad), 0);
    settle();
    const auto wc = end.poll();
    EXPECT_TRUE(wc);
    return wc ? wc->status : IBV_WC_GENERAL_ERR;
  }
  ibv_wc_status write(End& from, End& to, std::uint32_t key, std::uint64_t offset = 0) {
    ibv_sge part{reinterpret_cast<std::uint64_t>(from.memory), 8, from.region->lkey};
    ibv_send_wr wr{};
    wr.sg_list = &part;
    wr.num_sge = 1;
    wr.opcode = IBV_WR_RDMA_WRITE;
    wr.wr.rdma.remote_addr = reinterpret_cast<std::uint64_t>(to.memory) + offset;
    wr.wr.rdma.rkey = key;
    return post(from, wr);
  }
  static ibv_mw_bind_info part_of(End& end, std::uint64_t offset, std::uint64_t length) {
    return {end.region, reinterpret_cast<std::uint64_t>(end.memory) + offset, length,
            IBV_ACCESS_REMOTE_WRITE};
  }
};

TEST_F(VerbsExtensions, AWindowOfType1MovesAndItsOldKeyIsDead) {
  End a(*platforms_[0]), b(*platforms_[1]);
  connect(a, b);
  ibv_mw* const window = ibv_alloc_mw(b.domain, IBV_MW_TYPE_1);
  ASSERT_NE(window, nullptr);
  ibv_mw_bind bind{7, IBV_SEND_SIGNALED, part_of(b, 64, 64)};
  EXPECT_EQ(ibv_bind_mw(b.pair, window, &bind), 0);
  settle();
  const auto bound = b.poll();
  ASSERT_TRUE(bound);
  EXPECT_EQ(bound->opcode, IBV_WC_BIND_MW);
  EXPECT_EQ(bound->status, IBV_WC_SUCCESS);
  const std::uint32_t first = window->rkey;
  EXPECT_EQ(write(a, b, first, 64), IBV_WC_SUCCESS);
  EXPECT_EQ(ibv_dereg_mr(b.region), EBUSY);
  bind.bind_info = part_of(b, 128, 8);
  EXPECT_EQ(ibv_bind_mw(b.pair, window, &bind), 0);
  settle();
  EXPECT_TRUE(b.poll());
  EXPECT_EQ(write(a, b, window->rkey, 128), IBV_WC_SUCCESS);
  EXPECT_EQ(write(a, b, first, 64), IBV_WC_REM_ACCESS_ERR);
  EXPECT_EQ(ibv_dealloc_mw(window), 0);
}

TEST_F(VerbsExtensions, AWindowEndsWhereItEnds) {
  End a(*platforms_[0]), b(*platforms_[1]);
  connect(a, b);
  ibv_mw* const window = ibv_alloc_mw(b.domain, IBV_MW_TYPE_1);
  ibv_mw_bind bind{7, IBV_SEND_SIGNALED, part_of(b, 64, 12)};
  EXPECT_EQ(ibv_bind_mw(b.pair, window, &bind), 0);
  settle();
  EXPECT_TRUE(b.poll());
  EXPECT_EQ(write(a, b, window->rkey, 69), IBV_WC_REM_ACCESS_ERR);
  EXPECT_EQ(ibv_dealloc_mw(window), 0);
}

TEST_F(VerbsExtensions, AWindowOfType2IsInvalidatedHereAndFromAfar) {
  End a(*platforms_[0]), b(*platforms_[1]);
  connect(a, b);
  ibv_mw* const window = ibv_alloc_mw(b.domain, IBV_MW_TYPE_2);
  ibv_send_wr bind{};
  bind.opcode = IBV_WR_BIND_MW;
  bind.bind_mw = {window, ibv_inc_rkey(window->rkey), part_of(b, 0, 64)};
  EXPECT_EQ(post(b, bind), IBV_WC_SUCCESS);
  const std::uint32_t key = bind.bind_mw.rkey;
  EXPECT_EQ(write(a, b, key), IBV_WC_SUCCESS);
  ibv_send_wr invalidate{};
  invalidate.opcode = IBV_WR_LOCAL_INV;
  invalidate.invalidate_rkey = key;
  EXPECT_EQ(post(b, invalidate), IBV_WC_SUCCESS);
  bind.bind_mw.rkey = ibv_inc_rkey(key);
  EXPECT_EQ(post(b, bind), IBV_WC_SUCCESS);
  EXPECT_EQ(b.receive(5, 0, 100), 0);
  ibv_send_wr farewell{};
  farewell.opcode = IBV_WR_SEND_WITH_INV;
  farewell.invalidate_rkey = bind.bind_mw.rkey;
  EXPECT_EQ(post(a, farewell), IBV_WC_SUCCESS);
  const auto received = b.poll();
  ASSERT_TRUE(received);
  EXPECT_EQ(received->wc_flags, static_cast<unsigned>(IBV_WC_WITH_INV));
  EXPECT_EQ(received->invalidated_rkey, bind.bind_mw.rkey);
  EXPECT_EQ(write(a, b, bind.bind_mw.rkey), IBV_WC_REM_ACCESS_ERR);
  EXPECT_EQ(ibv_dealloc_mw(window), 0);
}

TEST_F(VerbsExtensions, WhatMayNotBeBoundFailsTheQueuePair) {
  End a(*platforms_[0]), b(*platforms_[1]);
  connect(a, b);
  ibv_mw* const window = ibv_alloc_mw(b.domain, IBV_MW_TYPE_2);
  ibv_send_wr bind{};
  bind.opcode = IBV_WR_BIND_MW;
  bind.bind_mw = {window, ibv_inc_rkey(window->rkey), part_of(b, sizeof b.memory - 8, 9)};
  EXPECT_EQ(post(b, bind), IBV_WC_MW_BIND_ERR);
  EXPECT_EQ(post(b, bind), IBV_WC_WR_FLUSH_ERR);
  EXPECT_EQ(ibv_dealloc_mw(window), 0);
}

TEST_F(VerbsExtensions, ExtendedQueuesTellFieldByFieldAndWhen) {
  End a(*platforms_[0]), b(*platforms_[1]);
  ibv_cq_init_attr_ex wanted{};
  wanted.cqe = 8;
  wanted.wc_flags = IBV_WC_EX_WITH_BYTE_LEN | IBV_WC_EX_WITH_COMPLETION_TIMESTAMP;
  ibv_cq_ex* const queue = ibv_create_cq_ex(b.context, &wanted);
  ASSERT_NE(queue, nullptr);
  ibv_qp_init_attr init{};
  init.send_cq = init.recv_cq = ibv_cq_ex_to_cq(queue);
  init.qp_type = IBV_QPT_RC;
  init.cap = {4, 4, 1, 1, 0};
  ibv_qp* const own = std::exchange(b.pair, ibv_create_qp(b.domain, &init));
  connect(a, b);
  ibv_poll_cq_attr none{};
  EXPECT_EQ(ibv_start_poll(queue, &none), ENOENT);
  for (std::uint64_t id = 1; id <= 2; ++id) {
    EXPECT_EQ(b.receive(id, 0, 100), 0);
    EXPECT_EQ(a.send(id, "rope"), 0);
  }
  settle();
  ASSERT_EQ(ibv_start_poll(queue, &none), 0);
  EXPECT_EQ(queue->wr_id, 1u);
  EXPECT_EQ(queue->status, IBV_WC_SUCCESS);
  EXPECT_EQ(ibv_wc_read_opcode(queue), IBV_WC_RECV);
  EXPECT_EQ(ibv_wc_read_byte_len(queue), 5u);
  ibv_values_ex now{IBV_VALUES_MASK_RAW_CLOCK, {}};
  EXPECT_EQ(ibv_query_rt_values_ex(b.context, &now), 0);
  EXPECT_LE(ibv_wc_read_completion_ts(queue), static_cast<std::uint64_t>(now.raw_clock.tv_nsec));
  ASSERT_EQ(ibv_next_poll(queue), 0);
  EXPECT_EQ(queue->wr_id, 2u);
  EXPECT_EQ(ibv_next_poll(queue), ENOENT);
  ibv_end_poll(queue);
  EXPECT_EQ(ibv_destroy_qp(std::exchange(b.pair, own)), 0);
  EXPECT_EQ(ibv_destroy_cq(ibv_cq_ex_to_cq(queue)), 0);
}

TEST_F(VerbsExtensions, AQueueGrowsWithWhatIsInIt) {
  End a(*platforms_[0]), b(*platforms_[1]);
  connect(a, b);
  for (std::uint64_t id = 1; id <= 3; ++id) {
    EXPECT_EQ(b.receive(id, 0, 100), 0);
    EXPECT_EQ(a.send(id, "x"), 0);
  }
  settle();
  EXPECT_EQ(b.poll()->wr_id, 1u);
  EXPECT_EQ(ibv_resize_cq(b.queue, 1), EINVAL);  // there are two in it
  EXPECT_EQ(ibv_resize_cq(b.queue, 500), 0);
  EXPECT_EQ(b.queue->cqe, 500);
  EXPECT_EQ(b.receive(4, 0, 100), 0);
  EXPECT_EQ(a.send(4, "y"), 0);
  settle();
  for (std::uint64_t id = 2; id <= 4; ++id) {
    const auto wc = b.poll();
    ASSERT_TRUE(wc);
    EXPECT_EQ(wc->wr_id, id);
  }
  EXPECT_FALSE(b.poll());
}

TEST_F(VerbsExtensions, WhatAQueuePairLeftGoesWithIt) {
  End a(*platforms_[0]), b(*platforms_[1]);
  connect(a, b);
  EXPECT_EQ(b.receive(1, 0, 100), 0);
  EXPECT_EQ(a.send(1, "x"), 0);
  settle();
  ibv_qp_attr attributes{};
  attributes.qp_state = IBV_QPS_RESET;
  EXPECT_EQ(ibv_modify_qp(b.pair, &attributes, IBV_QP_STATE), 0);
  EXPECT_FALSE(b.poll());
  EXPECT_TRUE(a.poll());
}

TEST_F(VerbsExtensions, ARegionChangesUnderItsKey) {
  End a(*platforms_[0]), b(*platforms_[1]);
  connect(a, b);
  const std::uint32_t key = b.region->rkey;
  EXPECT_EQ(ibv_rereg_mr(b.region, IBV_REREG_MR_CHANGE_TRANSLATION, nullptr, b.memory + 1024, 1024, 0), 0);
  EXPECT_EQ(write(a, b, key, 1024), IBV_WC_SUCCESS);
  EXPECT_EQ(ibv_rereg_mr(b.region, 0, nullptr, nullptr, 0, 0), IBV_REREG_MR_ERR_INPUT);
  EXPECT_EQ(ibv_rereg_mr(b.region, IBV_REREG_MR_CHANGE_ACCESS, nullptr, nullptr, 0, IBV_ACCESS_LOCAL_WRITE),
            0);
  EXPECT_EQ(write(a, b, key, 1024), IBV_WC_REM_ACCESS_ERR);
}

TEST_F(VerbsExtensions, ParentDomainsStandForTheirs) {
  End a(*platforms_[0]);
  ibv_td_init_attr plain{};
  ibv_td* const thread = ibv_alloc_td(a.context, &plain);
  ibv_parent_domain_init_attr wanted{};
  wanted.pd = a.domain;
  wanted.td = thread;
  ibv_pd* const parent = ibv_alloc_parent_domain(a.context, &wanted);
  ASSERT_NE(parent, nullptr);
  EXPECT_EQ(ibv_dealloc_td(thread), EBUSY);
  EXPECT_EQ(ibv_dealloc_pd(a.domain), EBUSY);
  ibv_mr* const region = ibv_reg_mr(parent, a.memory, 10, 0);
  ASSERT_NE(region, nullptr);
  EXPECT_EQ(ibv_dereg_mr(region), 0);
  EXPECT_EQ(ibv_dealloc_pd(parent), 0);
  EXPECT_EQ(ibv_dealloc_td(thread), 0);
}

// A process that receives by XRC.
struct XrcEnd : End {
  explicit XrcEnd(Platform& platform) : End(platform) {
    ibv_xrcd_init_attr by_file{IBV_XRCD_INIT_ATTR_FD | IBV_XRCD_INIT_ATTR_OFLAGS, 5, O_CREAT};
    xrc = ibv_open_xrcd(context, &by_file);
    ibv_srq_init_attr_ex wanted{};
    wanted.attr = {8, 1, 0};
    wanted.comp_mask =
        IBV_SRQ_INIT_ATTR_TYPE | IBV_SRQ_INIT_ATTR_PD | IBV_SRQ_INIT_ATTR_XRCD | IBV_SRQ_INIT_ATTR_CQ;
    wanted.srq_type = IBV_SRQT_XRC;
    wanted.pd = domain;
    wanted.xrcd = xrc;
    wanted.cq = queue;
    srq = ibv_create_srq_ex(context, &wanted);
    EXPECT_EQ(ibv_get_srq_num(srq, &number), 0);
    ibv_sge part{reinterpret_cast<std::uint64_t>(memory), 100, region->lkey};
    ibv_recv_wr wr{9, nullptr, &part, 1};
    ibv_recv_wr* bad = nullptr;
    for (int i = 0; i < 8; ++i) EXPECT_EQ(ibv_post_srq_recv(srq, &wr, &bad), 0);
    EXPECT_EQ(ibv_post_srq_recv(srq, &wr, &bad), ENOMEM);
  }
  void close() {
    EXPECT_EQ(ibv_destroy_srq(srq), 0);
    EXPECT_EQ(ibv_close_xrcd(xrc), 0);
  }
  ibv_xrcd* xrc = nullptr;
  ibv_srq* srq = nullptr;
  std::uint32_t number = 0;
};

TEST_F(VerbsExtensions, AnXrcTargetOutlivesTheProcessThatMadeIt) {
  End a(*platforms_[0]);
  XrcEnd first(*platforms_[1]), second(*platforms_[1]);
  ibv_qp_init_attr_ex wanted{};
  wanted.qp_type = IBV_QPT_XRC_RECV;
  wanted.comp_mask = IBV_QP_INIT_ATTR_XRCD;
  wanted.xrcd = first.xrc;
  ibv_qp* const target = ibv_create_qp_ex(first.context, &wanted);
  ASSERT_NE(target, nullptr);
  ibv_qp_init_attr init{};
  init.send_cq = a.queue;
  init.qp_type = IBV_QPT_XRC_SEND;
  init.cap = {4, 0, 1, 0, 0};
  ibv_qp* const source = ibv_create_qp(a.domain, &init);
  ASSERT_NE(source, nullptr);
  a.connect(source, target->qp_num, first.port.lid);
  first.connect(target, source->qp_num, a.port.lid);
  const auto send_to = [&](std::uint32_t queue) {
    ibv_sge part{reinterpret_cast<std::uint64_t>(a.memory), 5, a.region->lkey};
    ibv_send_wr wr{};
    wr.sg_list = &part;
    wr.num_sge = 1;
    wr.opcode = IBV_WR_SEND;
    wr.qp_type.xrc.remote_srqn = queue;
    return post(a, wr, source);
  };
  std::strcpy(a.memory, "rope");
  EXPECT_EQ(send_to(second.number), IBV_WC_SUCCESS);
  ASSERT_TRUE(second.poll());
  EXPECT_STREQ(second.memory, "rope");
  EXPECT_FALSE(first.poll());
  ibv_qp_open_attr share{};
  share.comp_mask = IBV_QP_OPEN_ATTR_NUM | IBV_QP_OPEN_ATTR_XRCD | IBV_QP_OPEN_ATTR_TYPE;
  share.qp_num = target->qp_num;
  share.xrcd = second.xrc;
  share.qp_type = IBV_QPT_XRC_RECV;
  ibv_qp* const shared = ibv_open_qp(second.context, &share);
  ASSERT_NE(shared, nullptr);
  EXPECT_EQ(ibv_close_xrcd(first.xrc), EBUSY);
  EXPECT_EQ(ibv_destroy_qp(target), 0);
  first.close();
  for (int i = 0; i < 20; ++i) {  // more than the queue holds at once
    EXPECT_EQ(send_to(second.number), IBV_WC_SUCCESS);
    ASSERT_TRUE(second.poll());
    ibv_sge part{reinterpret_cast<std::uint64_t>(second.memory), 100, second.region->lkey};
    ibv_recv_wr wr{9, nullptr, &part, 1};
    ibv_recv_wr* bad = nullptr;
    EXPECT_EQ(ibv_post_srq_recv(second.srq, &wr, &bad), 0);
  }
  EXPECT_EQ(ibv_destroy_qp(shared), 0);
  EXPECT_EQ(send_to(second.number), IBV_WC_RETRY_EXC_ERR);
  EXPECT_EQ(ibv_destroy_qp(source), 0);
  second.close();
}

}  // namespace
}  // namespace hawser::verbs
