// Two ends on the loopback interface in one process.
#include "access/ofi/ofi_device.h"

#include <gtest/gtest.h>
#include <poll.h>

#include <cstring>
#include <numeric>

#include "base/time.h"

namespace hawser::rdma {
namespace {

constexpr std::uint32_t key = 77;
constexpr std::int32_t depth = 32;
constexpr std::size_t buffer_bytes = 4096;

struct End {
  End() {
    auto opened = OfiDeviceSource("lo").open_devices();
    EXPECT_TRUE(opened) << opened.error().text;
    device = std::move(opened.value().front());
    completions = std::move(device->make_completion_queue(1024)).value();
    receives = std::move(device->make_shared_receive_queue(depth)).value();
    for (std::uint64_t i = 0; i < depth; ++i) post(i);
  }

  void post(std::uint64_t i) {
    const ReceiveRequest request = {i, buffers[i].data(), buffer_bytes, 0};
    EXPECT_TRUE(receives->post({&request, 1}));
  }
  std::unique_ptr<QueuePair> make_pair() {
    QueuePairInitAttributes shape;
    shape.completions = completions.get();
    shape.receives = receives.get();
    shape.send_depth = 16;
    return std::move(device->make_queue_pair(shape)).value();
  }
  PortAddress address() { return device->query_port(1).value().address; }
  void take() {
    Completion got[16];
    const int count = completions->poll(got);
    ASSERT_GE(count, 0);
    for (int i = 0; i < count; ++i) (got[i].opcode == Opcode::receive ? received : sent).push_back(got[i]);
  }

  std::unique_ptr<Device> device;
  std::array<std::array<std::byte, buffer_bytes>, depth> buffers;
  std::unique_ptr<CompletionQueue> completions;
  std::unique_ptr<SharedReceiveQueue> receives;
  std::vector<Completion> received, sent;
};

class OfiDeviceTest : public testing::Test {
 protected:
  template <class Condition>
  void until(Condition&& condition) {
    const std::int64_t give_up = clock_.now() + 60 * second;
    while (!condition()) {
      a.take();
      b.take();
      ASSERT_LT(clock_.now(), give_up);
    }
  }
  ConnectParameters towards(End& end, const QueuePair& pair, std::uint32_t send, std::uint32_t receive) {
    ConnectParameters parameters;
    parameters.route.destination = end.address();
    parameters.remote_queue_pair = pair.number();
    parameters.send_psn = send;
    parameters.receive_psn = receive;
    parameters.secret = &end == &b ? secret_of_a : secret_of_b;
    return parameters;
  }
  void ready_a() {
    EXPECT_TRUE(of_a->make_ready_to_receive(towards(b, *of_b, 5, 9)));
    EXPECT_TRUE(of_a->make_ready_to_send());
  }
  void ready_b() {
    EXPECT_TRUE(of_b->make_ready_to_receive(towards(a, *of_a, 9, 5)));
    EXPECT_TRUE(of_b->make_ready_to_send());
  }
  void connect() {
    of_a = a.make_pair();
    of_b = b.make_pair();
    ready_a();
    ready_b();
  }
  static SendRequest request(std::uint64_t id, Opcode opcode, const void* bytes, std::size_t count) {
    SendRequest made;
    made.id = id;
    made.opcode = opcode;
    made.segment_count = 1;
    made.segments[0] = {static_cast<const std::byte*>(bytes), static_cast<std::uint32_t>(count), 0};
    return made;
  }

