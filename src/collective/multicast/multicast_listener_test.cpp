// A rank that listens to the packets of a root, and whether it does, without a network.
#include "collective/multicast/multicast_listener.h"

#include <gtest/gtest.h>

#include <algorithm>

#include "base/random.h"

namespace hawser {
namespace {

constexpr Nanoseconds late = 800 * microsecond;

void attach(AttachPolicy& policy) {
  for (std::uint32_t i = 0; i < AttachPolicy::least_judged; ++i) policy.on_wait(late);
  ASSERT_TRUE(policy.attached());
}

void detach(AttachPolicy& policy) {
  for (std::uint32_t i = 0; i < AttachPolicy::detach_after; i += AttachPolicy::trial_every)
    policy.on_in_time(true);
  ASSERT_FALSE(policy.attached());
}

// Broadcasts with a long wait until it attaches.
std::uint32_t broadcasts_until_attached(AttachPolicy& policy) {
  std::uint32_t count = 0;
  for (; !policy.attached(); ++count) policy.on_wait(late);
  return count;
}

TEST(AttachPolicy, AttachesAfterEnoughBroadcastsWithLongWaits) {
  AttachPolicy policy;
  EXPECT_EQ(broadcasts_until_attached(policy), AttachPolicy::least_judged);
  AttachPolicy every_other;
  for (int i = 0; i < 32; ++i) every_other.on_wait(i % 2 == 0 ? late : 0);
  EXPECT_TRUE(every_other.attached());
}

TEST(AttachPolicy, ALongWaitIsNoHabit) {
  AttachPolicy policy;
  for (int i = 0; i < 1000; ++i) policy.on_wait(i % 20 == 0 ? second : 5 * microsecond);
  EXPECT_FALSE(policy.attached());
}

TEST(AttachPolicy, DetachesOnceTheLeaderIsInTimeAgainAndAgain) {
  AttachPolicy policy;
  attach(policy);
  policy.on_late();
  for (int i = 0; i < 3; ++i) policy.on_in_time(true);
  EXPECT_TRUE(policy.attached());
  policy.on_late();
  for (int i = 0; i < 3; ++i) policy.on_in_time(true);
  EXPECT_TRUE(policy.attached());
  policy.on_in_time(true);
  EXPECT_FALSE(policy.attached());
  EXPECT_EQ(broadcasts_until_attached(policy), AttachPolicy::least_judged) << "the leader had been late";
}

TEST(AttachPolicy, IsHarderToConvinceWhereTheRootWasLate) {
  AttachPolicy policy;
  attach(policy);
  detach(policy);
  EXPECT_EQ(broadcasts_until_attached(policy), 2 * AttachPolicy::least_judged);
  detach(policy);
  EXPECT_EQ(broadcasts_until_attached(policy), 4 * AttachPolicy::least_judged);
  policy.on_late();
  detach(policy);
  EXPECT_EQ(broadcasts_until_attached(policy), AttachPolicy::least_judged);
}

// Broadcasts of root 0 to one listener.
class Listener : public ::testing::Test {
 protected:
  static constexpr std::int64_t packet_bytes = 256;
  struct Broadcast {
    explicit Broadcast(std::int32_t tag, std::int64_t bytes) : data(static_cast<std::size_t>(bytes)) {
      listening.packets = {0, tag, data.data(), bytes};
      listening.timed = true;
    }
    std::vector<std::byte> data;
    MulticastListening listening;
  };
  static std::byte byte_of(std::int32_t tag, std::int64_t at) {
    return static_cast<std::byte>(tag * 31 + at / 7 + 1);
  }
  // Packets of a broadcast; the first one has the number `first`.
  static std::vector<MulticastHeader> packets(std::int32_t tag, std::int64_t bytes, std::uint32_t first) {
    std::vector<MulticastHeader> all;
    for (std::int64_t at = 0; at < bytes; at += packet_bytes)
      all.push_back({{}, 0, first++, tag, 0, at, bytes});
    return all;
  }
  void take(const MulticastHeader& header) {
    std::vector<std::byte> bytes(
        static_cast<std::size_t>(std::min(packet_bytes, header.total - header.offset)));
    for (std::size_t i = 0; i < bytes.size(); ++i)
      bytes[i] = byte_of(header.tag, header.offset + static_cast<std::int64_t>(i));
    listener.take(header, bytes);
  }
  static bool whole(const Broadcast& broadcast) {
    for (std::size_t i = 0; i < broadcast.data.size(); ++i)
      if (broadcast.data[i] != byte_of(broadcast.listening.packets.tag, static_cast<std::int64_t>(i)))
        return false;
    return true;
  }
  // By messages of a leader that comes late.
  void attach() {
    while (!listener.attached()) {
      Broadcast broadcast(++tag, 8);
      listener.begin(broadcast.listening, true);
      listener.look(now);
      now += late;
      listener.end(broadcast.listening, now);
    }
  }

