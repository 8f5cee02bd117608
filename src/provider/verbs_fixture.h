// For tests only: two hosts of a fabric in this process, and the ends of a connection between them, by the
// public verbs API.
#pragma once

#include <gtest/gtest.h>
#include <infiniband/verbs.h>

#include <cstring>
#include <optional>

#include "fabric/topology/makers.h"
#include "provider/local_link.h"

namespace hawser::verbs {

// The API asks for the platform of the process that calls; in these tests, of the host whose turn it is.
extern Platform* turn;

// One end of a connection: device, queue, buffer, queue pair.
struct End {
  explicit End(Platform& platform, ibv_qp_type type = IBV_QPT_RC) {
    turn = &platform;
    ibv_device** const list = ibv_get_device_list(nullptr);
    context = ibv_open_device(list[0]);
    ibv_free_device_list(list);
    domain = ibv_alloc_pd(context);
    channel = ibv_create_comp_channel(context);
    queue = ibv_create_cq(context, 64, this, channel, 0);
    region = ibv_reg_mr(
        domain, memory, sizeof memory,
        IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_WRITE | IBV_ACCESS_REMOTE_READ | IBV_ACCESS_MW_BIND);
    ibv_qp_init_attr wanted{};
    wanted.send_cq = wanted.recv_cq = queue;
    wanted.qp_type = type;
    wanted.cap = {4, 4, 2, 2, 64};
    pair = ibv_create_qp(domain, &wanted);
    ibv_query_port(context, 1, &port);
  }
  ~End() {
    EXPECT_EQ(ibv_destroy_qp(pair), 0);
    EXPECT_EQ(ibv_destroy_cq(queue), 0);
    EXPECT_EQ(ibv_destroy_comp_channel(channel), 0);
    EXPECT_EQ(ibv_dereg_mr(region), 0);
    EXPECT_EQ(ibv_dealloc_pd(domain), 0);
    EXPECT_EQ(ibv_close_device(context), 0);
  }

  void connect(const End& peer) { connect(pair, peer.pair->qp_num, peer.port.lid); }
  void connect(ibv_qp* pair, std::uint32_t peer, std::uint16_t lid) {
    ibv_qp_attr a{};
    a.qp_state = IBV_QPS_INIT;
    a.port_num = 1;
    a.qp_access_flags = IBV_ACCESS_REMOTE_WRITE | IBV_ACCESS_REMOTE_READ;
    ASSERT_EQ(ibv_modify_qp(pair, &a, IBV_QP_STATE | IBV_QP_PKEY_INDEX | IBV_QP_PORT | IBV_QP_ACCESS_FLAGS),
              0);
    a.qp_state = IBV_QPS_RTR;
    a.path_mtu = IBV_MTU_1024;
    a.dest_qp_num = peer;
    a.ah_attr.dlid = lid;
    a.ah_attr.port_num = 1;
    a.max_dest_rd_atomic = 1;
    a.min_rnr_timer = 12;
    ASSERT_EQ(ibv_modify_qp(pair, &a,
                            IBV_QP_STATE | IBV_QP_AV | IBV_QP_PATH_MTU | IBV_QP_DEST_QPN | IBV_QP_RQ_PSN |
                                IBV_QP_MAX_DEST_RD_ATOMIC | IBV_QP_MIN_RNR_TIMER),
              0);
    a.qp_state = IBV_QPS_RTS;
    a.timeout = 14;
    a.retry_cnt = 2;
    a.max_rd_atomic = 1;
    ASSERT_EQ(ibv_modify_qp(pair, &a,
                            IBV_QP_STATE | IBV_QP_TIMEOUT | IBV_QP_RETRY_CNT | IBV_QP_RNR_RETRY |
                                IBV_QP_SQ_PSN | IBV_QP_MAX_QP_RD_ATOMIC),
              0);
  }

  int receive(std::uint64_t id, std::size_t offset, std::uint32_t length) {
    ibv_sge part{reinterpret_cast<std::uint64_t>(memory) + offset, length, region->lkey};
    ibv_recv_wr wr{id, nullptr, &part, 1};
    ibv_recv_wr* bad = nullptr;
    return ibv_post_recv(pair, &wr, &bad);
  }
  int send(std::uint64_t id, const char* text, unsigned flags = IBV_SEND_SIGNALED) {
    std::strcpy(memory, text);
    ibv_sge part{reinterpret_cast<std::uint64_t>(memory), static_cast<std::uint32_t>(std::strlen(text) + 1),
                 region->lkey};
    ibv_send_wr wr{};
    wr.wr_id = id;
    wr.sg_list = &part;
    wr.num_sge = 1;
    wr.opcode = IBV_WR_SEND;
    wr.send_flags = flags;
    ibv_send_wr* bad = nullptr;
    return ibv_post_send(pair, &wr, &bad);
  }
  std::optional<ibv_wc> poll() {
    ibv_wc wc;
    return ibv_poll_cq(queue, 1, &wc) == 1 ? std::optional(wc) : std::nullopt;
  }

  ibv_context* context = nullptr;
  ibv_pd* domain = nullptr;
  ibv_comp_channel* channel = nullptr;
  ibv_cq* queue = nullptr;
  ibv_mr* region = nullptr;
  ibv_qp* pair = nullptr;
  ibv_port_attr port{};
  char memory[4096] = {};
};

class VerbsTest : public testing::Test {
 protected:
  VerbsTest() {
    auto topology = fabric::make_back_to_back({});
    auto tables = fabric::build_routes(topology.value(), 0);
    fabric_.emplace(events_, dma_, std::move(topology).value(), std::move(tables).value(),
                    fabric::Parameters{});
    platforms_[0].emplace(*fabric_, 0);
    platforms_[1].emplace(*fabric_, 1);
  }
  void connect(End& a, End& b) {
    a.connect(b);
    b.connect(a);
  }
  void settle() {
    while (events_.fire_next()) {
    }
    fabric_->check_invariants();
  }

  EventQueue events_;
  fabric::LocalDmaPort dma_;
  std::optional<fabric::Fabric> fabric_;
  std::optional<LocalPlatform> platforms_[2];
};

}  // namespace hawser::verbs
