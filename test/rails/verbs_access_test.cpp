// The access layer on the verbs API, over a fabric in this process: everything that works.
#include <algorithm>
#include <cstring>

#include "local_rails.h"

namespace hawser::rdma::test {

verbs::Platform*& turn() {
  static verbs::Platform* whose = nullptr;
  return whose;
}

}  // namespace hawser::rdma::test

namespace hawser::verbs {
Platform& current_platform() { return *rdma::test::turn(); }
}  // namespace hawser::verbs

namespace hawser::rdma::test {
namespace {

void fill(End& end, std::size_t offset, std::size_t bytes, int seed) {
  for (std::size_t i = 0; i < bytes; ++i)
    end.memory[offset + i] = static_cast<std::byte>(i * 31 + static_cast<std::size_t>(seed));
}

TEST(VerbsAccess, DevicesTellTheirAttributes) {
  LocalRails rails(two_hosts(2));
  const auto devices = rails.open(0);
  ASSERT_EQ(devices.size(), 2u);
  const DeviceAttributes& attributes = devices[1]->attributes();
  EXPECT_EQ(attributes.name, "hw1");
  EXPECT_EQ(attributes.ports, 1);
  EXPECT_TRUE(attributes.path_migration);
  EXPECT_GE(attributes.inline_bytes, 64);
  EXPECT_GE(attributes.outstanding_reads, 4);
  EXPECT_GE(attributes.send_queue_depth, 128);
  const auto port = devices[1]->query_port(1);
  ASSERT_TRUE(port);
  EXPECT_TRUE(port.value().active);
  EXPECT_NE(port.value().address.lid, 0);
  EXPECT_EQ(port.value().address.mtu, 4);  // 2048
  EXPECT_GT(port.value().bytes_per_second, 0);
  const auto none = devices[1]->query_port(2);
  ASSERT_FALSE(none);
  EXPECT_EQ(none.error().text, "hw1 has no port 2; it has 1 to 1");
  EXPECT_EQ(devices[1]->descriptor(), -1);
}

TEST(VerbsAccess, RefusalsNameTheCallAndTheDevice) {
  LocalRails rails(two_hosts());
  const auto device = rails.open_first(0);
  const auto queue = device->make_completion_queue(device->attributes().completion_queue_depth + 1);
  ASSERT_FALSE(queue);
  EXPECT_NE(queue.error().text.find("ibv_create_cq"), std::string::npos);
  EXPECT_NE(queue.error().text.find("on hw0: Invalid argument (EINVAL)"), std::string::npos)
      << queue.error().text;
  End end(*device);
  const auto state = end.pair->make_ready_to_send();  // it is in INIT
  ASSERT_FALSE(state);
  EXPECT_NE(state.error().text.find("ibv_modify_qp (RTS) on hw0"), std::string::npos) << state.error().text;
}

TEST(VerbsAccess, SendsReadsAndWrites) {
  LocalRails rails(two_hosts());
  const auto first = rails.open_first(0), second = rails.open_first(1);
  End a(*first), b(*second);
  a.connect(b);
  b.connect(a);
  fill(a, 0, 4096, 1);
  fill(b, 8192, 4096, 2);
  b.receive(70, 0, 4096);
  SendRequest batch[] = {a.request(1, Opcode::write, 0, 1000, &b, 20000), a.request(2, Opcode::send, 0, 4096),
                         a.request(3, Opcode::read, 8192, 4096, &b, 8192)};
  batch[0].signaled = false;
  EXPECT_EQ(a.pair->post_send(batch), 3);
  rails.run();
  const auto received = b.poll();
  ASSERT_EQ(received.size(), 1u);
  EXPECT_EQ(received[0].id, 70u);
  EXPECT_EQ(received[0].status, Status::success);
  EXPECT_EQ(received[0].opcode, Opcode::receive);
  EXPECT_EQ(received[0].bytes, 4096u);
  EXPECT_EQ(received[0].queue_pair, b.pair->number());
  const auto sent = a.poll();
  ASSERT_EQ(sent.size(), 2u);
  EXPECT_EQ(sent[0].id, 2u);
  EXPECT_EQ(sent[0].opcode, Opcode::send);
  EXPECT_EQ(sent[1].id, 3u);
  EXPECT_EQ(sent[1].opcode, Opcode::read);
  EXPECT_EQ(std::memcmp(&b.memory[0], &a.memory[0], 4096), 0);
  EXPECT_EQ(std::memcmp(&b.memory[20000], &a.memory[0], 1000), 0);
  EXPECT_EQ(std::memcmp(&a.memory[8192], &b.memory[8192], 4096), 0);
  EXPECT_TRUE(a.poll().empty());
}

TEST(VerbsAccess, InlineBytesAreCopiedOutAndSegmentsJoined) {
  LocalRails rails(two_hosts());
  const auto first = rails.open_first(0), second = rails.open_first(1);
  End a(*first), b(*second);
  a.connect(b);
  b.connect(a);
  b.receive(1, 0, 100);
  char head[] = "strands ", tail[] = "of rope";
  SendRequest wanted;
  wanted.inlined = true;
  wanted.segment_count = 2;
  wanted.segments[0] = {reinterpret_cast<std::byte*>(head), 8, 0};
  wanted.segments[1] = {reinterpret_cast<std::byte*>(tail), 8, 0};
  EXPECT_EQ(a.post(wanted), 1);
  std::memset(head, 'x', 8);
  std::memset(tail, 'x', 8);
  rails.run();
  ASSERT_EQ(b.poll().size(), 1u);
  EXPECT_STREQ(reinterpret_cast<const char*>(b.memory.data()), "strands of rope");
}

TEST(VerbsAccess, LongBatchesGoInOneCallAndAFullQueueTakesAFront) {
  LocalRails rails(two_hosts());
  const auto first = rails.open_first(0), second = rails.open_first(1);
  End a(*first, 1, 40), b(*second);
  a.connect(b);
  b.connect(a);
  std::vector<SendRequest> batch;
  for (std::uint64_t i = 0; i < 60; ++i) batch.push_back(a.request(i, Opcode::write, 0, 8, &b, 0));
  const int taken = a.pair->post_send(batch);
  EXPECT_GE(taken, 40);
  EXPECT_LT(taken, 60);
  rails.run();
  const auto done = a.poll();
  ASSERT_EQ(done.size(), static_cast<std::size_t>(taken));
  for (std::size_t i = 0; i < done.size(); ++i) EXPECT_EQ(done[i].id, i);
  EXPECT_EQ(a.pair->post_send(std::span(batch).subspan(static_cast<std::size_t>(taken))), 60 - taken);
  rails.run();
  EXPECT_EQ(a.poll().size(), static_cast<std::size_t>(60 - taken));
}

TEST(VerbsAccess, EveryPathBitReachesThePort) {
  fabric::Parameters parameters;
  parameters.lmc = 2;
  LocalRails rails(fabric::make_single_switch({.hosts = 2, .rails = 1}).value(), parameters);
  const auto first = rails.open_first(0), second = rails.open_first(1);
  EXPECT_EQ(first->query_port(1).value().address.lmc, 2);
  for (std::uint8_t path = 0; path < 4; ++path) {
    End a(*first), b(*second);
    a.connect(b, {}, path);
    b.connect(a, {}, path);
    EXPECT_EQ(a.post(a.request(1, Opcode::write, 0, 8, &b)), 1);
    rails.run();
    ASSERT_EQ(a.poll().size(), 1u) << int{path};
  }
}

TEST(VerbsAccess, DatagramsGoBothWays) {
  LocalRails rails(two_hosts());
  const auto first = rails.open_first(0), second = rails.open_first(1);
  auto a = first->make_datagram_queue_pair(1, 0x1234).value();
  auto b = second->make_datagram_queue_pair(1, 0x1234).value();
  const DatagramAddress to_a{first->query_port(1).value().address, a->number()};
  const DatagramAddress to_b{second->query_port(1).value().address, b->number()};
  EXPECT_TRUE(a->receive().empty());
  std::vector<std::byte> text(static_cast<std::size_t>(a->datagram_bytes()));
  for (int i = 0; i < 1000; ++i) {
    DatagramQueuePair& from = i % 2 == 0 ? *a : *b;
    DatagramQueuePair& into = i % 2 == 0 ? *b : *a;
    const std::size_t bytes = 1 + static_cast<std::size_t>(i) % text.size();
    text[bytes - 1] = static_cast<std::byte>(i);
    ASSERT_TRUE(from.send(i % 2 == 0 ? to_b : to_a, std::span(text).first(bytes))) << i;
    rails.run();
    const auto arrived = into.receive();
    ASSERT_EQ(arrived.size(), bytes);
    EXPECT_EQ(arrived.back(), static_cast<std::byte>(i));
    EXPECT_TRUE(into.receive().empty());
  }
}

TEST(VerbsAccess, GroupsReachAllThatAreAttached) {
  LocalRails rails(two_hosts());
  const auto first = rails.open_first(0), second = rails.open_first(1);
  auto a = first->make_datagram_queue_pair(1, 0x1234).value();
  auto b = second->make_datagram_queue_pair(1, 0x1234).value();
  auto c = second->make_datagram_queue_pair(1, 0x1234).value();
  MulticastGroup group;
  group.gid = {0xff, 0x12, 7};
  group.lid = 0xc007;
  ASSERT_TRUE(b->attach(group));
  ASSERT_TRUE(b->attach(group));
  ASSERT_TRUE(c->attach(group));
  const std::array<std::byte, 3> head = {std::byte{1}, std::byte{2}, std::byte{3}};
  const std::vector<std::byte> rest(static_cast<std::size_t>(a->datagram_bytes()) - 3, std::byte{4});
  for (int round = 0; round < 100; ++round) {
    ASSERT_TRUE(a->send_to_group(group, head, round % 2 == 0 ? std::span<const std::byte>() : rest));
    rails.run();
    for (DatagramQueuePair* const into : {b.get(), c.get()}) {
      const auto received = into->receive();
      ASSERT_EQ(received.size(), round % 2 == 0 ? 3u : 3u + rest.size());
      EXPECT_EQ(received[2], std::byte{3});
      EXPECT_EQ(received.back(), round % 2 == 0 ? std::byte{3} : std::byte{4});
    }
    EXPECT_TRUE(a->receive().empty());
  }
  c->detach(group);
  b->restart();  // stays attached
  ASSERT_TRUE(a->send_to_group(group, head, {}));
  EXPECT_TRUE(b->receive().empty());
  rails.run();
  EXPECT_TRUE(b->receive().size() == 3 && c->receive().empty());
  MulticastGroup none = group;
  none.gid[0] = 0xfe;
  const auto refused = b->attach(none);
  ASSERT_FALSE(refused);
  EXPECT_NE(refused.error().text.find("ibv_attach_mcast on hw0"), std::string::npos) << refused.error().text;
}

TEST(VerbsAccess, DatagramsOfAnotherKeyOrTooManyAreLost) {
  LocalRails rails(two_hosts());
  const auto first = rails.open_first(0), second = rails.open_first(1);
  auto a = first->make_datagram_queue_pair(1, 0x1234).value();
  auto b = second->make_datagram_queue_pair(1, 0x4321).value();
  auto c = second->make_datagram_queue_pair(1, 0x1234).value();
  const PortAddress port = second->query_port(1).value().address;
  const std::byte text[8] = {};
  EXPECT_TRUE(a->send({port, b->number()}, text));
  rails.run();
  EXPECT_TRUE(b->receive().empty());
  int sent = 0;
  for (int i = 0; i < 500; ++i) {
    sent += a->send({port, c->number()}, text) ? 1 : 0;
    rails.run();
  }
  EXPECT_EQ(sent, 500);
  int received = 0;
  while (!c->receive().empty()) ++received;
  EXPECT_GT(received, 100);
  EXPECT_LT(received, 500);
  EXPECT_TRUE(a->send({port, c->number()}, text));  // and room again
  rails.run();
  EXPECT_FALSE(c->receive().empty());
}

TEST(VerbsAccess, RoceIsReachedByItsGidWhereverThatStands) {
  fabric::Parameters parameters;
  parameters.link_layer = fabric::LinkLayer::ethernet;
  LocalRails rails(two_hosts(), parameters);
  const auto first = rails.open_first(0), second = rails.open_first(1);
  const PortAttributes before = first->query_port(1).value();
  EXPECT_EQ(before.address.link_layer, LinkLayer::ethernet);
  auto datagrams = first->make_datagram_queue_pair(1, 7).value();
  auto peer = second->make_datagram_queue_pair(1, 7).value();
  const auto exchange = [&](std::size_t round) {
    End a(*first), b(*second);
    a.connect(b);
    b.connect(a);
    EXPECT_EQ(a.post(a.request(1, Opcode::write, 0, 8, &b)), 1);
    const std::byte text[3] = {};
    EXPECT_TRUE(datagrams->send({second->query_port(1).value().address, peer->number()},
                                std::span(text).first(round)));
    rails.run();
    const auto done = a.poll();
    ASSERT_EQ(done.size(), 1u);
    EXPECT_EQ(done[0].status, Status::success);
    EXPECT_EQ(peer->receive().size(), round);
  };
  exchange(1);
  rails.inject("gid n0/hw0 move 0 2");
  rails.run();
  DeviceEvent event;
  ASSERT_TRUE(first->next_event(event));
  EXPECT_EQ(event.kind, DeviceEvent::Kind::address_changed);
  EXPECT_EQ(event.port, 1);
  const PortAttributes after = first->query_port(1).value();
  EXPECT_EQ(after.address.gids, before.address.gids);
  EXPECT_NE(after.gid_indices, before.gid_indices);
  exchange(2);
}

// Every look at a port asks for its addresses; each of the calls is one to the system.
TEST(VerbsAccess, AskingForAPortWithAllItsAddressesTakesTwoCalls) {
  static int calls = 0;
  fabric::Parameters parameters;
  parameters.link_layer = fabric::LinkLayer::ethernet;
  LocalRails rails(two_hosts(2, 2), parameters);
  const auto opened = rails.open(0);  // whose turn it is from here on
  VerbsFunctions functions = linked_provider_functions();
  functions.query_gid = [](ibv_context* context, std::uint8_t port, int index, ibv_gid* gid) {
    ++calls;
    return ::ibv_query_gid(context, port, index, gid);
  };
  functions.query_gid_ex = [](ibv_context* context, std::uint32_t port, std::uint32_t index,
                              ibv_gid_entry* entry, std::uint32_t flags, std::size_t size) {
    ++calls;
    return ::_ibv_query_gid_ex(context, port, index, entry, flags, size);
  };
  functions.query_gid_table = [](ibv_context* context, ibv_gid_entry* entries, std::size_t most,
                                 std::uint32_t flags, std::size_t size) {
    ++calls;
    return ::_ibv_query_gid_table(context, entries, most, flags, size);
  };
  VerbsDeviceSource source(functions);
  const auto devices = source.open_devices().value();
  rails.inject("gid n0/hw0:2 set 4 v2 10.0.0.1");
  rails.inject("gid n0/hw0:2 set 9 v1 10.0.0.1");
  rails.inject("gid n0/hw0:1 set 1 v2 2001:db8::1");
  calls = 0;
  const PortAttributes second = devices[0]->query_port(2).value();
  EXPECT_EQ(calls, 1);  // beside ibv_query_port
  EXPECT_EQ(second.address.kinds, 0b001101);
  EXPECT_EQ(second.gid_indices[0], 4);
  EXPECT_EQ(second.gid_indices[3], 9);
  EXPECT_EQ(second.address.gids[0][12], 10);
  EXPECT_EQ(devices[0]->query_port(1).value().address.kinds, 0b000110);
  // A library that has no such call tells the same, entry by entry.
  functions.query_gid_table = nullptr;
  VerbsDeviceSource old(functions);
  const PortAttributes same = old.open_devices().value()[0]->query_port(2).value();
  EXPECT_EQ(same.address, second.address);
  EXPECT_EQ(same.gid_indices, second.gid_indices);
}

}  // namespace
}  // namespace hawser::rdma::test
