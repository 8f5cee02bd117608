#include "rails/decision/connection_manager.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstring>
#include <memory>
#include <string>

namespace hawser {
namespace {

constexpr std::array<std::uint64_t, 2> secret = {0x1122334455667788, 0x99aabbccddeeff00};

class World;

// A process: its ends of subchannels, as the failover would keep them.
class Process final : public ConnectionHost {
 public:
  Process(World& world, ProcessIndex self, std::int32_t processes, std::array<std::uint64_t, 2> key = secret)
      : world_(world), self_(self), random_(static_cast<std::uint64_t>(self) + 77) {
    ConnectionSettings settings;
    settings.self = self;
    settings.processes = processes;
    settings.rails = 2;
    settings.secret = key;
    manager = std::make_unique<ConnectionManager>(settings, *this, random_);
  }

  struct End {
    enum State { idle, asking, connected } state = idle;
    std::uint32_t connection_generation = 0;
    std::uint32_t own = 0, remote = 0;  // queue pairs
  };
  End& end(ProcessIndex peer, std::uint16_t index) { return ends_[{peer, index}]; }

  void ask(ProcessIndex peer, std::uint16_t index, Nanoseconds now);
  void fail(ProcessIndex peer, std::uint16_t index) {
    End& failed = end(peer, index);
    manager->forget({peer, index, failed.connection_generation});
    failed.state = End::idle;
  }

  bool accept(const SubchannelName& name, const ConnectionEnd& remote, ConnectionEnd& own) override;
  void connected(const SubchannelName& name, const ConnectionEnd& remote) override;
  void abandon(const SubchannelName& name, bool gave_up) override;
  void on_control(ProcessIndex peer, std::uint16_t, DatagramKind kind,
                  std::span<const std::byte> body) override {
    controls.push_back(std::to_string(peer) + ":" + std::to_string(static_cast<int>(kind)) + ":" +
                       std::string(reinterpret_cast<const char*>(body.data()), body.size()));
  }
  void on_address(ProcessIndex, std::uint16_t, const ConnectionEnd&) override { ++addresses; }
  void on_malformed(ProcessIndex, std::string what) override { complaints.push_back(std::move(what)); }
  bool send_datagram(std::uint16_t rail, ProcessIndex peer, std::uint16_t index,
                     std::span<const std::byte> bytes) override;
  bool rail_up(std::uint16_t rail) const override { return up[rail]; }

  std::unique_ptr<ConnectionManager> manager;
  std::vector<std::string> controls, complaints;
  bool up[2] = {true, true};
  double unwilling = 0;  // chance that accept says no
  int addresses = 0;     // told
  int accepts = 0, connects = 0, abandons = 0, give_ups = 0;

 private:
  ConnectionEnd fresh_end();

  World& world_;
  ProcessIndex self_;
  Random random_;
  std::map<std::pair<ProcessIndex, std::uint16_t>, End> ends_;
};

// Processes and a network between them that loses, repeats and delays.
class World {
 public:
  explicit World(int processes, std::uint64_t seed = 1) : random(seed) {
    for (int i = 0; i < processes; ++i)
      members.push_back(std::make_unique<Process>(*this, i, static_cast<std::int32_t>(processes)));
  }
  Process& operator[](int i) { return *members[static_cast<std::size_t>(i)]; }

