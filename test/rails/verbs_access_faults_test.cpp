// The access layer on the verbs API, over a fabric in this process: what happens when things fail.
#include <algorithm>
#include <cstring>

#include <fmt/format.h>

#include "local_rails.h"

namespace hawser::rdma::test {
namespace {

TEST(VerbsAccessFaults, ErrorFlushesInOrderAndTheMarkerIsLast) {
  LocalRails rails(two_hosts());
  const auto first = rails.open_first(0), second = rails.open_first(1);
  End a(*first), b(*second);
  a.connect(b);
  b.connect(a);
  rails.inject("link n0/hw0 blackhole both");
  for (std::uint64_t id = 1; id <= 5; ++id) {
    SendRequest wanted = a.request(id, Opcode::write, 0, 100, &b);
    wanted.signaled = id % 2 == 0;
    EXPECT_EQ(a.post(wanted), 1);
  }
  rails.run_for(microsecond);
  EXPECT_TRUE(a.poll().empty());
  ASSERT_TRUE(a.pair->make_error());
  EXPECT_EQ(a.post(a.request(99, Opcode::send, 0, 0)), 1);
  rails.run();
  const auto flushed = a.poll();
  ASSERT_EQ(flushed.size(), 6u);
  for (std::size_t i = 0; i < 6; ++i) {
    EXPECT_EQ(flushed[i].id, i < 5 ? i + 1 : 99);
    EXPECT_EQ(flushed[i].status, Status::flushed);
    EXPECT_EQ(flushed[i].queue_pair, a.pair->number());
  }
}

TEST(VerbsAccessFaults, RetriesEndWhenTheirTimeIsOver) {
  LocalRails rails(two_hosts());
  const auto first = rails.open_first(0), second = rails.open_first(1);
  End a(*first), b(*second);
  const RetryPolicy retry_policy{.acknowledge_time = 5 * millisecond, .retries = 3};
  a.connect(b, retry_policy);
  b.connect(a, retry_policy);
  rails.inject("link n0/hw0 blackhole both");
  const Nanoseconds from = rails.events.now();
  EXPECT_EQ(a.post(a.request(1, Opcode::write, 0, 100, &b)), 1);
  EXPECT_EQ(a.post(a.request(2, Opcode::write, 0, 100, &b)), 1);
  rails.run();
  const auto done = a.poll();
  ASSERT_EQ(done.size(), 2u);
  EXPECT_EQ(done[0].status, Status::retry_exceeded);
  EXPECT_EQ(done[1].status, Status::flushed);
  const double expected = 4 * 4096.0 * (1 << 11);  // 8.39 ms is the next power of two
  EXPECT_NEAR(static_cast<double>(rails.events.now() - from), expected, expected / 10);
}

TEST(VerbsAccessFaults, AWrongKeyIsTheRemoteEndsRefusal) {
  LocalRails rails(two_hosts());
  const auto first = rails.open_first(0), second = rails.open_first(1);
  End a(*first), b(*second);
  a.connect(b);
  b.connect(a);
  SendRequest wanted = a.request(1, Opcode::write, 0, 100, &b);
  wanted.remote_key += 0x1000;
  EXPECT_EQ(a.post(wanted), 1);
  rails.run();
  const auto done = a.poll();
  ASSERT_EQ(done.size(), 1u);
  EXPECT_EQ(done[0].status, Status::remote_access);
  const auto events = b.events();
  EXPECT_TRUE(std::any_of(events.begin(), events.end(), [&](const DeviceEvent& event) {
    return event.kind == DeviceEvent::Kind::queue_pair_fatal && event.queue_pair == b.pair->number();
  }));
}

TEST(VerbsAccessFaults, NothingOfADestroyedQueuePairComesOut) {
  LocalRails rails(two_hosts());
  const auto first = rails.open_first(0), second = rails.open_first(1);
  End a(*first), b(*second), c(*second);
  a.connect(b);
  b.connect(a);
  for (std::uint64_t id = 0; id < 3; ++id) EXPECT_EQ(a.post(a.request(id, Opcode::write, 0, 8, &b)), 1);
  rails.run();  // three completions stand in the queue
  auto other = std::move(a.pair);
  a.make_pair();
  a.connect(c);
  c.connect(a);
  EXPECT_EQ(a.post(a.request(10, Opcode::write, 0, 8, &c)), 1);
  rails.run();
  other.reset();
  EXPECT_EQ(a.post(a.request(11, Opcode::write, 0, 8, &c)), 1);
  rails.run();
  // One at a time: what was taken aside comes first.
  for (const std::uint64_t id : {10u, 11u}) {
    Completion one;
    ASSERT_EQ(a.queue->poll({&one, 1}), 1);
    EXPECT_EQ(one.id, id);
    EXPECT_EQ(one.queue_pair, a.pair->number());
  }
  EXPECT_TRUE(a.poll().empty());
}

TEST(VerbsAccessFaults, ALateWriteFindsNobody) {
  LocalRails rails(two_hosts());
  const auto first = rails.open_first(0), second = rails.open_first(1);
  End a(*first), b(*second);
  const RetryPolicy brief{.acknowledge_time = millisecond, .retries = 1};
  a.connect(b, brief);
  b.connect(a, brief);
  ASSERT_TRUE(b.pair->make_error());
  std::memset(a.memory.data(), 0x5a, 100);
  EXPECT_EQ(a.post(a.request(1, Opcode::write, 0, 100, &b)), 1);
  rails.run();
  EXPECT_EQ(b.memory[0], std::byte{0});
  const auto done = a.poll();
  ASSERT_EQ(done.size(), 1u);
  EXPECT_EQ(done[0].status, Status::retry_exceeded);
}

TEST(VerbsAccessFaults, PortEventsKeepTheirNumber) {
  LocalRails rails(two_hosts(1, 2));
  const auto first = rails.open_first(0), second = rails.open_first(1);
  ASSERT_EQ(first->attributes().ports, 2);
  End one(*first, 1), two(*first, 2), peer_one(*second, 1), peer_two(*second, 2);
  one.connect(peer_one);
  peer_one.connect(one);
  two.connect(peer_two);
  peer_two.connect(two);
  rails.inject("link n0/hw0:2 down");
  rails.run_for(millisecond);
  auto events = one.events();
  ASSERT_EQ(events.size(), 1u);
  EXPECT_EQ(events[0].kind, DeviceEvent::Kind::port_down);
  EXPECT_EQ(events[0].port, 2);
  EXPECT_TRUE(first->query_port(1).value().active);
  EXPECT_FALSE(first->query_port(2).value().active);
  EXPECT_EQ(one.post(one.request(1, Opcode::write, 0, 8, &peer_one)), 1);
  rails.run_for(millisecond);
  const auto done = one.poll();
  ASSERT_EQ(done.size(), 1u);
  EXPECT_EQ(done[0].status, Status::success);
  rails.inject("link n0/hw0:2 up");
  rails.run_for(millisecond);
  events = one.events();
  ASSERT_FALSE(events.empty());
  EXPECT_EQ(events[0].kind, DeviceEvent::Kind::port_active);
  EXPECT_EQ(events[0].port, 2);
}

TEST(VerbsAccessFaults, AddressChangesAreToldAndSeen) {
  LocalRails rails(two_hosts());
  const auto device = rails.open_first(0);
  End end(*device);
  rails.inject("lid n0/hw0 77");
  rails.run();
  const auto events = end.events();
  ASSERT_FALSE(events.empty());
  EXPECT_EQ(events[0].kind, DeviceEvent::Kind::address_changed);
  EXPECT_EQ(events[0].port, 1);
  EXPECT_EQ(end.address().lid, 77);
}

TEST(VerbsAccessFaults, AKilledQueuePairIsNamed) {
  LocalRails rails(two_hosts());
  const auto first = rails.open_first(0), second = rails.open_first(1);
  End a(*first), b(*second);
  a.connect(b);
  b.connect(a);
  rails.inject(fmt::format("qp n0/hw0 {} kill", a.pair->number()).c_str());
  rails.run();
  const auto events = a.events();
  EXPECT_TRUE(std::any_of(events.begin(), events.end(), [&](const DeviceEvent& event) {
    return event.kind == DeviceEvent::Kind::queue_pair_fatal && event.queue_pair == a.pair->number();
  }));
}

TEST(VerbsAccessFaults, ADeadAdapterIsFatalAndPollingSaysSoOrFlushes) {
  LocalRails rails(two_hosts());
  const auto first = rails.open_first(0), second = rails.open_first(1);
  End a(*first), b(*second);
  a.connect(b);
  b.connect(a);
  EXPECT_EQ(a.post(a.request(1, Opcode::write, 0, 8, &b)), 1);
  rails.inject("adapter n0/hw0 dead");
  rails.run();
  const auto events = a.events();
  EXPECT_TRUE(std::any_of(events.begin(), events.end(), [](const DeviceEvent& event) {
    return event.kind == DeviceEvent::Kind::device_fatal;
  }));
  EXPECT_FALSE(first->make_completion_queue(10) && first->query_port(1).value().active);
}

// Two ports of one adapter; the connection begins on the first.
struct Migrating {
  Migrating() {
    a.connect(b, brief);
    b.connect(a, brief);
  }
  void arm() {
    for (auto [end, peer] : {std::pair(&a, &b), std::pair(&b, &a)}) {
      Route route;
      route.destination = peer->device.query_port(2).value().address;
      route.port = 2;
      const auto loaded = end->pair->load_alternate(route, millisecond);
      ASSERT_TRUE(loaded) << loaded.error().text;
    }
  }
  void exchange(std::uint64_t id) {
    EXPECT_EQ(a.post(a.request(id, Opcode::write, 0, 8, &b)), 1);
    rails.run_for(second);
    const auto done = a.poll();
    ASSERT_EQ(done.size(), 1u);
    EXPECT_EQ(done[0].id, id);
    EXPECT_EQ(done[0].status, Status::success);
  }
  bool told(End& end) {
    const auto events = end.events();
    return std::any_of(events.begin(), events.end(), [&](const DeviceEvent& event) {
      return event.kind == DeviceEvent::Kind::path_migrated && event.queue_pair == end.pair->number();
    });
  }

