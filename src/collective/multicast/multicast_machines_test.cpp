// A root and its leaders over a network that loses, doubles and reorders, without anything of MPI.
#include <gtest/gtest.h>

#include <algorithm>
#include <deque>
#include <map>
#include <vector>

#include "base/random.h"
#include "collective/multicast/multicast_receiver.h"
#include "collective/multicast/multicast_sender.h"

namespace hawser {
namespace {

using Take = MulticastReceiver::Take;
using Way = MulticastReceiver::Way;

struct Odds {
  double loss = 0, twice = 0, late = 0;
};

// Broadcasts of one packet each: packet i is of operation i.
class Net {
 public:
  Net(int leaders, Odds odds, std::uint64_t seed) : sender(leaders), odds_(odds), random_(seed) {
    for (int i = 0; i < leaders; ++i) {
      receivers.emplace_back(i);
      begun_.push_back(0);
      done_.push_back(0);
      has_.emplace_back();
      receivers.back().set_rails(1);
      // A first broadcast by other ways, after which the root knows who is attached.
      receivers.back().begin_wait();
      receivers.back().end_wait();
    }
    tell();
  }

  bool dice(double chance) { return static_cast<double>(random_.below(1000000)) < chance * 1000000; }

  void tell() {
    for (std::size_t i = 0; i < receivers.size(); ++i) {
      if (!receivers[i].wants_to_tell()) continue;
      to_root_.push_back({now + flight, i, receivers[i].status()});
      receivers[i].on_told();
    }
  }

  void send() {
    const std::uint32_t packet = sender.next();
    sender.on_sent();
    for (std::size_t i = 0; i < receivers.size(); ++i) {
      for (int copies = dice(odds_.twice) ? 2 : 1; copies > 0; --copies)
        if (!dice(odds_.loss)) {
          const Nanoseconds late = dice(odds_.late) ? 30 * microsecond : 0;
          to_leaders_.push_back({now + flight + late, i, packet, Way::multicast});
        }
    }
  }

  void arrive(std::size_t i, std::uint32_t packet, Way way) {
    const bool held = packet >= begun_[i];
    const Take take = receivers[i].take(packet, held, way, now);
    ASSERT_NE(take, Take::beyond);
    if (take == Take::fresh) {
      EXPECT_FALSE(has_[i][packet]);
      has_[i][packet] = true;
    }
  }

  // A microsecond.
  void step() {
    now += microsecond;
    for (std::size_t k = 0; k < to_leaders_.size(); ++k) {
      const auto each = to_leaders_[k];
      if (each.at > now) continue;
      to_leaders_.erase(to_leaders_.begin() + static_cast<std::ptrdiff_t>(k--));
      arrive(each.leader, each.packet, each.way);
    }
    while (!to_root_.empty() && to_root_.front().at <= now) {
      const auto each = to_root_.front();
      to_root_.pop_front();
      ASSERT_TRUE(sender.on_status(static_cast<int>(each.leader), each.status, now));
    }
    sender.repair(now, [this](int leader, std::uint32_t packet) {
      EXPECT_GE(packet, sender.lowest());
      if (dice(0.1)) return false;  // no room
      to_leaders_.push_back({now + flight, static_cast<std::size_t>(leader), packet, Way::repair});
      return true;
    });
    for (MulticastReceiver& receiver : receivers) receiver.look(now);
    tell();
  }

  // Leaders go on to operation `until`, one after another, when they like.
  void go_on(std::uint32_t until, double eager) {
    for (std::size_t i = 0; i < receivers.size(); ++i) {
      if (begun_[i] > done_[i]) {
        if (!has_[i][done_[i]]) continue;
        receivers[i].end_wait();
        ++done_[i];
      } else if (begun_[i] < until && dice(eager)) {
        receivers[i].begin_wait();
        if (has_[i][begun_[i]]) receivers[i].release(begun_[i]);
        ++begun_[i];
      }
    }
  }
  bool all_done(std::uint32_t count) const {
    return std::ranges::all_of(done_, [&](std::uint32_t done) { return done == count; });
  }

