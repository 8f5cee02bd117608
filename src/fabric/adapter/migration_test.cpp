// Automatic path migration: armed by both ends, on request, by itself, and back again.
#include "fabric/adapter/migration.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "fabric/fabric_fixture.h"

namespace hawser::fabric::test {
namespace {

// Two leaves, two spines, LMC 1: LID base + 0 and base + 1 lead over different spines.
struct Forked {
  explicit Forked(ConnectOptions options = {.timeout = 8, .retries = 2, .with_alternate = true})
      : bed(make_fat_tree(2, 2, 4).value(), {.link_rate = 1e9, .link_latency = 100, .lmc = 1}),
        a(bed, bed.adapter("n0/hw0")),
        b(bed, bed.adapter("n2/hw0")),
        qa(a.create()),
        qb(b.create()) {
    connect(qa, qb, options);
  }
  // One message each way tells both ends that the other is ready.
  void arm() {
    EXPECT_EQ(a.status(a.send(qa, Opcode::rdma_write, 0, 8, &b)), CompletionStatus::success);
    EXPECT_EQ(b.status(b.send(qb, Opcode::rdma_write, 0, 8, &a)), CompletionStatus::success);
  }
  // The up-link that leads from n0's leaf to n2 by the LID with this offset.
  void cut(int offset, const char* what) {
    const Lid lid = static_cast<Lid>(b.adapter.port(1).lid() + offset);
    const std::int32_t leaf = *bed.fabric->topology().find_node("LEAF00");
    bed.inject(
        ("link LEAF00:" + std::to_string(bed.fabric->tables().out_port(leaf, lid)) + " " + what).c_str());
  }
  MigrationState state(QueuePair& qp) const { return qp.attributes().migration_state; }
  Outcome load(QueuePair& qp, QueuePair& peer, int offset) {
    QpAttributes attributes;
    attributes.alternate_path = path_to(peer, 1, offset);
    attributes.alternate_port = 1;
    attributes.alternate_timeout = 8;
    attributes.migration_state = MigrationState::rearm;
    return qp.modify(attributes, mask_alternate_path | mask_migration_state);
  }

