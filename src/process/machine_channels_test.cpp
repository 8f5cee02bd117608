// The whole set of channels as processes build it, with threads in the place of processes; and sleeping, with
// real processes.
#include "process/machine_channels.h"

#include <grp.h>
#include <gtest/gtest.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <thread>

#include "channel/channel_test_support.h"

namespace hawser {
namespace {

using namespace channel_test;

class NoDevices final : public rdma::DeviceSource {
 public:
  Result<std::vector<std::unique_ptr<rdma::Device>>> open_devices() override {
    return std::vector<std::unique_ptr<rdma::Device>>();
  }
};

Result<std::unique_ptr<MachineChannels>> build(const JobPlace& place, AddressExchange& exchange,
                                               const Knobs& knobs) {
  static MonotonicClock clock;  // has no state
  NoDevices devices;
  return MachineChannels::build(place, exchange, knobs, clock, devices);
}

// Progress until the condition holds, as MpiProcess waits.
template <class Condition>
void wait_until(MachineChannels& set, Recorder& events, Condition condition) {
  std::uint32_t idle_passes = 0;
  while (true) {
    bool moved = false;
    for (Transport* channel : set.channels()) moved |= channel->progress(events, 0);
    if (condition()) return;
    if (moved)
      idle_passes = 0;
    else
      set.waiter().idle(idle_passes++);
  }
}

// Everybody sends to everybody, small and large, then waits for everything.
void exchange_all(MachineChannels& set, ProcessIndex self, ProcessIndex processes) {
  Recorder events;
  // Fetches go to the channel of their source.
  struct Router final : Transport {
    MachineChannels& set;
    explicit Router(MachineChannels& s) : set(s) {}
    const char* name() const override { return "router"; }
    std::int64_t eager_limit(ProcessIndex peer) const override {
      return set.channel_of(peer)->eager_limit(peer);
    }
    bool try_send(ProcessIndex peer, const TransportHeader& header, const ByteSequence& payload) override {
      return set.channel_of(peer)->try_send(peer, header, payload);
    }
    bool try_expose(ProcessIndex peer, const TransportHeader& header, const ByteSequence& bytes,
                    Completion* c) override {
      return set.channel_of(peer)->try_expose(peer, header, bytes, c);
    }
    void fetch(ProcessIndex peer, const ExposeToken& token, const ByteSequence& into,
               Completion* c) override {
      set.channel_of(peer)->fetch(peer, token, into, c);
    }
    bool progress(TransportEvents&, Nanoseconds) override { return false; }
    bool flushed() const override { return true; }
  } router(set);
  events.channel = &router;
  Bytes small = pattern(20, static_cast<std::uint64_t>(self));
  Bytes large = pattern(300000, static_cast<std::uint64_t>(self));
  for (ProcessIndex peer = 0; peer < processes; ++peer) {
    if (peer == self) continue;
    wait_until(set, events, [&] { return router.try_send(peer, header_with_tag(1), whole(small)); });
    wait_until(set, events, [&] {
      return router.try_expose(peer, header_with_tag(2), whole(large), events.exposing(&large));
    });
  }
  const int others = processes - 1;
  wait_until(set, events, [&] {
    return events.fetched == others && events.messages.size() >= 2 * static_cast<std::size_t>(others) &&
           events.exposed_done[&large] == others;
  });
  for (const auto& message : events.messages)
    EXPECT_TRUE(message->bytes ==
                pattern(message->bytes.size(), static_cast<std::uint64_t>(message->source)));
  // A last round, so that nobody leaves while somebody still needs its progress.
  for (ProcessIndex peer = 0; peer < processes; ++peer)
    if (peer != self)
      wait_until(set, events, [&] { return router.try_send(peer, header_with_tag(3), whole(small)); });
  wait_until(set, events, [&] {
    return events.messages.size() == 3 * static_cast<std::size_t>(others) &&
           std::all_of(set.channels().begin(), set.channels().end(),
                       [](Transport* c) { return c->flushed(); });
  });
}

void run_job(const std::vector<std::int32_t>& node_of_rank, const Knobs& knobs) {
  const auto processes = static_cast<std::int32_t>(node_of_rank.size());
  SharedExchange shared(processes);
  std::vector<std::thread> threads;
  for (std::int32_t rank = 0; rank < processes; ++rank)
    threads.emplace_back([&, rank] {
      SharedExchange::End exchange(shared, rank);
      JobPlace place;
      place.rank = rank;
      place.size = processes;
      place.node_of_rank = node_of_rank;
      auto set = build(place, exchange, knobs);
      ASSERT_TRUE(set) << set.error().text;
      EXPECT_EQ(set.value()->channel_of(rank), nullptr);
      exchange_all(*set.value(), rank, processes);
      ASSERT_TRUE(exchange.fence());
    });
  for (std::thread& thread : threads) thread.join();
}

Knobs sleepy() {
  Knobs knobs;
  knobs.wait_spins = 0;
  knobs.wait_yields = 0;
  knobs.wait_sleep = 100 * second;  // a lost wake would show
  return knobs;
}

TEST(MachineChannels, OneNode) { run_job({0, 0, 0, 0}, {}); }
TEST(MachineChannels, OneProcessPerNode) { run_job({0, 1, 2}, {}); }
TEST(MachineChannels, TwoNodesAndALonelyOne) { run_job({0, 1, 0, 1, 2}, {}); }
TEST(MachineChannels, SleepyNeighbours) { run_job({0, 0, 0}, sleepy()); }
TEST(MachineChannels, SleepyOnSocketsAndSharedMemory) { run_job({0, 1, 0, 1}, sleepy()); }
TEST(MachineChannels, SegmentPassedOverASocket) {
  Knobs knobs;
  knobs.shm_open_by_proc = false;
  run_job({0, 0, 1, 0, 1}, knobs);
}
TEST(MachineChannels, SleepyWithoutMembarrier) {
  Knobs knobs = sleepy();
  knobs.wait_membarrier = false;
  run_job({0, 0, 0}, knobs);
}
TEST(MachineChannels, Alone) {
  SharedExchange shared(1);
  SharedExchange::End exchange(shared, 0);
  JobPlace place;
  place.node_of_rank = {0};
  auto set = build(place, exchange, {});
  ASSERT_TRUE(set);
  EXPECT_TRUE(set.value()->channels().empty());
  EXPECT_EQ(set.value()->shared_memory(), nullptr);
}

TEST(MachineChannels, RailsThatAreNotThereAreMissed) {
  SharedExchange shared(2);
  Knobs knobs;
  knobs.network = "rails";
  std::vector<std::thread> threads;
  for (std::int32_t rank = 0; rank < 2; ++rank)
    threads.emplace_back([&, rank] {
      SharedExchange::End exchange(shared, rank);
      JobPlace place;
      place.rank = rank;
      place.size = 2;
      place.node_of_rank = {0, 1};
      const auto set = build(place, exchange, knobs);
      ASSERT_FALSE(set);
      EXPECT_NE(set.error().text.find("HAWSER_NETWORK=rails"), std::string::npos);
    });
  for (std::thread& thread : threads) thread.join();
}

// Two real processes that sleep before every message.
TEST(MachineChannels, SleepyProcesses) {
  Knobs knobs = sleepy();
  auto file = make_memory_file("hawser-test").value();
  SharedExchange unused(1);
  const auto ping_pong = [&](int self) {
    SharedExchange::End exchange(unused, 0);
    JobPlace place;
    place.rank = self;
    place.size = 2;
    place.node_of_rank = {0, 0};
    place.node_segment_fd = file.get();
    auto set = build(place, exchange, knobs).value();
    Recorder events;
    Bytes bytes = pattern(8, 0);
    bool sent = true;
    for (std::size_t i = 0; i < 2000; ++i) {
      if (self == 0) sent &= set->channel_of(1)->try_send(1, header_with_tag(0), whole(bytes));
      wait_until(*set, events, [&] { return events.messages.size() > i; });
      if (self == 1) sent &= set->channel_of(0)->try_send(0, header_with_tag(0), whole(bytes));
    }
    EXPECT_TRUE(sent);
  };
  const pid_t child = fork();
  ping_pong(child == 0 ? 1 : 0);
  if (child == 0) _exit(testing::Test::HasFailure() ? 1 : 0);
  int status = 0;
  ASSERT_EQ(waitpid(child, &status, 0), child);
  EXPECT_EQ(status, 0);
}

TEST(DescriptorPasser, PassesToSeveral) {
  auto file = make_memory_file("hawser-test").value();
  auto passer = DescriptorPasser::listen().value();
  std::vector<std::thread> takers;
  for (int i = 0; i < 3; ++i)
    takers.emplace_back([&] {
      auto taken = DescriptorPasser::take(passer.name());
      ASSERT_TRUE(taken);
      EXPECT_EQ(file_identity(taken.value().get()), file_identity(file.get()));
    });
  EXPECT_TRUE(passer.give(file.get(), 3));
  for (std::thread& taker : takers) taker.join();
}

// The job's secret is what the kernel gave, not of the generator whose later numbers are on the wire.
TEST(JobSecret, IsNotDrawnFromTheSeed) {
  SharedExchange shared(1);
  SharedExchange::End exchange(shared, 0);
  NoDevices devices;
  RailSettings settings;
  settings.secret = {0x0123'4567'89AB'CDEF, 42};
  auto rails = RailChannel::open(settings, exchange, devices, {}, 1).value();
  ASSERT_TRUE(rails->publish());
  EXPECT_EQ(exchange.get(0, "hawser-rails-secret").value(), "0123456789abcdef000000000000002a");
}

TEST(JobSecret, ComesFromTheKernelOrNotAtAll) {
  const auto first = random_secret(), second = random_secret();
  ASSERT_TRUE(first && second);
  EXPECT_NE(first.value(), second.value());
  const pid_t child = fork();
  if (child == 0) {
    sock_filter program[] = {
        BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(seccomp_data, nr)),
        BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_getrandom, 0, 1),
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | ENOSYS),
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
    };
    const sock_fprog filter{static_cast<unsigned short>(std::size(program)), program};
    if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) != 0 ||
        prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &filter) != 0)
      _exit(99);  // no such filters here
    const auto refused = random_secret();
    _exit(refused ? 1 : refused.error().text.find("getrandom") == std::string::npos ? 2 : 0);
  }
  int status = 0;
  ASSERT_EQ(waitpid(child, &status, 0), child);
  if (WEXITSTATUS(status) == 99) GTEST_SKIP() << "the kernel filters no system calls";
  EXPECT_EQ(status, 0);
}