  static constexpr Nanoseconds flight = 2 * microsecond;
  MulticastSender sender;
  std::vector<MulticastReceiver> receivers;
  Nanoseconds now = 0;

 private:
  struct Copy {
    Nanoseconds at;
    std::size_t leader;
    std::uint32_t packet;
    Way way;
  };
  struct Told {
    Nanoseconds at;
    std::size_t leader;
    LeaderStatus status;
  };
  Odds odds_;
  Random random_;
  std::vector<std::uint32_t> begun_, done_;
  std::vector<std::map<std::uint32_t, bool>> has_;
  std::vector<Copy> to_leaders_;
  std::deque<Told> to_root_;
};

TEST(MulticastMachines, EveryPacketArrivesOnceWhateverTheNetworkDoes) {
  const Odds all[] = {{0, 0, 0},   {0.01, 0, 0}, {0.2, 0.1, 0.2}, {0, 0.3, 0},
                      {0, 0, 0.5}, {0.9, 0, 0},  {1, 0, 0}};
  for (std::uint64_t seed = 1; seed <= 40; ++seed)
    for (const Odds& odds : all) {
      Net net(1 + static_cast<int>(seed % 5), odds, seed);
      constexpr std::uint32_t count = 300;
      int steps = 0;
      for (; !net.all_done(count) && steps < 200000; ++steps) {
        net.step();
        if (testing::Test::HasFatalFailure()) return;
        if (net.sender.next() < count && net.sender.admits() && net.dice(seed % 2 == 0 ? 0.9 : 0.05))
          net.send();
        net.go_on(count, seed % 3 == 0 ? 1 : 0.2);
      }
      ASSERT_TRUE(net.all_done(count)) << "seed " << seed << ", loss " << odds.loss;
      for (int i = 0; i < 100; ++i) net.step();
      EXPECT_EQ(net.sender.due(), never);
      for (const MulticastReceiver& receiver : net.receivers) EXPECT_EQ(receiver.due(), never);
      if (odds.loss == 0 && odds.late == 0 && seed % 2 == 0) {
        EXPECT_LT(net.sender.repairs(), count / 4);
      }
    }
}

// Until a leader says that it waits, a lost packet is nobody's business; then it comes at once.
TEST(MulticastMachines, TheLastPacketIsMissedByWhoWaitsForIt) {
  Net net(1, {}, 1);
  net.step();
  net.step();
  net.sender.on_sent();  // lost
  net.go_on(1, 1);
  const Nanoseconds begin = net.now;
  while (!net.all_done(1) && net.now < begin + second) {
    net.step();
    net.go_on(1, 1);
  }
  EXPECT_TRUE(net.all_done(1));
  EXPECT_LT(net.now - begin, MulticastReceiver::least_patience + 10 * microsecond);
  EXPECT_EQ(net.sender.repairs(), 1u);
}

TEST(MulticastMachines, ALateRootRepeatsNothingThatArrives) {
  Net net(4, {}, 1);
  net.step();
  net.step();
  net.go_on(1, 1);
  for (int i = 0; i < 1000; ++i) net.step();  // all of them say that they wait
  net.send();
  for (int i = 0; i < 100; ++i) {
    net.step();
    net.go_on(1, 1);
  }
  EXPECT_TRUE(net.all_done(1));
  EXPECT_EQ(net.sender.repairs(), 0u);
}

// Several operations of one root that begin together: until the first is over the root may not know of the
// communicator, so nobody can be told that the others wait. Their packets may be lost (seed 16572125 of the
// campaign hung).
TEST(MulticastReceiver, SaysThatOthersWaitWhenTheFirstOperationIsOver) {
  MulticastReceiver receiver(0);
  for (int i = 0; i < 3; ++i) receiver.begin_wait();
  receiver.look(second);
  receiver.look(2 * second);
  EXPECT_FALSE(receiver.wants_to_tell());
  receiver.end_wait();
  receiver.look(3 * second);  // its time begins at the first look
  EXPECT_EQ(receiver.due(), 3 * second + MulticastReceiver::least_patience);
  receiver.look(receiver.due());
  EXPECT_TRUE(receiver.wants_to_tell());
  EXPECT_EQ(receiver.status().waits, 1u);
}

TEST(MulticastSender, IsUsedOnceAllLeadersAreAttached) {
  MulticastSender sender(2);
  LeaderStatus attached;
  attached.rails = 3;
  EXPECT_FALSE(sender.chooses_multicast(3, 0));
  EXPECT_TRUE(sender.on_status(0, attached, 0));
  EXPECT_FALSE(sender.chooses_multicast(3, 0));
  attached.rails = 2;
  EXPECT_TRUE(sender.on_status(1, attached, 0));
  EXPECT_TRUE(sender.chooses_multicast(3, 0));
  EXPECT_EQ(sender.rails(), 2u);
  EXPECT_FALSE(sender.chooses_multicast(1, 0));
  attached.rails = 0;
  EXPECT_TRUE(sender.on_status(1, attached, 0));
  EXPECT_FALSE(sender.chooses_multicast(3, 0));
}

TEST(MulticastSender, TakesOtherWaysForLongerAndLongerWhereMuchIsLost) {
  MulticastSender sender(1);
  LeaderStatus status;
  status.rails = 1;
  ASSERT_TRUE(sender.on_status(0, status, 0));
  Nanoseconds now = second, last = 0;
  for (int round = 0; round < 5; ++round) {
    ASSERT_TRUE(sender.chooses_multicast(1, now));
    for (int i = 0; i < 20; ++i) {
      sender.on_sent();
      sender.repair(now, [](int, std::uint32_t) { return true; });
      now += millisecond;
      status.waits = 1;
      ASSERT_TRUE(sender.on_status(0, status, now));
      sender.repair(now, [](int, std::uint32_t) { return true; });
      ++status.expected;
    }
    ASSERT_FALSE(sender.chooses_multicast(1, now));
    const Nanoseconds begin = now;
    while (!sender.chooses_multicast(1, now)) now += millisecond;
    EXPECT_GT(now - begin, last);
    last = now - begin;
  }
  EXPECT_EQ(sender.suspensions(), 5u);
  for (int i = 0; i < 2000; ++i) {  // well again
    sender.on_sent();
    status.waits = 0;
    ASSERT_TRUE(sender.on_status(0, status, now));
    ++status.expected;
    ASSERT_TRUE(sender.chooses_multicast(1, now));
  }
}

// A sender with so many leaders, all attached, of whom each waited for the packets that were sent since.
struct Waiting {
  explicit Waiting(int leaders) : sender(leaders), count(leaders) {
    status.rails = 1;
    tell(0);
  }
  void tell(Nanoseconds now) {
    for (int i = 0; i < count; ++i) ASSERT_TRUE(sender.on_status(i, status, now));
  }
  int repair(Nanoseconds now) {
    int sent = 0;
    sender.repair(now, [&](int, std::uint32_t) { return ++sent > 0; });
    return sent;
  }
  // One goes, and nobody gets it.
  void lose(Nanoseconds& now) {
    sender.on_sent();
    repair(now);
    now += millisecond;
    status.waits = 1;
    tell(now);
    EXPECT_EQ(repair(now), count);
    ++status.expected;
  }