  RetryPolicy brief{.acknowledge_time = millisecond, .retries = 2};
  LocalRails rails{two_hosts(1, 2)};
  std::unique_ptr<Device> first = rails.open_first(0), other = rails.open_first(1);
  End a{*first, 1}, b{*other, 1};
};

TEST(VerbsAccessFaults, MigrationOnRequest) {
  Migrating m;
  EXPECT_EQ(m.a.pair->migration_state().value(), MigrationState::migrated);
  m.arm();
  m.exchange(1);  // both are armed when packets pass
  EXPECT_EQ(m.a.pair->migration_state().value(), MigrationState::armed);
  ASSERT_TRUE(m.a.pair->migrate());
  m.exchange(2);
  EXPECT_TRUE(m.told(m.b));
  EXPECT_EQ(m.a.pair->migration_state().value(), MigrationState::migrated);
  EXPECT_EQ(m.b.pair->migration_state().value(), MigrationState::migrated);
  m.rails.inject("link n0/hw0:1 down");
  m.exchange(3);
}

TEST(VerbsAccessFaults, MigrationByTheAdapterWhenTheCableIsPulled) {
  Migrating m;
  m.arm();
  m.exchange(1);
  m.rails.inject("link n0/hw0:1 down");
  m.exchange(2);
  EXPECT_TRUE(m.told(m.a));
  m.exchange(3);
}

TEST(VerbsAccessFaults, MigrationWithoutAnAlternateIsRefused) {
  Migrating m;
  const auto moved = m.a.pair->migrate();
  ASSERT_FALSE(moved);
  EXPECT_NE(moved.error().text.find("on hw0 has no alternate path armed"), std::string::npos)
      << moved.error().text;
}

TEST(VerbsAccessFaults, DatagramsOutliveAnErrorOfTheirQueuePair) {
  LocalRails rails(two_hosts());
  const auto first = rails.open_first(0), second = rails.open_first(1);
  auto a = first->make_datagram_queue_pair(1, 7).value();
  auto b = second->make_datagram_queue_pair(1, 7).value();
  const DatagramAddress to_b{second->query_port(1).value().address, b->number()};
  const std::byte text[8] = {};
  rails.inject(fmt::format("qp n1/hw0 {} kill", b->number()).c_str());
  rails.inject(fmt::format("qp n0/hw0 {} kill", a->number()).c_str());
  rails.run();
  int received = 0;
  for (int i = 0; i < 5; ++i) {
    (void)a->send(to_b, text);
    rails.run();
    received += b->receive().empty() ? 0 : 1;
  }
  EXPECT_GE(received, 3);
}

}  // namespace
}  // namespace hawser::rdma::test
