// Clients that end amid traffic, at any moment: their peers' requests complete, in error or not; nothing is
// written to memory of the dead; a successor at the same adapter is served.
#include <gtest/gtest.h>

#include "fabric/fabric_fixture.h"

namespace hawser::fabric::test {
namespace {

constexpr std::uint32_t piece = 30000;

void post_some(Random& random, Client& from, QueuePair& qp, Client& to, QueuePair& peer) {
  static constexpr Opcode opcodes[] = {Opcode::send, Opcode::rdma_write, Opcode::rdma_read,
                                       Opcode::rdma_write_with_immediate};
  for (int i = 0; i < 12; ++i) {
    const Opcode opcode = opcodes[random.below(4)];
    if (opcode == Opcode::send || opcode == Opcode::rdma_write_with_immediate)
      to.receive(peer, random.below(20) * piece, piece);
    from.send(qp, opcode, random.below(20) * piece, static_cast<std::uint32_t>(random.below(piece)), &to,
              random.below(20) * piece);
  }
}

class ClientDeath : public testing::TestWithParam<int> {};
INSTANTIATE_TEST_SUITE_P(Seeds, ClientDeath, testing::Range(0, 24));

TEST_P(ClientDeath, IsNobodyElsesHarm) {
  const auto seed = static_cast<std::uint64_t>(GetParam());
  const ConnectOptions options{.timeout = 8, .retries = 2, .rnr_retries = 3, .rnr_timer = 5};
  std::uint64_t hashes[2];
  for (std::uint64_t& hash : hashes) {
    Random random(seed);
    Bed bed(star(3), speeds()[seed % 3]);
    Client a(bed, bed.adapter("n0/hw0")), b(bed, bed.adapter("n1/hw0"));
    auto dying = std::make_unique<Client>(bed, bed.adapter("n2/hw0"));
    const std::pair<Client*, Client*> joined[] = {{&a, dying.get()}, {&b, dying.get()}, {&a, &b}};
    for (const auto& [one, other] : joined) {
      QueuePair& here = one->create();
      QueuePair& there = other->create();
      connect(here, there, options);
      post_some(random, *one, here, *other, there);
      post_some(random, *other, there, *one, here);
    }
    bed.run_for(static_cast<Nanoseconds>(random.below(400 * microsecond)));
    dying->adapter.close(*dying->context);
    dying->context = nullptr;
    bed.dma.forbid(dying->memory.data());
    bed.run();
    // The two that live have lost nothing of what they had with each other.
    QueuePair& last = *a.queue_pairs.back();
    EXPECT_EQ(last.state(), QpState::rts);
    EXPECT_EQ(b.queue_pairs.back()->state(), QpState::rts);
    EXPECT_EQ(a.queue_pairs.front()->requester().outstanding(), 0u);
    EXPECT_EQ(b.queue_pairs.front()->requester().outstanding(), 0u);
    Client successor(bed, bed.adapter("n2/hw0"));
    connect(a.create(), successor.create(), options);
    EXPECT_EQ(a.status(a.send(*a.queue_pairs.back(), Opcode::rdma_write, 0, piece, &successor)),
              CompletionStatus::success);
    EXPECT_TRUE(successor.same(0, a, 0, piece));
    hash = bed.fabric->trace().hash();
  }
  EXPECT_EQ(hashes[0], hashes[1]);
}

}  // namespace
}  // namespace hawser::fabric::test