  void carry(std::uint16_t rail, ProcessIndex to, std::span<const std::byte> bytes) {
    ++sent;
    const int copies = random.chance(loss) ? 0 : random.chance(repeats) ? 2 : 1;
    for (int i = 0; i < copies; ++i) {
      const Nanoseconds delay = 10 * microsecond + static_cast<Nanoseconds>(random.below(longest_delay));
      on_the_way.emplace(now + delay, Datagram{rail, to, {bytes.begin(), bytes.end()}});
    }
  }
  // Until then, or (with `quiet`) until nothing is under way or due.
  void run_until(Nanoseconds end) {
    while (true) {
      Nanoseconds next = on_the_way.empty() ? never : on_the_way.begin()->first;
      for (auto& member : members) next = std::min(next, member->manager->deadline());
      if (next > end || next == never) break;
      now = std::max(now, next);
      if (!on_the_way.empty() && on_the_way.begin()->first <= now) {
        const Datagram datagram = std::move(on_the_way.begin()->second);
        on_the_way.erase(on_the_way.begin());
        (*this)[datagram.to].manager->on_datagram(datagram.rail, datagram.bytes, now);
      }
      for (auto& member : members) member->manager->progress(now);
    }
    if (end != never) now = end;
  }
  bool agree(ProcessIndex a, ProcessIndex b, std::uint16_t index) {
    const Process::End &one = (*this)[a].end(b, index), &other = (*this)[b].end(a, index);
    return one.state == Process::End::connected && other.state == Process::End::connected &&
           one.own == other.remote && one.remote == other.own &&
           one.connection_generation == other.connection_generation;
  }
  // What must hold at any moment: ends that are connected in one generation are connected to each other.
  void check(ProcessIndex a, ProcessIndex b, std::uint16_t index) {
    const Process::End &one = (*this)[a].end(b, index), &other = (*this)[b].end(a, index);
    if (one.state == Process::End::connected && other.state == Process::End::connected &&
        one.connection_generation == other.connection_generation) {
      ASSERT_EQ(one.own, other.remote);
      ASSERT_EQ(one.remote, other.own);
    }
  }

