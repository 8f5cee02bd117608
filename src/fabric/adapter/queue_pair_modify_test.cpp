// The checks of ibv_modify_qp, and the states that only errors and draining lead to.
#include <gtest/gtest.h>

#include "fabric/fabric_fixture.h"

namespace hawser::fabric::test {
namespace {

struct Step {
  QpState to;
  std::uint32_t mask;
};
constexpr Step rc_steps[] = {
    {QpState::init, mask_pkey_index | mask_port | mask_access_flags},
    {QpState::rtr, mask_path | mask_path_mtu | mask_destination_qp | mask_rq_psn | mask_max_dest_rd_atomic |
                       mask_min_rnr_timer},
    {QpState::rts, mask_timeout | mask_retry_count | mask_rnr_retry | mask_sq_psn | mask_max_rd_atomic}};
constexpr Step uc_steps[] = {{QpState::init, mask_pkey_index | mask_port | mask_access_flags},
                             {QpState::rtr, mask_path | mask_path_mtu | mask_destination_qp | mask_rq_psn},
                             {QpState::rts, mask_sq_psn}};
constexpr Step ud_steps[] = {
    {QpState::init, mask_pkey_index | mask_port | mask_qkey}, {QpState::rtr, 0}, {QpState::rts, mask_sq_psn}};

QpAttributes right_values(QpState to) {
  QpAttributes a;
  a.state = to;
  a.port = 1;
  a.path.destination_lid = 1;
  a.path_mtu = 1024;
  a.timeout = 14;
  return a;
}

void check_steps(QpType type, const Step (&steps)[3]) {
  Bed bed(star(2), {});
  Client client(bed, bed.adapter("n0/hw0"));
  QueuePair& qp = client.create(type);
  for (const Step& step : steps) {
    const QpAttributes a = right_values(step.to);
    const QpState from = qp.state();
    for (std::uint32_t bit = 1; bit <= mask_destination_qp; bit <<= 1) {
      if ((step.mask & bit) != 0) {
        EXPECT_EQ(qp.modify(a, mask_state | (step.mask & ~bit)).error, EINVAL)
            << name_of(from) << " without " << bit;
      }
    }
    EXPECT_EQ(qp.modify(a, mask_state | step.mask | mask_capabilities).error, EINVAL);
    EXPECT_EQ(qp.state(), from);
    const Outcome done = qp.modify(a, mask_state | step.mask);
    EXPECT_TRUE(done.ok()) << done.why;
    EXPECT_EQ(qp.state(), step.to);
  }
}

TEST(Modify, EveryRequiredAttributeIsRequired) {
  check_steps(QpType::rc, rc_steps);
  check_steps(QpType::uc, uc_steps);
  check_steps(QpType::ud, ud_steps);
}

TEST(Modify, OnlyTheTransitionsOfTheStandardArePossible) {
  Bed bed(star(2), {});
  Client client(bed, bed.adapter("n0/hw0"));
  QueuePair& qp = client.create();
  for (const QpState to : {QpState::rtr, QpState::rts, QpState::sqd, QpState::sqe}) {
    EXPECT_EQ(qp.modify(right_values(to), mask_state).error, EINVAL);
  }
  ASSERT_TRUE(qp.modify(right_values(QpState::init), mask_state | rc_steps[0].mask).ok());
  for (const QpState to : {QpState::rts, QpState::sqd, QpState::sqe}) {
    EXPECT_EQ(qp.modify(right_values(to), mask_state).error, EINVAL);
  }
  ASSERT_TRUE(qp.modify(right_values(QpState::rtr), mask_state | rc_steps[1].mask).ok());
  EXPECT_EQ(qp.modify(right_values(QpState::init), mask_state | rc_steps[0].mask).error, EINVAL);
  ASSERT_TRUE(qp.modify(right_values(QpState::err), mask_state).ok());
  EXPECT_EQ(qp.modify(right_values(QpState::rts), mask_state | rc_steps[2].mask).error, EINVAL);
  ASSERT_TRUE(qp.modify(right_values(QpState::reset), mask_state).ok());
  EXPECT_EQ(qp.state(), QpState::reset);
  ASSERT_TRUE(qp.modify(right_values(QpState::init), mask_state | rc_steps[0].mask).ok());
}

TEST(Modify, WrongValuesChangeNothing) {
  Bed bed(star(2), {});
  Client client(bed, bed.adapter("n0/hw0"));
  QueuePair& qp = client.create();
  QpAttributes a = right_values(QpState::init);
  a.port = 2;
  EXPECT_EQ(qp.modify(a, mask_state | rc_steps[0].mask).error, EINVAL);
  a.port = 1;
  a.pkey_index = 1;
  EXPECT_EQ(qp.modify(a, mask_state | rc_steps[0].mask).error, EINVAL);
  a.pkey_index = 0;
  ASSERT_TRUE(qp.modify(a, mask_state | rc_steps[0].mask).ok());
  const auto refused = [&](auto change) {
    QpAttributes wrong = right_values(QpState::rtr);
    change(wrong);
    return qp.modify(wrong, mask_state | rc_steps[1].mask).error == EINVAL;
  };
  EXPECT_TRUE(refused([](QpAttributes& w) { w.path_mtu = 4096; }));  // the port has 2048
  EXPECT_TRUE(refused([](QpAttributes& w) { w.path_mtu = 1000; }));
  EXPECT_TRUE(refused([](QpAttributes& w) { w.path.destination_lid = 0; }));
  EXPECT_TRUE(refused([](QpAttributes& w) { w.path.destination_lid = 0xc001; }));
  EXPECT_TRUE(refused([](QpAttributes& w) { w.path.service_level = 16; }));
  EXPECT_TRUE(refused([](QpAttributes& w) { w.max_dest_rd_atomic = 200; }));
  EXPECT_TRUE(refused([](QpAttributes& w) { w.min_rnr_timer = 32; }));
  ASSERT_TRUE(qp.modify(right_values(QpState::rtr), mask_state | rc_steps[1].mask).ok());
  QpAttributes w = right_values(QpState::rts);
  w.current_state = QpState::init;
  EXPECT_EQ(qp.modify(w, mask_state | rc_steps[2].mask | mask_current_state).error, EINVAL);
  w.migration_state = MigrationState::rearm;
  EXPECT_EQ(qp.modify(w, mask_state | rc_steps[2].mask | mask_migration_state).error,
            EINVAL);  // no alternate path
  w.retry_count = 8;
  EXPECT_EQ(qp.modify(w, mask_state | rc_steps[2].mask).error, EINVAL);
}

TEST(Modify, PostingDependsOnTheState) {
  Bed bed(star(2), {});
  Client client(bed, bed.adapter("n0/hw0"));
  QueuePair& qp = client.create();
  EXPECT_EQ(qp.post_receive({}).error, EINVAL);
  EXPECT_EQ(qp.post_send({}).error, EINVAL);
  ASSERT_TRUE(qp.modify(right_values(QpState::init), mask_state | rc_steps[0].mask).ok());
  EXPECT_TRUE(qp.post_receive({.id = 1}).ok());
  EXPECT_EQ(qp.post_send({}).error, EINVAL);
  ASSERT_TRUE(qp.modify(right_values(QpState::reset), mask_state).ok());
  client.collect();
  EXPECT_TRUE(client.completions.empty());  // RESET forgets without completions
}

TEST(Modify, QueuesHaveTheDepthThatWasAskedFor) {
  Bed bed(star(2), {});
  Pair pair(bed, QpType::rc, {}, 3);
  for (int i = 0; i < 3; ++i) {
    EXPECT_TRUE(pair.qa->post_receive({.id = 100u + static_cast<unsigned>(i)}).ok());
    pair.a.send(*pair.qa, Opcode::rdma_write, 0, 8, &pair.b);
  }
  EXPECT_EQ(pair.qa->post_receive({}).error, ENOMEM);
  EXPECT_EQ(pair.qa->post_send({.opcode = Opcode::send}).error, ENOMEM);
  const Segment nine[9] = {};
  EXPECT_EQ(pair.qb->post_send({.segments = nine, .segment_count = 9}).error, EINVAL);
  const char bytes[300] = {};
  EXPECT_EQ(pair.qb->post_send({.inline_data = bytes, .inline_length = 300, .flags = send_inline}).error,
            EINVAL);
}

TEST(Modify, DrainingFinishesWhatHasBegun) {
  Bed bed(star(2), {.link_rate = 1e8});
  Pair pair(bed);
  const auto first = pair.a.send(*pair.qa, Opcode::rdma_write, 0, 500000, &pair.b);
  bed.run_for(100 * microsecond);
  const auto second = pair.a.send(*pair.qa, Opcode::rdma_write, 0, 8, &pair.b);
  QpAttributes a;
  a.state = QpState::sqd;
  a.sqd_notify = true;
  ASSERT_TRUE(pair.qa->modify(a, mask_state | mask_sqd_notify).ok());
  EXPECT_TRUE(pair.qa->draining());
  bed.run();
  EXPECT_TRUE(pair.a.completed(first));
  EXPECT_FALSE(pair.a.completed(second));
  EXPECT_FALSE(pair.qa->draining());
  EXPECT_EQ(pair.a.count(AsyncEventType::sq_drained), 1);
  a.state = QpState::rts;
  ASSERT_TRUE(pair.qa->modify(a, mask_state).ok());
  EXPECT_EQ(pair.a.status(second), CompletionStatus::success);
}

TEST(Objects, InUseTheyCannotBeDestroyed) {
  Bed bed(star(2), {});
  Client client(bed, bed.adapter("n0/hw0"));
  QueuePair& qp = client.create();
  EXPECT_EQ(client.context->destroy_domain(client.domain).error, EBUSY);
  EXPECT_EQ(client.context->destroy_completion_queue(client.cq).error, EBUSY);
  ASSERT_TRUE(client.context->destroy_queue_pair(&qp).ok());
  EXPECT_TRUE(client.context->destroy_completion_queue(client.cq).ok());
  ASSERT_TRUE(client.context->deregister_memory(*client.region).ok());
  EXPECT_TRUE(client.context->destroy_domain(client.domain).ok());
  MemoryRegion* region = nullptr;
  ProtectionDomain* domain = client.context->create_domain();
  EXPECT_EQ(client.context->register_memory(*domain, 0, 10, 0, access_remote_write, &region).error, EINVAL);
}

TEST(Objects, AKeyIsGoodOnlyInItsProtectionDomain) {
  Bed bed(star(2), {});
  Pair pair(bed);
  ProtectionDomain* other = pair.b.context->create_domain();
  MemoryRegion* region = nullptr;
  const auto address = reinterpret_cast<std::uintptr_t>(pair.b.at(0));
  ASSERT_TRUE(pair.b.context->register_memory(*other, address, 100, address, 7, &region).ok());
  Segment segment{reinterpret_cast<std::uintptr_t>(pair.a.at(0)), 8, pair.a.region->key};
  SendRequest write{.segments = &segment,
                    .segment_count = 1,
                    .opcode = Opcode::rdma_write,
                    .flags = send_signaled,
                    .remote_address = address,
                    .rkey = region->key};
  EXPECT_EQ(pair.a.status(pair.a.post(*pair.qa, write)), CompletionStatus::remote_access_error);
}

}  // namespace
}  // namespace hawser::fabric::test
