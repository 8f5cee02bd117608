// Faults, in virtual time, and the wording of commands.
#include "fabric/fault/fault.h"

#include <gtest/gtest.h>

#include <cerrno>

#include "fabric/fabric_fixture.h"

namespace hawser::fabric::test {
namespace {

constexpr Nanoseconds timeout_14 = Nanoseconds{4096} << 14;  // 67.1 ms

class Faults : public testing::TestWithParam<int> {
 protected:
  Bed bed{star(2, 2), speeds()[static_cast<std::size_t>(GetParam())]};
};
INSTANTIATE_TEST_SUITE_P(Speeds, Faults, testing::Values(0, 1, 2));

TEST_P(Faults, LinkDownForLongFailsAfterAllRetriesAndFlushesTheRest) {
  for (const int retries : {0, 3, 7}) {
    Bed fresh{star(2), speeds()[static_cast<std::size_t>(GetParam())]};
    Pair pair(fresh, QpType::rc, {.retries = static_cast<std::uint8_t>(retries)});
    pair.a.status(pair.a.send(*pair.qa, Opcode::rdma_write, 0, 10, &pair.b));
    fresh.inject("link n1/hw0 down");
    EXPECT_EQ(pair.b.count(AsyncEventType::port_error), 1);
    EXPECT_EQ(pair.a.count(AsyncEventType::port_error), 0);
    const Nanoseconds start = fresh.events.now();
    const auto first = pair.a.send(*pair.qa, Opcode::rdma_write, 0, 100000, &pair.b);
    const auto second = pair.a.send(*pair.qa, Opcode::send, 0, 10);
    const auto receive = pair.a.receive(*pair.qa, 0, 10);
    EXPECT_EQ(pair.a.status(first), CompletionStatus::retry_exceeded_error);
    EXPECT_EQ(pair.a.status(second), CompletionStatus::flush_error);
    EXPECT_EQ(pair.a.status(receive), CompletionStatus::flush_error);
    // The first try and each retry wait for one time-out.
    const double expected = static_cast<double>(timeout_14) * (retries + 1);
    EXPECT_NEAR(static_cast<double>(pair.a.completion_time(first) - start), expected, expected * 0.01);
    EXPECT_EQ(pair.qa->state(), QpState::err);
    const auto late = pair.a.send(*pair.qa, Opcode::send, 0, 10, nullptr, 0, 0);
    EXPECT_EQ(pair.a.status(late), CompletionStatus::flush_error);
  }
}

// Without care the model would go one call deeper for every packet that a dead port discards.
TEST_P(Faults, AVeryLongMessageOnADeadLinkIsDiscardedToo) {
  Client a(bed, bed.adapter("n0/hw0"), 1 << 28);
  Client b(bed, bed.adapter("n1/hw0"), 1 << 28);
  connect(a.create(), b.create(), {.timeout = 10, .retries = 1});
  bed.inject("link n0/hw0 down");
  const auto w = a.send(*a.queue_pairs[0], Opcode::rdma_write, 0, 1 << 28, &b);
  EXPECT_EQ(a.status(w), CompletionStatus::retry_exceeded_error);
}

TEST_P(Faults, ShorterOutagesAreRiddenThrough) {
  Pair pair(bed);
  pair.a.fill(0, 1 << 20, 1);
  const auto w = pair.a.send(*pair.qa, Opcode::rdma_write, 0, 1 << 20, &pair.b);
  bed.run_for(200 * microsecond);
  bed.inject("link n0/hw0 down");
  bed.run_for(3 * timeout_14);
  EXPECT_EQ(pair.a.completed(w), GetParam() == 0);  // without rates it was delivered at once
  const auto w2 = pair.a.send(*pair.qa, Opcode::rdma_write, 0, 100, &pair.b, 7);
  bed.run_for(timeout_14);
  bed.inject("link n0/hw0 up");
  EXPECT_EQ(pair.a.status(w2), CompletionStatus::success);
  EXPECT_EQ(pair.a.status(w), CompletionStatus::success);
  EXPECT_TRUE(pair.b.same(7, pair.a, 0, 100));
  EXPECT_TRUE(pair.b.same(200, pair.a, 200, (1 << 20) - 200));
  EXPECT_EQ(pair.a.count(AsyncEventType::port_error), 1);
  EXPECT_EQ(pair.a.count(AsyncEventType::port_active), 1);
}

TEST_P(Faults, AcknowledgementLostAfterDelivery) {
  Pair pair(bed, QpType::rc, {.timeout = 10, .retries = 2});
  pair.a.fill(0, 5000, 2);
  bed.inject("acks n0/hw0 lose");
  const auto r = pair.b.receive(*pair.qb, 0, 5000);
  const auto s = pair.a.send(*pair.qa, Opcode::send, 0, 5000);
  EXPECT_EQ(pair.a.status(s), CompletionStatus::retry_exceeded_error);
  EXPECT_EQ(pair.b.status(r), CompletionStatus::success);
  EXPECT_TRUE(pair.b.same(0, pair.a, 0, 5000));
  bed.inject("acks n0/hw0 keep");
  // Lost once, the sender's retry finds out, and the receiver has the message once.
  Pair again(bed, QpType::rc, {.timeout = 10});
  bed.inject("acks n0/hw0 lose 1");
  const auto r1 = again.b.receive(*again.qb, 0, 5000);
  again.b.receive(*again.qb, 0, 5000);
  EXPECT_EQ(again.a.status(again.a.send(*again.qa, Opcode::send, 0, 10)), CompletionStatus::success);
  bed.run();
  again.b.collect();
  EXPECT_EQ(again.b.completions.size(), 1u);
  EXPECT_TRUE(again.b.completed(r1));
}

TEST_P(Faults, BlackHolesTellNobody) {
  Pair pair(bed, QpType::rc, {.timeout = 10, .retries = 1});
  bed.inject("link n0/hw0 blackhole in");
  pair.a.fill(0, 100, 3);
  const auto w = pair.a.send(*pair.qa, Opcode::rdma_write, 0, 100, &pair.b);
  EXPECT_EQ(pair.a.status(w), CompletionStatus::retry_exceeded_error);
  EXPECT_TRUE(pair.b.same(0, pair.a, 0, 100));  // it had arrived; only the answer is gone
  EXPECT_TRUE(pair.a.events.empty());
  EXPECT_TRUE(pair.b.events.empty());
  EXPECT_TRUE(bed.adapter("n0/hw0").port(1).active());
}

TEST_P(Faults, BlackHolesOutwardSwallowWhatIsSent) {
  for (const char* command : {"link n0/hw0 blackhole out", "link n0/hw0 blackhole both"}) {
    Pair pair(bed, QpType::rc, {.timeout = 10, .retries = 1});
    bed.inject(command);
    pair.a.fill(0, 100, 3);
    const auto w = pair.a.send(*pair.qa, Opcode::rdma_write, 0, 100, &pair.b);
    // The other way round its packets arrive, and the answers do not (out), or neither (both).
    const auto back = pair.b.send(*pair.qb, Opcode::rdma_write, 200, 100, &pair.a, 200);
    pair.b.fill(200, 100, 4);
    EXPECT_EQ(pair.a.status(w), CompletionStatus::retry_exceeded_error);
    EXPECT_EQ(pair.b.status(back), CompletionStatus::retry_exceeded_error);
    EXPECT_EQ(std::count(pair.b.memory.begin(), pair.b.memory.begin() + 100, std::byte{}), 100);
    EXPECT_EQ(pair.a.same(200, pair.b, 200, 100), std::string_view(command).ends_with("out"));
    EXPECT_TRUE(pair.a.events.empty() && pair.b.events.empty());
    bed.inject("link n0/hw0 clear");
  }
}

// Retries of a packet that was only slow are duplicates, and act once.
TEST_P(Faults, AnswersLaterThanTheTimeOutDoNoHarm) {
  Pair pair(bed, QpType::rc, {.timeout = 6});  // 0.26 ms, eight times
  bed.inject("link n1/hw0 delay 500us");
  std::vector<std::uint64_t> ids;
  for (unsigned i = 0; i < 10; ++i) {
    Segment segment{reinterpret_cast<std::uintptr_t>(pair.a.at(64)), 8, pair.a.region->key};
    SendRequest add{
        .segments = &segment, .segment_count = 1, .opcode = Opcode::fetch_and_add, .flags = send_signaled};
    add.remote_address = reinterpret_cast<std::uintptr_t>(pair.b.at(64));
    add.rkey = pair.b.region->key;
    add.compare_add = 1;
    ids.push_back(pair.a.post(*pair.qa, add));
    pair.b.receive(*pair.qb, 1000 + i * 10, 10);
    ids.push_back(pair.a.send(*pair.qa, Opcode::send, 0, 10));
  }
  for (const auto id : ids) EXPECT_EQ(pair.a.status(id), CompletionStatus::success);
  std::uint64_t counter = 0;
  std::memcpy(&counter, pair.b.at(64), 8);
  EXPECT_EQ(counter, 10u);
  EXPECT_GT(pair.qa->requester().retries(), 0u);
}

TEST_P(Faults, LossIsRepairedAndNothingIsTwice) {
  Pair pair(bed, QpType::rc, {.timeout = 8, .depth = 4}, 512);
  bed.inject("link n0/hw0 loss 0.05");
  pair.a.fill(0, 1 << 20, 4);
  std::uint64_t counter = 0;
  std::memcpy(pair.b.at(1000000), &counter, 8);
  std::vector<std::uint64_t> ids;
  for (unsigned i = 0; i < 100; ++i) {
    pair.b.receive(*pair.qb, 400000 + i * 3000, 3000);
    ids.push_back(pair.a.send(*pair.qa, Opcode::rdma_write, i * 3000, 3000, &pair.b, i * 3000));
    ids.push_back(pair.a.send(*pair.qa, Opcode::send, i * 3000, 3000));
    if (i % 4 == 0) ids.push_back(pair.a.send(*pair.qa, Opcode::rdma_read, 700000, 30000, &pair.b, i * 3000));
    Segment segment{reinterpret_cast<std::uintptr_t>(pair.a.at(1000000)), 8, pair.a.region->key};
    SendRequest add{
        .segments = &segment, .segment_count = 1, .opcode = Opcode::fetch_and_add, .flags = send_signaled};
    add.remote_address = reinterpret_cast<std::uintptr_t>(pair.b.at(1000000));
    add.rkey = pair.b.region->key;
    add.compare_add = 1;
    ids.push_back(pair.a.post(*pair.qa, add));
  }
  for (const auto id : ids) ASSERT_EQ(pair.a.status(id), CompletionStatus::success) << id;
  std::memcpy(&counter, pair.b.at(1000000), 8);
  EXPECT_EQ(counter, 100u);
  EXPECT_TRUE(pair.b.same(0, pair.a, 0, 300000));
  EXPECT_TRUE(pair.b.same(400000, pair.a, 0, 300000));
  EXPECT_GT(pair.qa->requester().retries(), 0u);
  pair.b.collect();
  EXPECT_EQ(pair.b.completions.size(), 100u);
}

TEST_P(Faults, ADeadAdapterIsSilentAndSaysSoAtHome) {
  Pair pair(bed, QpType::rc, {.timeout = 10, .retries = 1});
  bed.inject("adapter n1/hw0 dead");
  EXPECT_EQ(pair.b.count(AsyncEventType::device_fatal), 1);
  const auto w = pair.a.send(*pair.qa, Opcode::rdma_write, 0, 100, &pair.b);
  const auto own = pair.b.send(*pair.qb, Opcode::rdma_write, 0, 100, &pair.a);
  EXPECT_EQ(pair.a.status(w), CompletionStatus::retry_exceeded_error);
  bed.run();
  EXPECT_FALSE(pair.b.completed(own));
  QpAttributes to_error;
  to_error.state = QpState::err;
  EXPECT_TRUE(pair.qb->modify(to_error, mask_state).ok());
  EXPECT_EQ(pair.b.status(own), CompletionStatus::flush_error);
}

// As after a reset: what was open stays dead, also for others, and hears of nothing.
TEST_P(Faults, AnAdapterThatComesBackServesWhoOpensItAnew) {
  Pair pair(bed, QpType::rc, {.timeout = 10, .retries = 1});
  bed.inject("adapter n1/hw0 dead");
  EXPECT_EQ(pair.a.status(pair.a.send(*pair.qa, Opcode::rdma_write, 0, 100, &pair.b)),
            CompletionStatus::retry_exceeded_error);
  bed.inject("adapter n1/hw0 alive");
  EXPECT_EQ(pair.b.count(AsyncEventType::port_active), 0);
  QueuePair* none = nullptr;
  const QueuePair::Configuration wanted{.domain = pair.b.domain,
                                        .send_queue = pair.b.cq,
                                        .receive_queue = pair.b.cq,
                                        .capabilities = {1, 1, 1, 1, 0}};
  EXPECT_EQ(pair.b.context->create_queue_pair(wanted, &none).error, EIO);
  const auto old = pair.b.send(*pair.qb, Opcode::rdma_write, 0, 100, &pair.a);
  bed.run();
  EXPECT_FALSE(pair.b.completed(old));
  Client again(bed, *bed.fabric->adapter("n1/hw0"));
  QueuePair& qa = pair.a.create();
  QueuePair& qb = again.create();
  connect(qa, qb);
  EXPECT_EQ(pair.a.status(pair.a.send(qa, Opcode::rdma_write, 0, 100, &again)), CompletionStatus::success);
  EXPECT_EQ(again.status(again.send(qb, Opcode::rdma_read, 0, 100, &pair.a)), CompletionStatus::success);
}

TEST_P(Faults, ADyingAdapterAcknowledgesWhatItLoses) {
  Pair pair(bed, QpType::rc, {.timeout = 10, .retries = 1});
  pair.a.fill(0, 100, 1);
  bed.inject("adapter n1/hw0 dying");
  EXPECT_EQ(pair.a.status(pair.a.send(*pair.qa, Opcode::rdma_write, 0, 100, &pair.b)),
            CompletionStatus::success);
  EXPECT_FALSE(pair.b.same(0, pair.a, 0, 100));
  EXPECT_EQ(pair.a.status(pair.a.send(*pair.qa, Opcode::rdma_read, 0, 100, &pair.b)),
            CompletionStatus::retry_exceeded_error);
  const auto own = pair.b.send(*pair.qb, Opcode::rdma_write, 0, 100, &pair.a);
  bed.run();
  EXPECT_FALSE(pair.b.completed(own));
  bed.inject("adapter n1/hw0 dead");
  EXPECT_EQ(pair.b.count(AsyncEventType::device_fatal), 1);
  QpAttributes to_error;
  to_error.state = QpState::err;
  EXPECT_TRUE(pair.qb->modify(to_error, mask_state).ok());
  EXPECT_EQ(pair.b.status(own), CompletionStatus::flush_error);
}

TEST_P(Faults, ADeadSwitchTakesItsPortsDown) {
  Pair pair(bed, QpType::rc, {.timeout = 10, .retries = 1});
  bed.inject("switch switch0 dead");
  EXPECT_EQ(pair.a.count(AsyncEventType::port_error), 1);
  EXPECT_EQ(pair.b.count(AsyncEventType::port_error), 1);
  EXPECT_EQ(pair.a.status(pair.a.send(*pair.qa, Opcode::rdma_write, 0, 100, &pair.b)),
            CompletionStatus::retry_exceeded_error);
  bed.inject("switch switch0 alive");
  EXPECT_EQ(pair.a.count(AsyncEventType::port_active), 1);
  Pair again(bed);
  EXPECT_EQ(again.a.status(again.a.send(*again.qa, Opcode::rdma_write, 0, 100, &again.b)),
            CompletionStatus::success);
}

TEST_P(Faults, TheEndOfAClientIsNoticedByRetries) {
  Pair pair(bed, QpType::rc, {.timeout = 10, .retries = 1});
  pair.a.status(pair.a.send(*pair.qa, Opcode::rdma_write, 0, 100, &pair.b));
  pair.b.send(*pair.qb, Opcode::rdma_write, 0, 1 << 18, &pair.a);  // it dies in the middle of this
  bed.run_for(10 * microsecond);
  pair.b.adapter.close(*pair.b.context);
  pair.b.context = nullptr;
  const auto w = pair.a.send(*pair.qa, Opcode::rdma_write, 0, 100, &pair.b);
  EXPECT_EQ(pair.a.status(w), CompletionStatus::retry_exceeded_error);
}

TEST_P(Faults, MemoryOfADeadProcessIsNotDelivered) {
  // The process has died, but nobody has closed its device yet: copying from its memory fails.
  Pair pair(bed, QpType::rc, {.timeout = 10, .retries = 1});
  bed.dma.gone.insert(pair.a.context->space());
  const auto r = pair.b.receive(*pair.qb, 0, 100000);
  pair.a.send(*pair.qa, Opcode::send, 0, 100000);
  bed.run();
  EXPECT_FALSE(pair.b.completed(r));
  EXPECT_EQ(pair.qb->state(), QpState::rts);
  // A reader of dead memory runs out of retries.
  const auto read = pair.b.send(*pair.qb, Opcode::rdma_read, 0, 100, &pair.a);
  EXPECT_EQ(pair.b.status(read), CompletionStatus::retry_exceeded_error);
  EXPECT_EQ(pair.b.status(r), CompletionStatus::flush_error);
}

TEST_P(Faults, AKilledQueuePairFlushesAndSaysSo) {
  Pair pair(bed, QpType::rc, {.timeout = 10, .retries = 1});
  const auto r = pair.b.receive(*pair.qb, 0, 10);
  bed.inject("qp n1/hw0 any kill");
  EXPECT_EQ(pair.b.status(r), CompletionStatus::flush_error);
  EXPECT_EQ(pair.b.count(AsyncEventType::qp_fatal), 1);
  EXPECT_EQ(pair.a.status(pair.a.send(*pair.qa, Opcode::send, 0, 10)),
            CompletionStatus::retry_exceeded_error);
  EXPECT_FALSE(bed.fabric->inject("qp n1/hw0 any kill"));  // there is none left
}

TEST_P(Faults, AKilledSenderFlushesWhatIsUnderWay) {
  Pair pair(bed);
  std::vector<std::uint64_t> ids;
  bed.inject("link n1/hw0 delay 1ms");
  for (unsigned i = 0; i < 5; ++i)
    ids.push_back(pair.a.send(*pair.qa, Opcode::rdma_write, 0, 100000, &pair.b));
  bed.run_for(100 * microsecond);
  bed.inject(("qp n0/hw0 " + std::to_string(pair.qa->number()) + " kill").c_str());
  for (const auto id : ids) EXPECT_EQ(pair.a.status(id), CompletionStatus::flush_error);
  EXPECT_EQ(pair.a.count(AsyncEventType::qp_fatal), 1);
  EXPECT_EQ(pair.qb->state(), QpState::rts);
}

TEST_P(Faults, AHungRequestCompletesOnlyByAFlush) {
  Pair pair(bed);
  bed.inject("qp n0/hw0 all hang");
  const auto first = pair.a.send(*pair.qa, Opcode::rdma_write, 0, 100, &pair.b);
  const auto second = pair.a.send(*pair.qa, Opcode::rdma_write, 0, 100, &pair.b);
  bed.run();
  bed.run_for(100 * hawser::second);
  EXPECT_FALSE(pair.a.completed(first));
  EXPECT_FALSE(pair.a.completed(second));
  QpAttributes to_error;
  to_error.state = QpState::err;
  ASSERT_TRUE(pair.qa->modify(to_error, mask_state).ok());
  EXPECT_EQ(pair.a.status(first), CompletionStatus::flush_error);
  EXPECT_EQ(pair.a.status(second), CompletionStatus::flush_error);
}

TEST_P(Faults, CorruptedPayloadDiffersInOneBit) {
  Pair pair(bed);
  pair.a.fill(0, 1000, 5);
  bed.inject("payload n1/hw0 corrupt 1");
  EXPECT_EQ(pair.a.status(pair.a.send(*pair.qa, Opcode::rdma_write, 0, 1000, &pair.b)),
            CompletionStatus::success);
  int bits = 0;
  for (std::size_t i = 0; i < 1000; ++i) {
    bits += __builtin_popcount(static_cast<unsigned>(pair.a.memory[i] ^ pair.b.memory[i]));
  }
  EXPECT_EQ(bits, 1);
  EXPECT_EQ(pair.a.status(pair.a.send(*pair.qa, Opcode::rdma_write, 0, 1000, &pair.b)),
            CompletionStatus::success);
  EXPECT_TRUE(pair.b.same(0, pair.a, 0, 1000));
}

TEST_P(Faults, BytesOfAFailedRequestAreThoseOfThen) {
  Pair pair(bed);
  pair.a.fill(0, 2048, 6);
  std::vector<std::byte> then(pair.a.memory.begin(), pair.a.memory.begin() + 2048);
  bed.inject("link n1/hw0 delay 1ms");
  pair.a.send(*pair.qa, Opcode::rdma_write, 0, 2048, &pair.b);
  bed.run_for(100 * microsecond);
  QpAttributes to_error;
  to_error.state = QpState::err;
  ASSERT_TRUE(pair.qa->modify(to_error, mask_state).ok());
  pair.a.fill(0, 2048, 7);  // the program uses its buffer again; a late packet must not show that
  bed.run();
  EXPECT_EQ(std::memcmp(pair.b.at(0), then.data(), 2048), 0);
}

TEST(FaultRates, DegradedLinksAreAsSlowAsTold) {
  Bed bed(star(2), {.link_rate = 4e8, .link_latency = microsecond});
  Pair pair(bed);
  const auto seconds_for = [&] {
    const Nanoseconds start = bed.events.now();
    const auto w = pair.a.send(*pair.qa, Opcode::rdma_write, 0, 1 << 20, &pair.b);
    EXPECT_EQ(pair.a.status(w), CompletionStatus::success);
    return static_cast<double>(pair.a.completion_time(w) - start) / 1e9;
  };
  EXPECT_NEAR(seconds_for(), (1 << 20) / 4e8, 5e-5);
  bed.inject("link n1/hw0 rate 10%");
  EXPECT_NEAR(seconds_for(), (1 << 20) / 4e7, 3e-4);
  bed.inject("link n1/hw0 rate 100MB/s");
  EXPECT_NEAR(seconds_for(), (1 << 20) / 1e8, 2e-4);
  bed.inject("link n1/hw0 clear");
  EXPECT_NEAR(seconds_for(), (1 << 20) / 4e8, 5e-5);
  Bed unlimited(star(2), {});
  EXPECT_NE(unlimited.fabric->inject("link n1/hw0 rate 10%").error().text.find("unlimited"),
            std::string::npos);
}

TEST(FaultSchedule, HappensAtItsTimeAndIsLogged) {
  Bed bed(star(2), {.link_rate = 1e9});
  Client watcher(bed, bed.adapter("n0/hw0"));
  ASSERT_TRUE(bed.fabric->schedule(
      "# first down, then up\n0.5 link n0/hw0 down\n1.25 link n0/hw0 up # healed\n", "s"));
  EXPECT_EQ(bed.fabric->pending_faults(), 2u);
  bed.run();
  ASSERT_EQ(watcher.events.size(), 2u);
  EXPECT_EQ(watcher.events[0].time, 500 * millisecond);
  EXPECT_EQ(watcher.events[1].time, 1250 * millisecond);
  ASSERT_EQ(bed.fabric->trace().lines().size(), 2u);
  EXPECT_EQ(bed.fabric->trace().lines()[1].text, "link n0/hw0 up");
  EXPECT_EQ(bed.fabric->pending_faults(), 0u);
}

// LEAF00's entry for n2 leads back to n1; the way home is untouched.
TEST(FaultTables, AWrongEntryLosesPacketsUntilTheNextReroute) {
  for (const Parameters& parameters : speeds()) {
    Bed bed(make_fat_tree(2, 2, 4).value(), parameters);
    Client a(bed, bed.adapter("n0/hw0")), wrong(bed, bed.adapter("n1/hw0")), b(bed, bed.adapter("n2/hw0"));
    connect(a.create(), b.create(), {.timeout = 10, .retries = 1});
    const std::string lid = std::to_string(b.adapter.port(1).lid());
    bed.inject(("tables LEAF00 " + lid + " 2").c_str());
    const auto w = a.send(*a.queue_pairs[0], Opcode::rdma_write, 0, 100000, &b);
    EXPECT_EQ(b.status(b.send(*b.queue_pairs[0], Opcode::rdma_write, 0, 10, &a)),
              CompletionStatus::retry_exceeded_error);  // the answers take the wrong turn as well
    EXPECT_EQ(a.status(w), CompletionStatus::retry_exceeded_error);
    EXPECT_EQ(std::count(b.memory.begin(), b.memory.end(), std::byte{}), 1 << 20);
    EXPECT_EQ(std::count(wrong.memory.begin(), wrong.memory.end(), std::byte{}), 1 << 20);
    bed.inject("tables reroute");
    connect(a.create(), b.create(), {.timeout = 10, .retries = 1});
    EXPECT_EQ(a.status(a.send(*a.queue_pairs[1], Opcode::rdma_write, 0, 100000, &b)),
              CompletionStatus::success);
    // An entry that changes in the middle of a message costs no more than its packets.
    const auto long_one = a.send(*a.queue_pairs[1], Opcode::rdma_write, 0, 1 << 20, &b);
    bed.run_for(100 * microsecond);
    bed.inject(("tables LEAF00 " + lid + " 0").c_str());  // no way at all
    bed.run_for(500 * microsecond);
    bed.inject("tables reroute");
    EXPECT_EQ(a.status(long_one), CompletionStatus::success);
  }
}

TEST(FaultSchedule, TablesFollowTheCablesAfterTheDelay) {
  Bed bed(make_fat_tree(2, 2, 4).value(), {.link_latency = 100, .reroute_delay = 27 * millisecond});
  Client a(bed, bed.adapter("n0/hw0")), b(bed, bed.adapter("n2/hw0"));
  connect(a.create(), b.create(), {.timeout = 12});
  // The spine that LEAF00 uses for n2.
  const Lid lid = bed.adapter("n2/hw0").port(1).lid();
  const std::int32_t leaf = *bed.fabric->topology().find_node("LEAF00");
  const std::string command =
      "link LEAF00:" + std::to_string(bed.fabric->tables().out_port(leaf, lid)) + " down";
  bed.inject(command.c_str());
  EXPECT_EQ(a.status(a.send(*a.queue_pairs[0], Opcode::rdma_write, 0, 100, &b)), CompletionStatus::success);
  EXPECT_GE(bed.events.now(), 27 * millisecond);
  EXPECT_LE(bed.events.now(), 27 * millisecond + 2 * (Nanoseconds{4096} << 12));
}

TEST(FaultAddresses, LidAndSubnetManagerChangesAreTold) {
  Bed bed(star(2), {});
  Pair pair(bed, QpType::rc, {.timeout = 8, .retries = 1});
  bed.inject("lid n1/hw0 500");
  EXPECT_EQ(bed.adapter("n1/hw0").port(1).lid(), 500);
  EXPECT_EQ(pair.b.count(AsyncEventType::lid_change), 1);
  EXPECT_EQ(pair.a.status(pair.a.send(*pair.qa, Opcode::rdma_write, 0, 8, &pair.b)),
            CompletionStatus::retry_exceeded_error);
  Pair again(bed);
  EXPECT_EQ(again.a.status(again.a.send(*again.qa, Opcode::rdma_write, 0, 8, &again.b)),
            CompletionStatus::success);
  bed.inject("sm change");
  EXPECT_EQ(again.a.count(AsyncEventType::sm_change), 1);
  EXPECT_EQ(again.a.count(AsyncEventType::client_reregister), 1);
  EXPECT_FALSE(bed.fabric->inject("lid n0/hw0 500"));
  EXPECT_FALSE(bed.fabric->inject("lid n0/hw0 0"));
}

TEST(FaultAddresses, AMovedGidLosesItsConnections) {
  Bed bed(star(2), {.link_layer = LinkLayer::ethernet});
  Pair pair(bed, QpType::rc, {.timeout = 8, .retries = 1});
  EXPECT_EQ(pair.a.status(pair.a.send(*pair.qa, Opcode::rdma_write, 0, 8, &pair.b)),
            CompletionStatus::success);
  bed.inject("gid n0/hw0 move 0 3");
  EXPECT_EQ(pair.a.count(AsyncEventType::gid_change), 1);
  EXPECT_EQ(bed.adapter("n0/hw0").port(1).gids()[0].gid, Gid{});
  EXPECT_EQ(pair.a.status(pair.a.send(*pair.qa, Opcode::rdma_write, 0, 8, &pair.b)),
            CompletionStatus::retry_exceeded_error);
}

TEST(FaultText, ErrorsSayWhatIsWrong) {
  const Topology topology = star(2);
  const std::pair<const char*, const char*> cases[] = {
      {"", "the fault is empty"},
      {"lnk n0/hw0 down", "'lnk' is not a fault"},
      {"link", "the port is missing"},
      {"link n7/hw0 down", "there is no node 'n7/hw0'"},
      {"link switch0:20 down", "nothing is plugged in at 'switch0:20'"},
      {"link n0/hw0", "what happens to the link is missing"},
      {"link n0/hw0 sideways now", "'sideways' is unknown"},
      {"link n0/hw0 down now", "'now' is too much"},
      {"link n0/hw0 loss 2", "more than the whole"},
      {"link n0/hw0 rate fast", "is not a rate"},
      {"link n0/hw0 rate 0%", "a rate of 0 means a link that is down"},
      {"link n0/hw0 blackhole up", "'up' is unknown"},
      {"switch n0/hw0 dead", "there is no switch 'n0/hw0'"},
      {"link n0/hw0 dwn", "'dwn' is unknown; possible: down, up, rate, loss, blackhole, delay, clear"},
      {"link n0/hw0 delay 5", "'5' is not a duration: its unit is missing at character 2"},
      {"switch switch0 dying", "'dying' is unknown; possible: dead, alive"},
      {"adapter n0/hw0 sick", "'sick' is unknown; possible: dead, alive, dying"},
      {"adapter switch0 dead", "there is no adapter 'switch0'"},
      {"adapter n0/hw0 asleep", "'asleep' is unknown"},
      {"qp n0/hw0 some kill", "'some' is unknown"},
      {"acks switch0:1 lose", "is not an adapter"},
      {"gid n0/hw0 move 0 16", "'16' is not a GID index"},
      {"tables switch9 1 1", "there is no switch 'switch9'"},
      {"tables switch0 1 99", "'99' is not a port number"},
  };
  for (const auto& [text, error] : cases) {
    const auto fault = parse_fault(text, topology);
    ASSERT_FALSE(fault) << text;
    EXPECT_NE(fault.error().text.find(error), std::string::npos) << text << ": " << fault.error().text;
  }
  EXPECT_EQ(parse_schedule("1.5ms link n0/hw0 down\n0.5 link n0/hw0 up\n", "f", topology).value()[0].after,
            1'500'000);
  EXPECT_TRUE(parse_schedule("x link n0/hw0 down\n", "f", topology).error().text.starts_with("f:1: 'x'"));
  EXPECT_TRUE(
      parse_schedule("\n1 link n9/hw0 down\n", "f", topology).error().text.starts_with("f:2: there is"));
}

}  // namespace
}  // namespace hawser::fabric::test