// What runs as the user nobody in a process of its own; its answer is the exit code. Needs root.
template <class Body>
int as_nobody(Body body) {
  const pid_t child = fork();
  if (child == 0) {
    constexpr uid_t nobody = 65534;
    if (setgroups(0, nullptr) != 0 || setresgid(nobody, nobody, nobody) != 0 ||
        setresuid(nobody, nobody, nobody) != 0)
      _exit(99);
    _exit(body());
  }
  int status = 0;
  return waitpid(child, &status, 0) == child && WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}
#define SKIP_UNLESS_ROOT() \
  if (geteuid() != 0) GTEST_SKIP() << "only root can be another user, too"

TEST(DescriptorPasser, GivesNothingToAnotherUser) {
  SKIP_UNLESS_ROOT();
  auto file = make_memory_file("hawser-test").value();
  auto passer = DescriptorPasser::listen().value();
  std::thread giver([&] { EXPECT_TRUE(passer.give(file.get(), 2)); });
  // Before, between and after those who may have it.
  for (int taker = 0; taker < 2; ++taker) {
    EXPECT_EQ(as_nobody([&] {
                int got = 0;
                for (int i = 0; i < 20; ++i) got += DescriptorPasser::take(passer.name()) ? 1 : 0;
                return got;
              }),
              0);
    auto taken = DescriptorPasser::take(passer.name());
    ASSERT_TRUE(taken) << taken.error().text;
    EXPECT_EQ(file_identity(taken.value().get()), file_identity(file.get()));
  }
  giver.join();
}