  MulticastSender sender;
  LeaderStatus status;
  const int count;
};

TEST(MulticastSender, CountsAPacketOnceHoweverManyLackIt) {
  Waiting net(63);
  Nanoseconds now = second;
  for (int i = 0; i < 4; ++i) net.lose(now);
  EXPECT_EQ(net.sender.repairs(), 4u * 63);
  EXPECT_TRUE(net.sender.chooses_multicast(1, now)) << "so much is forgiven";
  net.lose(now);
  EXPECT_FALSE(net.sender.chooses_multicast(1, now)) << "all of five packets were sent again";
}

TEST(MulticastSender, ForgetsWhatWasSentAgainInVain) {
  Waiting net(63);
  Nanoseconds now = second;
  for (int i = 0; i < 5; ++i) net.lose(now);
  net.status.waits = 0;
  net.status.duplicates = 5;
  net.tell(now);
  EXPECT_TRUE(net.sender.chooses_multicast(1, now));
}

// All of them say it of one packet.
TEST(MulticastSender, TakesPacketsToBeTwiceAsLongUnderWayOnce) {
  Waiting net(63);
  Nanoseconds now = second;
  net.lose(now);
  net.status.duplicates = 1;
  net.tell(now);
  net.sender.on_sent();
  net.repair(now);
  net.tell(now);
  EXPECT_EQ(net.sender.due(), now);
  EXPECT_EQ(net.repair(now), 0) << "it may be under way";
  EXPECT_EQ(net.sender.due(), now + 2 * MulticastSender::shortest_flight);
}

// What leaders said while the root did something else is read in turn: that they wait, then that they do not.
TEST(MulticastSender, ReadsEverythingBeforeItSendsAgain) {
  constexpr int leaders = 63;
  Waiting net(leaders);
  Nanoseconds now = second;
  net.sender.on_sent();
  net.repair(now);
  now += millisecond;
  net.sender.on_return(now);
  net.status.waits = 1;
  net.tell(now);
  EXPECT_EQ(net.repair(now), 0);
  const Nanoseconds due = net.sender.due();
  EXPECT_GT(due, now + leaders * 250);
  EXPECT_LE(due, now + 50 * microsecond);
  net.status.waits = 0;
  net.status.expected = 1;
  net.tell(now + 10 * microsecond);
  EXPECT_EQ(net.repair(due), 0);
  EXPECT_EQ(net.sender.due(), never);
}

// A root that only looks now and then sends again what is lacking when it looks next.
TEST(MulticastSender, PutsOffOnce) {
  Waiting net(1);
  Nanoseconds now = second;
  net.sender.on_sent();
  net.repair(now);
  net.status.waits = 1;
  net.tell(now);
  for (const int again : {0, 1, 0}) {
    now += millisecond;
    net.sender.on_return(now);
    EXPECT_EQ(net.repair(now), again);
  }
}

TEST(MulticastSender, BelievesNoNonsense) {
  MulticastSender sender(1);
  LeaderStatus status;
  status.expected = 1;  // nothing was sent
  EXPECT_FALSE(sender.on_status(0, status, 0));
  sender.on_sent();
  EXPECT_TRUE(sender.on_status(0, status, 0));
  status.expected = 0;  // less than before
  EXPECT_FALSE(sender.on_status(0, status, 0));
  status.expected = 1;
  status.received = 1;  // what was not sent
  EXPECT_FALSE(sender.on_status(0, status, 0));
}

// A root is never further ahead of a leader that does not come than a window.
TEST(MulticastSender, WaitsForTheSlowestLeader) {
  MulticastSender sender(3);
  for (std::uint32_t i = 0; i < MulticastSender::window; ++i) {
    ASSERT_TRUE(sender.admits());
    sender.on_sent();
  }
  EXPECT_FALSE(sender.admits());
  LeaderStatus status;
  status.expected = 10;
  ASSERT_TRUE(sender.on_status(0, status, 0));
  ASSERT_TRUE(sender.on_status(1, status, 0));
  EXPECT_FALSE(sender.admits());
  status.expected = 5;
  ASSERT_TRUE(sender.on_status(2, status, 0));
  EXPECT_EQ(sender.lowest(), 5u);
  EXPECT_TRUE(sender.admits());
}

TEST(MulticastSender, WithoutAnyWayEverybodyGetsEverythingAgain) {
  MulticastSender sender(2);
  LeaderStatus status;
  status.rails = 1;
  ASSERT_TRUE(sender.on_status(0, status, 0) && sender.on_status(1, status, 0));
  ASSERT_TRUE(sender.chooses_multicast(1, 0));
  sender.on_no_way(0);
  int sent = 0;
  sender.repair(0, [&](int, std::uint32_t packet) {
    EXPECT_EQ(packet, 0u);
    return ++sent > 0;
  });
  EXPECT_EQ(sent, 2);
  EXPECT_FALSE(sender.chooses_multicast(1, 0));
}

}  // namespace
}  // namespace hawser