  MulticastListener listener;
  Nanoseconds now = 0;
  std::int32_t tag = 0;
};

TEST_F(Listener, HasABroadcastWhenAllPacketsCame) {
  attach();
  Broadcast broadcast(++tag, 2000);
  listener.begin(broadcast.listening, true);
  auto all = packets(tag, 2000, 60);
  std::swap(all[1], all[6]);
  for (const MulticastHeader& each : all) {
    EXPECT_FALSE(broadcast.listening.done);
    take(each);
    take(all.front());  // again
  }
  EXPECT_TRUE(broadcast.listening.done);
  EXPECT_TRUE(whole(broadcast));
  listener.end(broadcast.listening, now);
}

TEST_F(Listener, TakesWhatCameEarly) {
  attach();
  for (const MulticastHeader& each : packets(tag + 1, 3 * packet_bytes, 0)) take(each);
  Broadcast broadcast(++tag, 3 * packet_bytes);
  listener.begin(broadcast.listening, true);
  EXPECT_TRUE(broadcast.listening.done);
  EXPECT_TRUE(whole(broadcast));
  listener.end(broadcast.listening, now);
}

TEST_F(Listener, WaitsForItsLeaderWhereItDoesNotListen) {
  Broadcast first(++tag, packet_bytes);
  listener.begin(first.listening, true);
  for (const MulticastHeader& each : packets(tag, packet_bytes, 0)) take(each);
  EXPECT_FALSE(first.listening.done) << "not attached";
  listener.end(first.listening, now);
  attach();
  Broadcast second(++tag, packet_bytes);
  listener.begin(second.listening, false);
  for (const MulticastHeader& each : packets(tag, packet_bytes, 1)) take(each);
  EXPECT_FALSE(second.listening.done) << "too many messages are to come";
  listener.end(second.listening, now);
}

TEST_F(Listener, WaitsALittleLongerInATrial) {
  attach();
  int trials = 0;
  for (std::uint32_t i = 0; i < 2 * AttachPolicy::trial_every; ++i) {
    Broadcast broadcast(++tag, packet_bytes);
    listener.begin(broadcast.listening, true);
    for (const MulticastHeader& each : packets(tag, packet_bytes, i)) take(each);
    if (!broadcast.listening.done) {
      ++trials;
      listener.look(now);
      EXPECT_EQ(listener.due(), now + AttachPolicy::in_time);
      listener.look(now + AttachPolicy::in_time - 1);
      EXPECT_FALSE(broadcast.listening.done);
      listener.look(now + AttachPolicy::in_time);
      EXPECT_TRUE(broadcast.listening.done);
      EXPECT_EQ(listener.due(), never);
    }
    listener.end(broadcast.listening, now);
  }
  EXPECT_EQ(trials, 2);
}

// Whatever the network does, what counts as whole is, and a broadcast of which nothing is lost is whole.
TEST_F(Listener, IsNeverWrong) {
  for (std::uint64_t seed = 1; seed <= 200; ++seed) {
    Random random(seed);
    attach();
    std::uint32_t number = static_cast<std::uint32_t>(random.next());
    std::vector<MulticastHeader> air;
    int wholes = 0;
    for (int i = 0; i < 50 && listener.attached(); ++i) {
      const auto bytes = static_cast<std::int64_t>(1 + random.below(MulticastListener::most_bytes));
      bool lost = false;
      for (const MulticastHeader& each : packets(tag + 1, bytes, number)) {
        ++number;
        const bool gone = random.below(100) < seed % 4;
        lost |= gone;
        for (auto copies = gone ? 0 : 1 + random.below(2); copies > 0; --copies)
          air.insert(air.begin() + static_cast<std::ptrdiff_t>(random.below(air.size() + 1)), each);
      }
      Broadcast broadcast(++tag, bytes);
      const auto deliver = [&](std::size_t left) {
        for (; air.size() > left; air.pop_back()) take(air.back());
      };
      const bool early = random.below(2) == 0;
      if (early) deliver(air.size() / 2);
      listener.begin(broadcast.listening, true);
      deliver(seed % 4 == 0 ? 0 : random.below(4));
      listener.look(now);
      listener.look(now + AttachPolicy::in_time);
      if (broadcast.listening.done) {
        EXPECT_TRUE(whole(broadcast)) << "seed " << seed;
        EXPECT_FALSE(lost);
        ++wholes;
      }
      listener.end(broadcast.listening, now);
    }
    if (seed % 4 == 0) {
      EXPECT_GT(wholes, 25);
    }
  }
}

}  // namespace
}  // namespace hawser