  struct Datagram {
    std::uint16_t rail;
    ProcessIndex to;
    std::vector<std::byte> bytes;
  };
  Random random;
  double loss = 0, repeats = 0;
  std::uint64_t longest_delay = 1;
  Nanoseconds now = 0;
  int sent = 0;
  std::uint32_t next_queue_pair = 100;
  std::multimap<Nanoseconds, Datagram> on_the_way;
  std::vector<std::unique_ptr<Process>> members;
};

ConnectionEnd Process::fresh_end() {
  ConnectionEnd own;
  own.port.mtu = 4;
  own.port.lid = static_cast<std::uint16_t>(self_ + 1);
  own.queue_pair = world_.next_queue_pair++;
  own.psn = own.queue_pair * 3;
  return own;
}

void Process::ask(ProcessIndex peer, std::uint16_t index, Nanoseconds now) {
  End& wanted = end(peer, index);
  ASSERT_EQ(wanted.state, End::idle);
  const ConnectionEnd own = fresh_end();
  wanted = {End::asking, manager->next_generation(peer, index), own.queue_pair, 0};
  manager->request({peer, index, wanted.connection_generation}, index % 2, own, now);
}

bool Process::accept(const SubchannelName& name, const ConnectionEnd& remote, ConnectionEnd& own) {
  if (random_.chance(unwilling)) return false;
  End& taken = end(name.peer, name.index);
  EXPECT_NE(taken.state, End::asking);
  EXPECT_TRUE(taken.state == End::idle || name.connection_generation > taken.connection_generation);
  own = fresh_end();
  taken = {End::connected, name.connection_generation, own.queue_pair, remote.queue_pair};
  ++accepts;
  world_.check(self_, name.peer, name.index);
  return true;
}

void Process::connected(const SubchannelName& name, const ConnectionEnd& remote) {
  End& done = end(name.peer, name.index);
  EXPECT_EQ(done.state, End::asking);
  EXPECT_EQ(done.connection_generation, name.connection_generation);
  done.state = End::connected;
  done.remote = remote.queue_pair;
  ++connects;
  world_.check(self_, name.peer, name.index);
}

void Process::abandon(const SubchannelName& name, bool gave_up) {
  End& gone = end(name.peer, name.index);
  EXPECT_EQ(gone.state, End::asking);
  EXPECT_EQ(gone.connection_generation, name.connection_generation);
  gone.state = End::idle;
  ++(gave_up ? give_ups : abandons);
}

bool Process::send_datagram(std::uint16_t rail, ProcessIndex peer, std::uint16_t,
                            std::span<const std::byte> bytes) {
  EXPECT_TRUE(up[rail]);
  world_.carry(rail, peer, bytes);
  return true;
}

TEST(ConnectionManager, ConnectsAndIsQuietThen) {
  World world(2);
  world[0].ask(1, 5, 0);
  world.run_until(never);
  EXPECT_TRUE(world.agree(0, 1, 5));
  EXPECT_EQ(world.sent, 2);
  EXPECT_EQ(world[0].manager->deadline(), never);
  EXPECT_EQ(world[0].manager->counters().requests, 1u);
  EXPECT_EQ(world[1].manager->counters().accepted, 1u);
}

TEST(ConnectionManager, OfTwoThatAskAtOnceTheLowerStands) {
  World world(2);
  world[0].ask(1, 0, 0);
  world[1].ask(0, 0, 0);
  world.run_until(never);
  EXPECT_TRUE(world.agree(0, 1, 0));
  EXPECT_EQ(world[0].connects, 1);
  EXPECT_EQ(world[1].accepts, 1);
  EXPECT_EQ(world[1].abandons, 1);
  EXPECT_GE(world[0].manager->counters().collisions + world[1].manager->counters().collisions, 1u);
  EXPECT_GE(world[0].addresses, 1);  // of the request that was not looked at any further
}

TEST(ConnectionManager, ALostReplyIsRepeatedWithoutAsking) {
  World world(2);
  world[0].ask(1, 0, 0);
  world.run_until(0);
  world.loss = 1;  // of the reply
  world.run_until(millisecond);
  EXPECT_EQ(world[1].accepts, 1);
  world.loss = 0;
  world.run_until(never);
  EXPECT_TRUE(world.agree(0, 1, 0));
  EXPECT_EQ(world[1].accepts, 1);
}

TEST(ConnectionManager, GivesUpAfterItsRepeatsWithGrowingPauses) {
  World world(2);
  world.loss = 1;
  world[0].ask(1, 0, 0);
  world.run_until(never);
  EXPECT_EQ(world[0].give_ups, 1);
  EXPECT_EQ(world.sent, 13);
  EXPECT_GT(world.now, 600 * millisecond);
  EXPECT_LT(world.now, 1200 * millisecond);
  EXPECT_EQ(world[0].manager->next_generation(1, 0), 1u);
}

TEST(ConnectionManager, ARailThatIsDownIsNotUsed) {
  World world(2);
  world[0].up[1] = false;
  world[0].ask(1, 1, 0);
  world.run_until(30 * millisecond);
  EXPECT_EQ(world.sent, 0);
  world[0].up[1] = true;
  world.run_until(never);
  EXPECT_TRUE(world.agree(0, 1, 1));
}

TEST(ConnectionManager, AnUnwillingPeerIsAskedAgain) {
  World world(2);
  world[1].unwilling = 1;
  world[0].ask(1, 0, 0);
  world.run_until(5 * millisecond);
  EXPECT_EQ(world[1].accepts, 0);
  world[1].unwilling = 0;
  world.run_until(never);
  EXPECT_TRUE(world.agree(0, 1, 0));
}

TEST(ConnectionManager, ALaterGenerationReplacesAnEarlierOne) {
  World world(2);
  world[0].ask(1, 0, 0);
  world.run_until(never);
  world[0].fail(1, 0);
  world[0].ask(1, 0, world.now);
  world.run_until(never);
  EXPECT_TRUE(world.agree(0, 1, 0));
  EXPECT_EQ(world[0].end(1, 0).connection_generation, 1u);
  EXPECT_EQ(world[1].accepts, 2);
}

TEST(ConnectionManager, WhoAsksTooLateIsToldTheNextGeneration) {
  World world(2);
  for (int i = 0; i < 4; ++i) {  // nothing of this reaches process 1
    world.loss = 1;
    world[0].ask(1, 0, world.now);
    world[0].fail(1, 0);
  }
  world.on_the_way.clear();
  world.loss = 0;
  EXPECT_EQ(world[0].manager->next_generation(1, 0), 4u);
  world[1].ask(0, 0, world.now);
  world.run_until(never);
  EXPECT_EQ(world[1].give_ups, 1);
  EXPECT_EQ(world[1].manager->next_generation(0, 0), 4u);
  world[1].ask(0, 0, world.now);
  world.run_until(never);
  EXPECT_TRUE(world.agree(0, 1, 0));
}

TEST(ConnectionManager, ControlsGoThroughARailThatIsUp) {
  World world(2);
  world[0].up[1] = false;
  EXPECT_TRUE(
      world[0].manager->send_control({1}, 1, DatagramKind::fence, std::as_bytes(std::span("stop", 4))));
  ASSERT_EQ(world.on_the_way.size(), 1u);
  EXPECT_EQ(world.on_the_way.begin()->second.rail, 0);
  world.run_until(never);
  EXPECT_EQ(world[1].controls, std::vector<std::string>{"0:4:stop"});
  world[0].up[0] = false;
  EXPECT_FALSE(world[0].manager->send_control({1}, 1, DatagramKind::reconnect_request, {}));
}

TEST(ConnectionManager, StrangersAndDamagedDatagramsAreDropped) {
  World world(3);
  Process stranger(world, 0, 3, {1, 2});
  stranger.ask(1, 0, 0);
  world.run_until(never);
  EXPECT_EQ(world[1].accepts, 0);
  EXPECT_EQ(world[1].manager->counters().dropped_check, 1u);

  world[0].ask(1, 0, 0);
  ASSERT_EQ(world.on_the_way.size(), 1u);
  const std::vector<std::byte> good = world.on_the_way.begin()->second.bytes;
  for (std::size_t length = 0; length < good.size(); ++length)
    world[1].manager->on_datagram(0, std::span(good).first(length), 0);
  for (std::size_t bit = 0; bit < good.size() * 8; ++bit) {
    std::vector<std::byte> damaged = good;
    damaged[bit / 8] ^= static_cast<std::byte>(1u << bit % 8);
    world[1].manager->on_datagram(0, damaged, 0);
  }
  world[2].manager->on_datagram(0, good, 0);  // not for it
  world[0].manager->on_datagram(0, good, 0);
  EXPECT_EQ(world[1].accepts + world[2].accepts + world[0].accepts, 0);
  EXPECT_EQ(world[2].manager->counters().dropped_malformed, 1u);
  Random random(3);
  for (int i = 0; i < 10'000; ++i) {
    std::vector<std::byte> noise(random.below(200));
    for (std::byte& each : noise) each = static_cast<std::byte>(random.next());
    world[1].manager->on_datagram(1, noise, 0);
  }
  EXPECT_EQ(world[1].accepts, 0);
  const ConnectionCounters& counters = world[1].manager->counters();
  EXPECT_EQ(counters.dropped_check + counters.dropped_malformed, counters.datagrams_received);
  for (int i = 0; i < 3; ++i) EXPECT_TRUE(world[i].complaints.empty()) << world[i].complaints.front();
  world.run_until(never);
  EXPECT_TRUE(world.agree(0, 1, 0));
}

// A member of the job that speaks wrongly: the check fits, sizes and values do not.
TEST(ConnectionManager, WrongContentsOfMembersAreReported) {
  World world(2);
  ConnectionEnd wrong;
  wrong.port.mtu = 9;
  world[0].manager->request({1, 0, 0}, 0, wrong, 0);
  wrong.port.mtu = 4;
  wrong.queue_pair = 1u << 24;
  world[0].manager->request({1, 1, 0}, 0, wrong, 0);
  world[0].manager->send_control({1}, 0, DatagramKind::request, std::as_bytes(std::span("short", 5)));
  world[0].manager->send_control({1}, 0, DatagramKind::reply, {});
  world[0].manager->send_control({1}, 0, DatagramKind::refuse, {});
  world[0].manager->send_control({1}, 0, static_cast<DatagramKind>(77), {});
  world.run_until(millisecond);
  EXPECT_EQ(world[1].manager->counters().dropped_malformed, 6u);
  EXPECT_EQ(world[1].complaints.size(), 6u);
  EXPECT_EQ(world[1].accepts, 0);
}

// Both ends ask, once; whatever the network does, both are connected to each other or the attempt is over.
TEST(ConnectionManager, LossesAndDuplicatesOfOneAttempt) {
  int connected = 0;
  for (std::uint64_t seed = 1; seed <= 300; ++seed) {
    World world(2, seed);
    world.loss = static_cast<double>(seed % 10) / 10;
    world.repeats = 0.3;
    world.longest_delay = static_cast<std::uint64_t>(seed % 4 * 10 * millisecond + 1);
    world[0].ask(1, 0, 0);
    world.run_until(static_cast<Nanoseconds>(world.random.below(3 * millisecond)));
    if (world[1].end(0, 0).state == Process::End::idle) world[1].ask(0, 0, world.now);
    world.run_until(never);
    const Process::End &one = world[0].end(1, 0), &other = world[1].end(0, 0);
    ASSERT_NE(one.state, Process::End::asking) << "seed " << seed;
    ASSERT_NE(other.state, Process::End::asking) << "seed " << seed;
    if (one.state == Process::End::connected) {
      ASSERT_TRUE(world.agree(0, 1, 0)) << "seed " << seed;
    }
    // Who was asked and answered may be left alone with its answer; who asked then gave up.
    if (other.state == Process::End::connected && one.state == Process::End::idle) {
      ASSERT_EQ(world[0].give_ups, 1) << "seed " << seed;
    }
    connected += world.agree(0, 1, 0) ? 1 : 0;
  }
  EXPECT_GT(connected, 200);
}

// Failures, requests from both sides, losses, duplicates, reordering among several processes; then the
// network heals, who is not connected to who it thinks asks again (its probe would not get through), and
// all agree.
TEST(ConnectionManager, StormsEndInAgreement) {
  constexpr int processes = 4, subchannels = 3;
  for (std::uint64_t seed = 1; seed <= 300; ++seed) {
    World world(processes, seed);
    world.loss = static_cast<double>(seed % 5) * 0.15;
    world.repeats = 0.25;
    world.longest_delay = static_cast<std::uint64_t>(20 * millisecond);
    for (int i = 0; i < processes; ++i) world[i].unwilling = 0.1;
    const auto any_end = [&](auto&& act) {
      const auto a = static_cast<ProcessIndex>(world.random.below(processes));
      const auto b = static_cast<ProcessIndex>((a + 1 + static_cast<int>(world.random.below(processes - 1))) %
                                               processes);
      act(a, b, static_cast<std::uint16_t>(world.random.below(subchannels)));
    };
    for (int step = 0; step < 400; ++step) {
      any_end([&](ProcessIndex a, ProcessIndex b, std::uint16_t index) {
        const Process::End::State state = world[a].end(b, index).state;
        if (state == Process::End::idle) world[a].ask(b, index, world.now);
        if (state == Process::End::connected && world.random.chance(0.3)) world[a].fail(b, index);
      });
      world.run_until(world.now + static_cast<Nanoseconds>(world.random.below(10 * millisecond)));
      if (testing::Test::HasFailure()) FAIL() << "seed " << seed;
    }
    world.loss = 0;
    for (int i = 0; i < processes; ++i) world[i].unwilling = 0;
    bool all = false;
    for (int round = 0; round < 20 && !all; ++round) {
      world.run_until(world.now + 3 * second);
      all = true;
      for (ProcessIndex a = 0; a < processes; ++a)
        for (ProcessIndex b = a + 1; b < processes; ++b)
          for (std::uint16_t index = 0; index < subchannels; ++index) {
            if (world.agree(a, b, index)) continue;
            all = false;
            if (world[a].end(b, index).state == Process::End::connected) world[a].fail(b, index);
            if (world[a].end(b, index).state == Process::End::idle) world[a].ask(b, index, world.now);
          }
    }
    ASSERT_TRUE(all) << "seed " << seed;
    for (int i = 0; i < processes; ++i) {
      const ConnectionCounters& counters = world[i].manager->counters();
      ASSERT_EQ(counters.dropped_check + counters.dropped_malformed, 0u) << "seed " << seed;
      ASSERT_EQ(world[i].manager->deadline(), never) << "seed " << seed;
    }
  }
}

}  // namespace
}  // namespace hawser
