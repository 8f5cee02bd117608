// Short messages whose data come with their completion: the program finds them where and when it may look.
#include <algorithm>
#include <string>

#include "provider/verbs_fixture.h"

namespace hawser::verbs {
namespace {

class CarriedDataTest : public VerbsTest {
 protected:
  CarriedDataTest() {
    connect(a_, b_);
    std::ranges::fill(b_.memory, '.');
  }
  void send(const std::string& text) {
    EXPECT_EQ(a_.send(1, text.c_str()), 0);
    settle();
  }
  static void set_state(const End& end, ibv_qp_state state) {
    ibv_qp_attr attributes{};
    attributes.qp_state = state;
    ASSERT_EQ(ibv_modify_qp(end.pair, &attributes, IBV_QP_STATE), 0);
  }
  std::string at(std::size_t offset, std::size_t length) const { return {b_.memory + offset, length}; }

  End a_{*platforms_[0]}, b_{*platforms_[1]};
};

TEST_F(CarriedDataTest, AreInPlaceWhenTheCompletionIsPolled) {
  b_.receive(1, 0, 100);
  b_.receive(2, 1000, 1000);
  b_.receive(3, 2000, 1000);
  send("rope");
  send(std::string(most_carried - 1, 'x'));
  send(std::string(most_carried, 'y'));
  EXPECT_EQ(at(0, 4), "....");
  EXPECT_EQ(at(2000, most_carried), std::string(most_carried, 'y'));  // too long to be carried
  EXPECT_TRUE(b_.poll());
  EXPECT_EQ(at(0, 4), "rope");
  EXPECT_EQ(at(1000, 1), ".");
  EXPECT_TRUE(b_.poll());
  EXPECT_EQ(at(1000, most_carried), std::string(most_carried - 1, 'x') + '\0');
  EXPECT_EQ(at(1000 + most_carried, 1), ".");
}

// A program that polls one by one with the newer calls.
TEST_F(CarriedDataTest, AreInPlaceWithExtendedPolls) {
  turn = &*platforms_[1];
  ibv_cq_init_attr_ex wanted{};
  wanted.cqe = 8;
  ibv_cq_ex* const queue = ibv_create_cq_ex(b_.context, &wanted);
  ibv_qp_init_attr made{};
  made.send_cq = made.recv_cq = ibv_cq_ex_to_cq(queue);
  made.qp_type = IBV_QPT_RC;
  made.cap = {4, 4, 2, 2, 64};
  ibv_qp* const pair = ibv_create_qp(b_.domain, &made);
  b_.connect(pair, a_.pair->qp_num, a_.port.lid);
  set_state(a_, IBV_QPS_RESET);
  a_.connect(a_.pair, pair->qp_num, b_.port.lid);
  ibv_sge part{reinterpret_cast<std::uint64_t>(b_.memory), 100, b_.region->lkey};
  ibv_recv_wr wr{5, nullptr, &part, 1};
  ibv_recv_wr* bad = nullptr;
  ASSERT_EQ(ibv_post_recv(pair, &wr, &bad), 0);
  send("rope");
  EXPECT_EQ(at(0, 4), "....");
  ibv_poll_cq_attr none{};
  ASSERT_EQ(ibv_start_poll(queue, &none), 0);
  EXPECT_EQ(queue->wr_id, 5u);
  EXPECT_EQ(at(0, 4), "rope");
  ibv_end_poll(queue);
  EXPECT_EQ(ibv_destroy_qp(pair), 0);
  EXPECT_EQ(ibv_destroy_cq(ibv_cq_ex_to_cq(queue)), 0);
}

// Whoever frees a buffer has taken its region away before. Nothing is written to it later.
TEST_F(CarriedDataTest, AreInPlaceBeforeTheirRegionGoes) {
  char other[100];
  std::ranges::fill(other, '.');
  ibv_mr* const region = ibv_reg_mr(b_.domain, other, sizeof other, IBV_ACCESS_LOCAL_WRITE);
  ibv_sge part{reinterpret_cast<std::uint64_t>(other), sizeof other, region->lkey};
  ibv_recv_wr wr{1, nullptr, &part, 1};
  ibv_recv_wr* bad = nullptr;
  ASSERT_EQ(ibv_post_recv(b_.pair, &wr, &bad), 0);
  b_.receive(2, 0, 100);
  send("rope");
  send("hemp");
  EXPECT_EQ(other[0], '.');
  ASSERT_EQ(ibv_dereg_mr(region), 0);
  EXPECT_STREQ(other, "rope");
  EXPECT_EQ(at(0, 4), "....");  // of another region
  std::ranges::fill(other, '-');
  EXPECT_TRUE(b_.poll() && b_.poll());
  EXPECT_EQ(std::string(other, 4), "----");
  EXPECT_EQ(at(0, 4), "hemp");
}

TEST_F(CarriedDataTest, AreInPlaceBeforeTheirRegionChanges) {
  b_.receive(1, 0, 100);
  send("rope");
  ASSERT_EQ(ibv_rereg_mr(b_.region, IBV_REREG_MR_CHANGE_ACCESS, nullptr, nullptr, 0, IBV_ACCESS_LOCAL_WRITE),
            0);
  EXPECT_EQ(at(0, 4), "rope");
  EXPECT_TRUE(b_.poll());
}

TEST_F(CarriedDataTest, AreInPlaceWhenTheQueuePairIsStopped) {
  b_.receive(1, 0, 100);
  send("rope");
  set_state(b_, IBV_QPS_ERR);
  EXPECT_EQ(at(0, 4), "rope");
  b_.memory[0] = 'c';
  EXPECT_TRUE(b_.poll());
  EXPECT_EQ(at(0, 4), "cope");
}

TEST_F(CarriedDataTest, MoveWithTheirQueue) {
  b_.receive(1, 0, 100);
  b_.receive(2, 100, 100);
  send("rope");
  send("hemp");
  ASSERT_EQ(ibv_resize_cq(b_.queue, 500), 0);
  EXPECT_TRUE(b_.poll() && b_.poll());
  EXPECT_EQ(at(0, 4) + at(100, 4), "ropehemp");
}

TEST_F(CarriedDataTest, GoWithTheirQueuePair) {
  b_.receive(1, 0, 100);
  send("rope");
  set_state(b_, IBV_QPS_RESET);
  EXPECT_FALSE(b_.poll());
  EXPECT_EQ(
      ibv_dereg_mr(std::exchange(b_.region, ibv_reg_mr(b_.domain, b_.memory, 8, IBV_ACCESS_LOCAL_WRITE))), 0);
  EXPECT_EQ(at(0, 4), "....");
}

// A list of buffers is filled by the adapter.
TEST_F(CarriedDataTest, AreNotOfMessagesIntoSeveralBuffers) {
  ibv_sge parts[2] = {{reinterpret_cast<std::uint64_t>(b_.memory), 2, b_.region->lkey},
                      {reinterpret_cast<std::uint64_t>(b_.memory) + 50, 20, b_.region->lkey}};
  ibv_recv_wr wr{1, nullptr, parts, 2};
  ibv_recv_wr* bad = nullptr;
  ASSERT_EQ(ibv_post_recv(b_.pair, &wr, &bad), 0);
  send("rope");
  EXPECT_EQ(at(0, 3) + at(50, 2), "ro.pe");
  EXPECT_TRUE(b_.poll());
}

}  // namespace
}  // namespace hawser::verbs