TEST(DescriptorPasser, TakesNothingFromAnotherUser) {
  SKIP_UNLESS_ROOT();
  int names[2];
  ASSERT_EQ(pipe(names), 0);
  pid_t stranger = fork();
  if (stranger == 0) {
    if (setresuid(65534, 65534, 65534) != 0) _exit(99);
    auto file = make_memory_file("hawser-test").value();
    auto passer = DescriptorPasser::listen().value();
    const auto size = static_cast<ssize_t>(passer.name().size());
    if (write(names[1], passer.name().data(), passer.name().size()) != size) _exit(98);
    (void)passer.give(file.get(), 1);  // to nobody of its own: until it is ended
    _exit(0);
  }
  char name[64] = {};
  ASSERT_GT(read(names[0], name, sizeof(name) - 1), 0);
  const auto taken = DescriptorPasser::take(name);
  ASSERT_FALSE(taken);
  EXPECT_NE(taken.error().text.find("user 65534"), std::string::npos) << taken.error().text;
  kill(stranger, SIGKILL);
  waitpid(stranger, nullptr, 0);
  close(names[0]);
  close(names[1]);
}

TEST(Wakes, OfStrangersAreNotHeard) {
  std::string address;
  const auto listener = make_wake_listener(address).value();
  ASSERT_LT(address.size(), sizeof(ProcessBlock::wake_address));
  const std::string name = address.substr(0, address.find(' '));
  // Whoever reads /proc/net/unix knows the name; being of the same user does not help.
  const auto flood = [&] {
    const FileDescriptor stranger = make_wake_socket();
    for (int i = 0; i < 1000; ++i) {
      send_wake(stranger, name);
      send_wake(stranger, name + " 0123456789abcdef");
      send_wake(stranger, address + "0");
      send_wake(stranger, address.substr(0, address.size() - 1));
    }
    return 0;
  };
  flood();
  if (geteuid() == 0) {
    EXPECT_EQ(as_nobody(flood), 0);
  }
  EXPECT_FALSE(wait_readable(listener.get(), -1, 1));
  const FileDescriptor neighbour = make_wake_socket();
  send_wake(neighbour, address);
  EXPECT_TRUE(wait_readable(listener.get(), -1, 10 * second));
  drain_wakes(listener);
  EXPECT_FALSE(wait_readable(listener.get(), -1, 1));
}

}  // namespace
}  // namespace hawser
