// Socket channels of several "processes" in one process, driven turn by turn over real loopback sockets.
#include "channel/socket_channel.h"

#include <gtest/gtest.h>

#include "channel/channel_test_support.h"

namespace hawser {
namespace {

using namespace channel_test;

struct Job {
  explicit Job(std::int32_t processes, const Knobs& knobs = {}) : shared(1) {
    for (std::int32_t i = 0; i < processes; ++i) {
      ends.push_back(std::make_unique<SharedExchange::End>(shared, i));
      channels.push_back(SocketChannel::open(i, processes, *ends.back(), knobs).value());
      EXPECT_TRUE(channels.back()->publish());
      events.push_back(std::make_unique<Recorder>());
      events.back()->channel = channels.back().get();
    }
  }
  bool turn() {
    bool moved = false;
    for (std::size_t i = 0; i < channels.size(); ++i)
      if (channels[i] != nullptr) moved |= channels[i]->progress(*events[i], 0);
    return moved;
  }
  template <class Condition>
  void until(Condition condition) {
    while (!condition()) turn();
  }
  SharedExchange shared;
  std::vector<std::unique_ptr<SharedExchange::End>> ends;
  std::vector<std::unique_ptr<SocketChannel>> channels;
  std::vector<std::unique_ptr<Recorder>> events;
};

TEST(SocketChannel, EagerBothWaysInOrder) {
  Job job(2);
  std::vector<Bytes> sent;
  for (std::size_t size : {0, 1, 8, 100, 4096, 16384}) sent.push_back(pattern(size, size));
  constexpr int messages = 600;
  for (int i = 0; i < messages; ++i)
    for (std::size_t from = 0; from < 2; ++from)
      while (!job.channels[from]->try_send(static_cast<ProcessIndex>(1 - from), header_with_tag(i),
                                           whole(sent[static_cast<std::size_t>(i) % sent.size()])))
        job.turn();
  job.until([&] {
    return job.events[0]->messages.size() == messages && job.events[1]->messages.size() == messages;
  });
  for (const auto& recorder : job.events)
    for (std::size_t i = 0; i < messages; ++i) {
      ASSERT_EQ(recorder->messages[i]->tag, static_cast<int>(i));
      ASSERT_TRUE(recorder->messages[i]->bytes == sent[i % sent.size()]);
    }
  job.until([&] { return job.channels[0]->flushed() && job.channels[1]->flushed(); });
}

TEST(SocketChannel, ExposedBytes) {
  Job job(3);
  for (std::size_t size : {1ul, 16384ul, 100001ul, 3000000ul}) {
    Bytes bytes = pattern(size, size);
    EveryOther packed(size);
    packed.memory = pattern(2 * size, size);
    int cookies[2] = {};
    job.events[0]->exposed_done.clear();
    job.events[2]->messages.clear();
    const auto header = header_with_tag(1, MessageHeader::Kind::rendezvous);
    ASSERT_TRUE(job.channels[0]->try_expose(2, header, whole(bytes), &cookies[0]));
    ASSERT_TRUE(job.channels[0]->try_expose(2, header, packed.sequence(), &cookies[1]));
    const int target = job.events[2]->fetched + 2;
    job.until([&] { return job.events[2]->fetched == target && job.channels[0]->flushed(); });
    EXPECT_EQ(job.events[0]->exposed_done[&cookies[0]], 1);
    EXPECT_EQ(job.events[0]->exposed_done[&cookies[1]], 1);
    EXPECT_TRUE(job.events[2]->messages[0]->bytes == bytes);
    EXPECT_TRUE(job.events[2]->messages[1]->bytes == packed.packed());
  }
}

TEST(SocketChannel, TruncatedAndUnpacked) {
  Job job(2);
  Bytes bytes = pattern(200000, 1);
  for (std::int64_t limit : {0, 1, 70000}) {
    EveryOther into(static_cast<std::size_t>(limit));
    job.events[1]->fetch_limit = limit;
    job.events[1]->unpack_to = &into;
    int cookie = 0;
    job.events[0]->exposed_done.clear();
    ASSERT_TRUE(job.channels[0]->try_expose(1, header_with_tag(1, MessageHeader::Kind::rendezvous),
                                            whole(bytes), &cookie));
    const int target = job.events[1]->fetched + 1;
    job.until([&] { return job.events[1]->fetched == target && job.channels[0]->flushed(); });
    EXPECT_EQ(job.events[0]->exposed_done[&cookie], 1);
    const Bytes got = into.packed();
    EXPECT_TRUE(std::equal(got.begin(), got.end(), bytes.begin()));
  }
}

TEST(SocketChannel, StrangerIsSentAway) {
  Job job(2);
  auto address = SocketAddress::parse(job.ends[0]->get(1, "hawser-socket").value()).value();
  auto stranger = start_connecting("127.0.0.1", address.port);
  ASSERT_TRUE(stranger);
  SocketHello hello;  // knows everything but the secret
  hello.source = 0;
  const auto* bytes = reinterpret_cast<const std::byte*>(&hello);
  Transferred written;
  while (written.bytes == 0 && !written.closed)
    written = write_now(stranger.value(), std::span(bytes, sizeof(hello)));
  std::byte answer[1];
  Transferred read;
  job.until([&] {
    read = read_now(stranger.value(), answer);
    return read.closed;
  });
  EXPECT_EQ(read.bytes, 0u);
  EXPECT_TRUE(job.events[1]->lost.empty());
}

TEST(SocketChannel, NonsenseEndsTheConnectionNotTheProcess) {
  for (std::uint32_t kind : {0u, 2u, 3u, 4u, 5u, 99u}) {
    Job fresh(2);
    const auto target = SocketAddress::parse(fresh.ends[0]->get(1, "hawser-socket").value()).value();
    OutgoingConnection liar(target, network_identity(), 0, 1 << 20);
    ReadySet ready = ReadySet::make().value();
    SocketFrame frame;
    frame.kind = kind;
    frame.body = kind == 2 ? UINT32_MAX / 2 : 0;
    frame.number = 7;
    SocketFrame sent = frame;
    sent.body = 0;
    std::byte* body = liar.add(sent);
    std::memcpy(body - sizeof(frame), &frame, sizeof(frame));
    fresh.until([&] {
      const auto events = ready.poll();
      EXPECT_TRUE(liar.advance(ready, 1, !events.empty() && events.front().writable));
      return !fresh.events[1]->lost.empty();
    });
    EXPECT_EQ(fresh.events[1]->lost.front(), 0);
    ASSERT_EQ(fresh.events[1]->bad_packets.size(), 1u);
    EXPECT_EQ(fresh.events[1]->bad_packets.front().first, 0);
  }
}

TEST(SocketChannel, LostPeer) {
  Job job(2);
  Bytes bytes = pattern(100000, 1);
  int cookie = 0;
  ASSERT_TRUE(job.channels[0]->try_expose(1, header_with_tag(1, MessageHeader::Kind::rendezvous),
                                          whole(bytes), &cookie));
  job.channels[1].reset();
  // It is noticed once something is written to it.
  while (job.events[0]->lost.empty()) {
    job.channels[0]->try_send(1, header_with_tag(2), {bytes.data(), 8, nullptr});
    job.turn();
  }
  EXPECT_EQ(job.events[0]->exposed_done[&cookie], 1);
  EXPECT_GE(job.events[0]->failures, 1);
  EXPECT_TRUE(job.channels[0]->try_send(1, header_with_tag(2), {bytes.data(), 8, nullptr}));
  EXPECT_TRUE(job.channels[0]->flushed());
}

// The first addresses lead nowhere: the next one is tried.
TEST(SocketChannel, TriesAllAddresses) {
  Job job(2);
  auto address = SocketAddress::parse(job.ends[0]->get(1, "hawser-socket").value()).value();
  address.identity = "elsewhere";
  address.addresses = {"not-an-address", "127.0.0.1"};
  ASSERT_TRUE(job.ends[1]->put("hawser-socket", address.text()));
  Bytes bytes = pattern(8, 1);
  ASSERT_TRUE(job.channels[0]->try_send(1, header_with_tag(1), whole(bytes)));
  job.until([&] { return job.events[1]->messages.size() == 1; });
  EXPECT_TRUE(job.events[0]->lost.empty());
}

TEST(SocketChannel, NoAddressLeadsAnywhere) {
  Job job(2);
  auto address = SocketAddress::parse(job.ends[0]->get(1, "hawser-socket").value()).value();
  std::uint16_t refusing_port = 0;
  { auto listener = listen_tcp(refusing_port); }  // nobody listens there any more
  address.port = refusing_port;
  ASSERT_TRUE(job.ends[1]->put("hawser-socket", address.text()));
  Bytes bytes = pattern(8, 1);
  ASSERT_TRUE(job.channels[0]->try_send(1, header_with_tag(1), whole(bytes)));
  job.until([&] { return !job.events[0]->lost.empty(); });
  EXPECT_TRUE(job.channels[0]->flushed());
}

}  // namespace
}  // namespace hawser