  Bed bed;
  Client a, b;
  QueuePair &qa, &qb;
};

TEST(Migration, BothEndsArmWhenBothAreReady) {
  Forked f;
  EXPECT_EQ(f.state(f.qa), MigrationState::rearm);
  f.arm();
  EXPECT_EQ(f.state(f.qa), MigrationState::armed);
  EXPECT_EQ(f.state(f.qb), MigrationState::armed);
}

TEST(Migration, AnEndThatIsNotReadyKeepsTheOtherFromArming) {
  Forked f({.timeout = 8, .retries = 2});
  ASSERT_TRUE(f.load(f.qa, f.qb, 1).ok());
  f.arm();
  EXPECT_EQ(f.state(f.qa), MigrationState::rearm);
  EXPECT_EQ(f.state(f.qb), MigrationState::migrated);
}

TEST(Migration, APathThatFailsIsLeftWithoutAnError) {
  Forked f;
  f.arm();
  f.cut(0, "down");
  f.a.fill(0, 100000, 1);
  std::vector<std::uint64_t> ids;
  for (int i = 0; i < 10; ++i) ids.push_back(f.a.send(f.qa, Opcode::rdma_write, 0, 100000, &f.b));
  for (const auto id : ids) EXPECT_EQ(f.a.status(id), CompletionStatus::success);
  EXPECT_TRUE(f.b.same(0, f.a, 0, 100000));
  EXPECT_EQ(f.a.count(AsyncEventType::path_migrated), 1);
  EXPECT_EQ(f.b.count(AsyncEventType::path_migrated), 1);  // it follows, seeing packets by the alternate path
  EXPECT_EQ(f.state(f.qa), MigrationState::migrated);
  EXPECT_EQ(f.state(f.qb), MigrationState::migrated);
  EXPECT_EQ(f.qa.attributes().path.destination_lid, lid_of(f.qb, 1, 1));
  ASSERT_GE(f.bed.fabric->trace().lines().size(), 2u);
  EXPECT_THAT(f.bed.fabric->trace().lines().back().text, testing::HasSubstr("migrated: LID"))
      << "people can see it";
}

TEST(Migration, RearmedItMigratesBack) {
  Forked f;
  f.arm();
  f.cut(0, "down");
  EXPECT_EQ(f.a.status(f.a.send(f.qa, Opcode::rdma_write, 0, 8, &f.b)), CompletionStatus::success);
  f.cut(0, "up");
  ASSERT_TRUE(f.load(f.qa, f.qb, 0).ok());
  ASSERT_TRUE(f.load(f.qb, f.qa, 0).ok());
  f.arm();
  EXPECT_EQ(f.state(f.qa), MigrationState::armed);
  f.cut(1, "down");
  EXPECT_EQ(f.a.status(f.a.send(f.qa, Opcode::rdma_write, 0, 8, &f.b)), CompletionStatus::success);
  EXPECT_EQ(f.a.count(AsyncEventType::path_migrated), 2);
  EXPECT_EQ(f.qa.attributes().path.destination_lid, lid_of(f.qb, 1, 0));
}

TEST(Migration, OnRequestItIsImmediate) {
  Forked f;
  f.arm();
  QpAttributes attributes;
  attributes.migration_state = MigrationState::migrated;
  ASSERT_TRUE(f.qa.modify(attributes, mask_migration_state).ok());
  EXPECT_EQ(f.a.count(AsyncEventType::path_migrated), 1);
  EXPECT_EQ(f.a.status(f.a.send(f.qa, Opcode::rdma_write, 0, 8, &f.b)), CompletionStatus::success);
  EXPECT_EQ(f.b.count(AsyncEventType::path_migrated), 1);
}

TEST(Migration, WithBothPathsDownItFails) {
  Forked f;
  f.arm();
  f.cut(0, "down");
  f.cut(1, "down");
  const auto w = f.a.send(f.qa, Opcode::rdma_write, 0, 8, &f.b);
  EXPECT_EQ(f.a.status(w), CompletionStatus::retry_exceeded_error);
  EXPECT_EQ(f.a.count(AsyncEventType::path_migrated), 1);
}

TEST(Migration, ToTheOtherPortOfTheAdapter) {
  Bed bed(make_single_switch({.hosts = 2, .rails = 1, .ports = 2}).value(),
          {.link_rate = 1e9, .link_latency = 100});
  Pair pair(
      bed, QpType::rc,
      {.timeout = 8, .retries = 2, .with_alternate = true, .alternate_lid_offset = 0, .alternate_port = 2});
  pair.a.status(pair.a.send(*pair.qa, Opcode::rdma_write, 0, 8, &pair.b));
  pair.b.status(pair.b.send(*pair.qb, Opcode::rdma_write, 0, 8, &pair.a));
  bed.inject("link n0/hw0 down");
  EXPECT_EQ(pair.a.status(pair.a.send(*pair.qa, Opcode::rdma_write, 0, 100000, &pair.b)),
            CompletionStatus::success);
  EXPECT_EQ(pair.qa->port(), 2);
  EXPECT_EQ(pair.qb->port(), 2);
  EXPECT_EQ(pair.a.events.front().type, AsyncEventType::port_error);
  EXPECT_EQ(pair.a.events.front().port, 1);
}

TEST(Migration, AMigrationByAnUnknownPathIsRefusedWithAnEvent) {
  Forked f;
  f.arm();
  // The one end takes another port's address for the alternate path.
  QueuePair& other = f.b.create();
  QpAttributes wrong;
  wrong.alternate_path = path_to(other, 1, 0);
  wrong.alternate_port = 1;
  ASSERT_TRUE(f.qb.modify(wrong, mask_alternate_path).ok());
  QpAttributes request;
  request.migration_state = MigrationState::migrated;
  ASSERT_TRUE(f.qa.modify(request, mask_migration_state).ok());
  f.a.send(f.qa, Opcode::rdma_write, 0, 8, &f.b);
  f.bed.run();
  EXPECT_GE(f.b.count(AsyncEventType::path_migration_error), 1);
  EXPECT_EQ(f.b.count(AsyncEventType::path_migrated), 0);
}

}  // namespace
}  // namespace hawser::fabric::test