  MonotonicClock clock_;
  End a, b;
  std::unique_ptr<QueuePair> of_a, of_b;
  std::array<std::uint64_t, 2> secret_of_a = {1, 2}, secret_of_b = {1, 2};
};

// A stranger who knows all the numbers, but not the secret, is not connected, whoever is ready first.
TEST_F(OfiDeviceTest, NobodyConnectsWithoutTheSecret) {
  secret_of_b = {1, 3};
  for (const bool a_first : {true, false}) {
    of_a = a.make_pair();
    of_b = b.make_pair();
    const char text[] = "x";
    const SendRequest word = request(1, Opcode::send, text, 1);
    a_first ? ready_a() : ready_b();
    a_first ? ready_b() : ready_a();
    of_a->post_send({&word, 1});
    of_b->post_send({&word, 1});
    for (int i = 0; i < 2000; ++i) {
      a.take();
      b.take();
    }
    EXPECT_TRUE(a.received.empty() && b.received.empty());
    of_a.reset();
    of_b.reset();
  }
}

TEST_F(OfiDeviceTest, SendsArriveInOrderWithTheirQueuePair) {
  connect();
  const char text[] = "abcdefghij";
  for (std::uint64_t i = 0; i < 10; ++i) {
    const SendRequest each = request(100 + i, Opcode::send, text + i, 1);
    ASSERT_EQ(of_a->post_send({&each, 1}), 1);
  }
  until([&] { return b.received.size() == 10 && a.sent.size() == 10; });
  for (std::uint64_t i = 0; i < 10; ++i) {
    EXPECT_EQ(b.received[i].id, i);
    EXPECT_EQ(b.received[i].bytes, 1u);
    EXPECT_EQ(b.received[i].queue_pair, of_b->number());
    EXPECT_EQ(static_cast<char>(b.buffers[i][0]), text[i]);
    EXPECT_EQ(a.sent[i].id, 100 + i);
    EXPECT_EQ(a.sent[i].status, Status::success);
  }
}

TEST_F(OfiDeviceTest, EitherEndMayBeReadyFirst) {
  for (const bool a_first : {true, false}) {
    of_a = a.make_pair();
    of_b = b.make_pair();
    const char text[] = "x";
    const SendRequest greeting = request(1, Opcode::send, text, 1);
    // The first one sends long before the other is there.
    a_first ? ready_a() : ready_b();
    ASSERT_EQ((a_first ? of_a : of_b)->post_send({&greeting, 1}), 1);
    for (int i = 0; i < 200; ++i) {
      a.take();
      b.take();
    }
    a_first ? ready_b() : ready_a();
    until([&] { return (a_first ? b : a).received.size() == 1; });
    of_a.reset();
    of_b.reset();
  }
}

TEST_F(OfiDeviceTest, WritesRemoteMemory) {
  connect();
  std::vector<std::byte> here(1 << 20), there(1 << 20);
  for (std::size_t i = 0; i < here.size(); ++i) here[i] = static_cast<std::byte>(i * 7 + i / 253);
  auto region =
      std::move(b.device->register_memory(there.data(), there.size(), Access::remote_read_write)).value();
  SendRequest write = request(1, Opcode::write, here.data(), here.size());
  write.remote_address = reinterpret_cast<std::uintptr_t>(there.data());
  write.remote_key = region->remote_key();
  EXPECT_NE(write.remote_key, 0u);
  ASSERT_EQ(of_a->post_send({&write, 1}), 1);
  until([&] { return a.sent.size() == 1; });
  ASSERT_EQ(a.sent[0].status, Status::success);
  EXPECT_EQ(here, there);
  EXPECT_EQ(a.device->attributes().outstanding_reads, 0);
}

TEST_F(OfiDeviceTest, OnlyWhatIsSignaledCompletes) {
  connect();
  for (std::uint64_t i = 0; i < 8; ++i) {
    SendRequest each = request(i, Opcode::send, "y", 1);
    each.signaled = i == 7;
    ASSERT_EQ(of_a->post_send({&each, 1}), 1);
  }
  until([&] { return !a.sent.empty(); });
  EXPECT_EQ(a.sent.size(), 1u);
  EXPECT_EQ(a.sent[0].id, 7u);
  EXPECT_EQ(b.received.size(), 8u);
}

TEST_F(OfiDeviceTest, AKeyThatIsNoneBreaksThisConnectionOnly) {
  connect();
  auto other_a = a.make_pair(), other_b = b.make_pair();
  ASSERT_TRUE(other_a->make_ready_to_receive(towards(b, *other_b, 1, 2)));
  ASSERT_TRUE(other_a->make_ready_to_send());
  ASSERT_TRUE(other_b->make_ready_to_receive(towards(a, *other_a, 2, 1)));
  ASSERT_TRUE(other_b->make_ready_to_send());
  std::vector<std::byte> there(100);
  SendRequest write = request(1, Opcode::write, "abc", 3);
  write.remote_address = reinterpret_cast<std::uintptr_t>(there.data());
  write.remote_key = 0x12345;
  ASSERT_EQ(of_a->post_send({&write, 1}), 1);
  until([&] { return a.sent.size() == 1; });
  EXPECT_NE(a.sent[0].status, Status::success);
  const SendRequest after = request(2, Opcode::send, "abc", 3);
  ASSERT_EQ(of_a->post_send({&after, 1}), 1);
  until([&] { return a.sent.size() == 2; });
  EXPECT_NE(a.sent[1].status, Status::success);
  ASSERT_EQ(other_a->post_send({&after, 1}), 1);
  until([&] { return a.sent.size() == 3 && b.received.size() == 1; });
  EXPECT_EQ(a.sent[2].status, Status::success);
  EXPECT_EQ(there, std::vector<std::byte>(100));
}

TEST_F(OfiDeviceTest, AnErrorFlushesAndThePeerNotices) {
  connect();
  const SendRequest first = request(1, Opcode::send, "abc", 3);
  ASSERT_EQ(of_a->post_send({&first, 1}), 1);
  until([&] { return a.sent.size() == 1; });
  ASSERT_TRUE(of_a->make_error());
  const SendRequest second = request(2, Opcode::send, "abc", 3);
  ASSERT_EQ(of_a->post_send({&second, 1}), 1);
  until([&] { return a.sent.size() == 2; });
  EXPECT_EQ(a.sent[1].status, Status::flushed);
  ASSERT_EQ(of_b->post_send({&second, 1}), 1);
  until([&] { return b.sent.size() == 1; });
  EXPECT_EQ(b.sent[0].status, Status::retry_exceeded);
  // A new connection between the same two.
  of_a.reset();
  of_b.reset();
  connect();
  ASSERT_EQ(of_b->post_send({&second, 1}), 1);
  until([&] { return b.sent.size() == 2; });
  EXPECT_EQ(b.sent[1].status, Status::success);
}

TEST_F(OfiDeviceTest, AnUnknownQueuePairRefuses) {
  of_a = a.make_pair();
  auto gone = b.make_pair();
  auto parameters = towards(b, *gone, 5, 9);
  gone.reset();
  of_b = b.make_pair();
  auto parameters_of_b = towards(a, *of_a, 5, 9);
  parameters_of_b.remote_queue_pair = of_a->number() + 1;
  // One of the two initiates, and nobody wants its connection.
  ASSERT_TRUE(of_a->make_ready_to_receive(parameters) && of_a->make_ready_to_send());
  ASSERT_TRUE(of_b->make_ready_to_receive(parameters_of_b) && of_b->make_ready_to_send());
  const SendRequest each = request(1, Opcode::send, "abc", 3);
  ASSERT_EQ(of_a->post_send({&each, 1}), 1);
  ASSERT_EQ(of_b->post_send({&each, 1}), 1);
  until([&] { return a.sent.size() + b.sent.size() == 1; });
  EXPECT_EQ((a.sent.empty() ? b : a).sent[0].status, Status::retry_exceeded);
}

TEST_F(OfiDeviceTest, DatagramsOfTheJobArrive) {
  auto from = std::move(a.device->make_datagram_queue_pair(1, key)).value();
  auto stranger = std::move(a.device->make_datagram_queue_pair(1, key + 1)).value();
  auto to = std::move(b.device->make_datagram_queue_pair(1, key)).value();
  const DatagramAddress there = {b.address(), to->number()};
  const auto bytes = std::as_bytes(std::span("hello", 5));
  EXPECT_TRUE(stranger->send(there, std::as_bytes(std::span("wrong", 5))));
  EXPECT_TRUE(from->send(there, bytes));
  std::span<const std::byte> got;
  until([&] { return !(got = to->receive()).empty(); });
  EXPECT_TRUE(std::equal(got.begin(), got.end(), bytes.begin(), bytes.end()));
  EXPECT_FALSE(from->send({PortAddress{}, 1}, bytes));
}

TEST_F(OfiDeviceTest, SleepersAreWoken) {
  connect();
  const SendRequest each = request(1, Opcode::send, "abc", 3);
  ASSERT_EQ(of_a->post_send({&each, 1}), 1);
  until([&] { return a.sent.size() == 1; });
  ASSERT_TRUE(b.completions->arm(false));
  b.take();
  ASSERT_EQ(of_a->post_send({&each, 1}), 1);
  for (int i = 0; i < 100; ++i) a.take();
  pollfd waited = {b.device->descriptor(), POLLIN, 0};
  EXPECT_EQ(::poll(&waited, 1, 60'000), 1);
  until([&] { return b.received.size() == 2; });
}

TEST(OfiDeviceSourceTest, NamesWhatDoesNotExist) {
  const auto opened = OfiDeviceSource("lo,nosuch0").open_devices();
  ASSERT_FALSE(opened);
  EXPECT_NE(opened.error().text.find("'nosuch0'"), std::string::npos);
  EXPECT_TRUE(OfiDeviceSource("").open_devices().value().empty());
}

}  // namespace
}  // namespace hawser::rdma
