// Socket channels of several "processes" in one process, driven turn by turn over real loopback sockets.
#include "channel/socket_channel.h"

#include <gtest/gtest.h>
#include <poll.h>
#include <signal.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <optional>

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
  bool turn(Nanoseconds now = 0) {
    bool moved = false;
    for (std::size_t i = 0; i < channels.size(); ++i)
      if (channels[i] != nullptr) moved |= channels[i]->progress(*events[i], now);
    return moved;
  }
  SocketAddress address_of(std::int32_t process) {
    return SocketAddress::parse(ends[0]->get(process, "hawser-socket").value()).value();
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
    const auto header = header_with_tag(1);
    ASSERT_TRUE(job.channels[0]->try_expose(2, header, whole(bytes), job.events[0]->exposing(&cookies[0])));
    ASSERT_TRUE(
        job.channels[0]->try_expose(2, header, packed.sequence(), job.events[0]->exposing(&cookies[1])));
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
    ASSERT_TRUE(
        job.channels[0]->try_expose(1, header_with_tag(1), whole(bytes), job.events[0]->exposing(&cookie)));
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
      EXPECT_TRUE(liar.advance(ready, 1, false, !events.empty() && events.front().writable));
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
  ASSERT_TRUE(
      job.channels[0]->try_expose(1, header_with_tag(1), whole(bytes), job.events[0]->exposing(&cookie)));
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

// Both have sent each other something, so that there is a connection each way.
void greet_each_other(Job& job) {
  Bytes bytes = pattern(8, 1);
  for (std::size_t from = 0; from < 2; ++from)
    ASSERT_TRUE(
        job.channels[from]->try_send(static_cast<ProcessIndex>(1 - from), header_with_tag(1), whole(bytes)));
  job.until([&] {
    return job.events[0]->messages.size() == 1 && job.events[1]->messages.size() == 1 &&
           job.channels[0]->flushed() && job.channels[1]->flushed();
  });
}

TEST(SocketChannel, ADeathIsNoticedWithoutSendingAnything) {
  Job job(2);
  greet_each_other(job);
  job.channels[1]->forget();  // as the kernel does for a process that dies
  job.until([&] { return !job.events[0]->lost.empty(); });
  EXPECT_EQ(job.events[0]->lost, std::vector<ProcessIndex>{1});
}

TEST(SocketChannel, AGoodbyeIsNoLoss) {
  Job job(2);
  greet_each_other(job);
  job.channels[1].reset();
  for (int turn = 0; turn < 20000; ++turn) job.turn();  // far more than it takes for the end to arrive
  EXPECT_TRUE(job.events[0]->lost.empty());
}

TEST(SocketChannel, AProcessThatNobodySendsToIsWatched) {
  Job job(2);
  job.channels[0]->watch(1);
  Nanoseconds now = 0;
  const auto turn = [&] {
    now += 10 * millisecond;
    for (std::size_t i = 0; i < 2; ++i) job.channels[i]->progress(*job.events[i], now);
  };
  while (job.channels[0]->connected_peers() == 0) turn();
  EXPECT_GE(now, 1 * second);
  job.channels[1]->forget();
  while (job.events[0]->lost.empty()) turn();
  EXPECT_EQ(job.events[0]->lost.front(), 1);
}

TEST(SocketChannel, AWatchedProcessMayBeOutOfReach) {
  Job job(2);
  auto address = SocketAddress::parse(job.ends[0]->get(1, "hawser-socket").value()).value();
  { auto listener = listen_tcp("", address.port); }  // nobody listens there any more
  ASSERT_TRUE(job.ends[1]->put("hawser-socket", address.text()));
  job.channels[0]->watch(1);
  for (int turn = 0; turn < 20000; ++turn) job.channels[0]->progress(*job.events[0], turn * millisecond);
  EXPECT_TRUE(job.events[0]->lost.empty());
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
  { auto listener = listen_tcp("", refusing_port); }  // nobody listens there any more
  address.port = refusing_port;
  ASSERT_TRUE(job.ends[1]->put("hawser-socket", address.text()));
  Bytes bytes = pattern(8, 1);
  ASSERT_TRUE(job.channels[0]->try_send(1, header_with_tag(1), whole(bytes)));
  job.until([&] { return !job.events[0]->lost.empty(); });
  EXPECT_TRUE(job.channels[0]->flushed());
}

bool accepts_at(const std::string& address, std::uint16_t port) {
  auto connecting = start_connecting(address, port);
  if (!connecting) return false;
  pollfd ready{connecting.value().get(), POLLOUT, 0};
  return ::poll(&ready, 1, 60'000) == 1 && connect_outcome(connecting.value());
}

TEST(SocketChannel, ListensAtTheStatedAddressOnly) {
  Knobs knobs;
  knobs.socket_address = "127.0.0.2";
  Job job(2, knobs);
  const SocketAddress address = job.address_of(1);
  EXPECT_EQ(address.addresses, std::vector<std::string>{"127.0.0.2"});
  EXPECT_FALSE(accepts_at("127.0.0.1", address.port));
  for (const std::string& other : host_addresses()) EXPECT_FALSE(accepts_at(other, address.port)) << other;
  EXPECT_TRUE(accepts_at("127.0.0.2", address.port));
  // Also processes of the same host connect there.
  Bytes bytes = pattern(8, 1);
  ASSERT_TRUE(job.channels[0]->try_send(1, header_with_tag(1), whole(bytes)));
  job.until([&] { return job.events[1]->messages.size() == 1; });

  knobs.socket_address = "192.0.2.1";  // of nobody
  const auto refused = SocketChannel::open(0, 2, *job.ends[0], knobs);
  ASSERT_FALSE(refused);
  EXPECT_NE(refused.error().text.find("HAWSER_SOCKET_ADDRESS=192.0.2.1"), std::string::npos)
      << refused.error().text;
}

// Connections from another process that say nothing, held until this is destroyed.
class SilentStrangers {
 public:
  SilentStrangers(std::uint16_t port, int count) {
    int ready[2];
    EXPECT_EQ(pipe(ready), 0);
    child_ = fork();
    if (child_ == 0) {
      rlimit limit{};
      getrlimit(RLIMIT_NOFILE, &limit);
      limit.rlim_cur = limit.rlim_max;
      setrlimit(RLIMIT_NOFILE, &limit);
      std::vector<FileDescriptor> held;
      for (int i = 0; i < count; ++i) held.push_back(start_connecting("127.0.0.1", port).value());
      (void)!write(ready[1], "", 1);
      while (true) pause();
    }
    char byte = 0;
    EXPECT_EQ(read(ready[0], &byte, 1), 1);
    close(ready[0]);
    close(ready[1]);
  }
  ~SilentStrangers() {
    kill(child_, SIGKILL);
    waitpid(child_, nullptr, 0);
  }

 private:
  pid_t child_;
};

// Lowers the limit on open files for a while.
class FewDescriptors {
 public:
  explicit FewDescriptors(rlim_t count) {
    getrlimit(RLIMIT_NOFILE, &former_);
    const rlimit few{count, former_.rlim_max};
    setrlimit(RLIMIT_NOFILE, &few);
  }
  ~FewDescriptors() { setrlimit(RLIMIT_NOFILE, &former_); }

 private:
  rlimit former_;
};

TEST(SocketChannel, SilentStrangersDoNotHoldUpAJob) {
  for (const bool before : {true, false}) {
    const FewDescriptors few(64);
    Job job(2);
    const std::uint16_t port = job.address_of(1).port;
    std::optional<SilentStrangers> strangers;
    if (before) strangers.emplace(port, 200);
    Bytes bytes = pattern(100'000, 1);
    int cookie = 0;
    if (!before) {
      // A job that is under way.
      ASSERT_TRUE(job.channels[0]->try_send(1, header_with_tag(1), {bytes.data(), 8, nullptr}));
      job.until([&] { return job.events[1]->messages.size() == 1; });
      strangers.emplace(port, 200);
    }
    ASSERT_TRUE(
        job.channels[0]->try_expose(1, header_with_tag(1), whole(bytes), job.events[0]->exposing(&cookie)));
    MonotonicClock clock;
    const Nanoseconds begin = clock.now();
    while (job.events[1]->fetched == 0) {
      if (!job.turn(clock.now())) usleep(1000);
      ASSERT_LT(clock.now() - begin, 120 * second);
    }
    EXPECT_TRUE(job.events[1]->messages.back()->bytes == bytes);
    EXPECT_TRUE(job.events[1]->lost.empty());
    std::printf("with 200 silent connections %s: %.2f s\n", before ? "from the beginning" : "from the middle",
                static_cast<double>(clock.now() - begin) / second);
    // Who waits for something to happen may sleep: strangers at the door are not reported all the time.
    int quiet = 0;
    for (int pass = 0; pass < 5000; ++pass) quiet += !job.turn(clock.now());
    EXPECT_GT(quiet, 4000);
    EXPECT_NE(job.channels[1]->deadline(), never);
  }
}

// The one who connects notices nothing, for the system accepts for us: only we can say why nothing goes on.
TEST(SocketChannel, SaysThatDescriptorsHaveRunOut) {
#ifdef __SANITIZE_ADDRESS__
  GTEST_SKIP()
      << "the sanitizer of undefined behaviour looks at objects through a pipe, which takes descriptors";
#endif
  Job job(2);
  std::vector<FileDescriptor> others;
  {
    const FewDescriptors few(64);
    ASSERT_TRUE(job.channels[0]->try_send(1, header_with_tag(1), {nullptr, 0, nullptr}));
    for (int pass = 0; pass < 100; ++pass) job.channels[0]->progress(*job.events[0], 0);
    while (others.empty() || others.back().valid()) others.emplace_back(dup(0));
    for (Nanoseconds now = 0; now < 4900 * millisecond; now += 10 * millisecond) job.turn(now);
    EXPECT_TRUE(job.events[1]->notices.empty());
    for (Nanoseconds now = 5 * second; now < 10 * second; now += 10 * millisecond) job.turn(now);
    ASSERT_EQ(job.events[1]->notices.size(), 1u);
    EXPECT_NE(job.events[1]->notices.front().find("all 64 open files"), std::string::npos)
        << job.events[1]->notices.front();
    EXPECT_TRUE(job.events[0]->notices.empty());
  }
  others.clear();
  for (Nanoseconds now = 11 * second; job.events[1]->messages.empty(); now += 10 * millisecond) job.turn(now);
}

TEST(SocketChannel, HoldsBackUntilWhatWasSentIsWithTheNetwork) {
  Job job(2);
  for (int message = 1; message <= 2; ++message) {  // the first one needs a connection
    EXPECT_FALSE(job.channels[0]->holds_back());
    ASSERT_TRUE(job.channels[0]->try_send(1, header_with_tag(message), {nullptr, 0, nullptr}));
    EXPECT_TRUE(job.channels[0]->holds_back());
    for (Nanoseconds now = 0; job.channels[0]->holds_back(); now += millisecond) job.turn(now);
  }
  while (job.events[1]->messages.size() < 2) job.channels[1]->progress(*job.events[1], 0);
}

TEST(SocketChannel, StrangersHaveADeadline) {
  Job job(2);
  auto stranger = start_connecting("127.0.0.1", job.address_of(1).port);
  ASSERT_TRUE(stranger);
  while (job.channels[1]->deadline() == never) job.turn(second);
  std::byte answer[1];
  for (int pass = 0; pass < 1000; ++pass) job.turn(job.channels[1]->deadline() - 1);
  EXPECT_FALSE(read_now(stranger.value(), answer).closed);
  const Nanoseconds deadline = job.channels[1]->deadline();
  Transferred read;
  while (!read.closed) {
    job.turn(deadline);
    read = read_now(stranger.value(), answer);
  }
  EXPECT_EQ(job.channels[1]->deadline(), never);
}

// The peer's door is full at first: nothing is lost, and nothing comes twice.
TEST(SocketChannel, ConnectsAgainWhenItIsNotWelcome) {
  std::uint16_t port = 0;
  auto listener = listen_tcp("127.0.0.1", port).value();
  SocketAddress address;
  address.port = port;
  address.identity = SocketAddress::no_identity;
  address.addresses = {"127.0.0.1"};
  address.secret[0] = 7;
  OutgoingConnection connection(address, "", 0, 1 << 16);
  ReadySet ready = ReadySet::make().value();
  SocketFrame frame;
  frame.kind = SocketFrame::packet;
  frame.number = 99;
  connection.add(frame);
  EXPECT_FALSE(connection.flushed());
  std::unique_ptr<IncomingConnection> incoming;
  for (int turned_away = 0; incoming == nullptr || incoming->peek(sizeof(frame)) == nullptr;) {
    const auto events = ready.poll();
    ASSERT_TRUE(connection.advance(ready, 1, false, !events.empty() && events.front().writable));
    bool exhausted = false;
    if (incoming == nullptr) {
      FileDescriptor accepted = accept_tcp(listener, exhausted);
      if (accepted.valid() && ++turned_away > 3)
        incoming = std::make_unique<IncomingConnection>(std::move(accepted), 0);
      continue;
    }
    ASSERT_TRUE(incoming->read());
    if (incoming->source >= 0 || incoming->peek(sizeof(SocketHello)) == nullptr) continue;
    incoming->consume(sizeof(SocketHello));
    EXPECT_TRUE(incoming->welcome(0, 100));
  }
  SocketFrame got;
  std::memcpy(&got, incoming->peek(sizeof(got)), sizeof(got));
  EXPECT_EQ(got.number, 99u);
  incoming->consume(sizeof(got));
  EXPECT_TRUE(incoming->empty());
  EXPECT_TRUE(connection.flushed());
}

}  // namespace
}  // namespace hawser
