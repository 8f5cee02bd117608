#include "rails/datapath/virtual_channel.h"

#include <gtest/gtest.h>

#include <cstring>

#include "rails/datapath/fake_device_test_support.h"

namespace hawser {

// Tells the machine of a subchannel what happens, as recovery does, whose actions nobody carries out here.
class rails_test::MachineAccess {
 public:
  static void tell(Subchannel& subchannel, const SubchannelEvent& event) {
    static_cast<void>(subchannel.machine_.on(event, 1));
  }
};

namespace {

using rails_test::FakeQueuePair;
using rails_test::MachineAccess;
using Kind = SubchannelEvent::Kind;

// Chooses the first, for as long as it may, and notes how often it is asked and what it is told.
class NotingPolicy final : public SchedulingPolicy {
 public:
  NotingPolicy(int& asked, TrafficClass& acknowledged_to_peer)
      : asked_(asked), acknowledged_to_peer_(acknowledged_to_peer) {}
  const char* name() const override { return "noting"; }
  void plan(const StripeRequest&, std::span<const SubchannelView>, StripePlan&) override {}
  int choose(std::int64_t, TrafficClass traffic, std::span<const SubchannelView> views) override {
    ++asked_;
    acknowledged_to_peer_ = traffic;
    for (std::size_t i = 0; i < views.size(); ++i)
      if (views[i].usable) return static_cast<int>(i);
    return -1;
  }
  PacketHold hold(int, std::int64_t, std::span<const SubchannelView>) const override {
    return {any_packets, 1000, 1 << 20, 8};
  }

 private:
  int& asked_;
  TrafficClass& acknowledged_to_peer_;
};

class NoHandler final : public PacketHandler {
 public:
  void on_packet(const ReceivedPacket&) override { ++packets; }
  int packets = 0;
};

class NoRecovery final : public SubchannelEvents {
 public:
  void on_wanted(VirtualChannel&) override {}
  void on_failed(Subchannel&, PathReason) override {}
  void on_damaged(Subchannel&) override {}
  void on_half_posted(Subchannel&) override {}
  void on_drained(Subchannel&) override {}
  void on_early_packet(Subchannel&, PacketKind) override {}
  void on_reissued(std::int64_t) override {}
  void on_device_gone(std::uint16_t) override {}
};

// A peer with two rails, both ready.
class ChannelTest : public testing::Test {
 protected:
  ChannelTest() {
    settings_.job_size = 2;
    context.emplace(settings_, Knobs{}, 1);
    resources.emplace(context->knobs);
    rails_test::FakeDevices devices(2);
    EXPECT_TRUE(resources->open(*context, devices));
    upward.handle({PacketKind::eager}, handler);
    upward.subchannels = &recovery;
    peer.emplace(*context, *resources, upward, due, 1, resources->table,
                 std::make_unique<NotingPolicy>(asked, acknowledged_to_peer));
    for (Subchannel& subchannel : peer->subchannels()) {
      subchannel.queue_pair = std::make_unique<FakeQueuePair>();
      MachineAccess::tell(subchannel, {.kind = Kind::want});
      MachineAccess::tell(subchannel, {.kind = Kind::connect_begun, .connection_generation = 1});
      MachineAccess::tell(subchannel, {.kind = Kind::joined});
      EXPECT_TRUE(subchannel.in_service());
      peer->on_ready();
    }
    peer->advance();  // the credit that tells the peer of the new connection
  }
  ~ChannelTest() override { peer->abandon(); }

  FakeQueuePair& queue_pair(std::size_t index) {
    return static_cast<FakeQueuePair&>(*peer->subchannels()[index].queue_pair);
  }
  bool send(TrafficClass traffic = TrafficClass::blocking) {
    const std::array<std::byte, 8> bytes = {};
    return peer->send(PacketKind::eager, traffic, bytes, {});
  }
  // So many packets of the peer arrive.
  void receive(std::uint32_t count) {
    for (std::uint32_t i = 0; i < count; ++i) {
      PacketBuffer* const buffer = resources->packets.take();
      PacketHeader header;
      header.sequence_number = next_++;
      std::memcpy(buffer->data, &header, sizeof(header));
      buffer->bytes = sizeof(header);
      EXPECT_FALSE(peer->take_packet(peer->subchannels()[0], buffer, header));
      resources->packets.give_back(buffer);
    }
  }
  static PacketHeader header_of(const rdma::SendRequest& request) {
    PacketHeader header;
    std::memcpy(&header, request.segments[0].address, sizeof(header));
    return header;
  }

  RailSettings settings_;
  std::optional<RailContext> context;
  std::optional<RailResources> resources;
  Upward upward;
  NoHandler handler;
  NoRecovery recovery;
  DuePeers due;
  int asked = 0;
  TrafficClass acknowledged_to_peer = TrafficClass::one_sided;
  std::uint32_t next_ = 0;
  std::optional<VirtualChannel> peer;
};

TEST_F(ChannelTest, ACreditThatTheAdapterRefusesIsSentLater) {
  ASSERT_TRUE(peer->idle());
  receive(packet_window / 2);
  EXPECT_FALSE(peer->idle()) << "a credit is due";
  queue_pair(0).accepts = 0;
  const std::size_t before = queue_pair(0).posted.size();
  EXPECT_FALSE(peer->advance());
  EXPECT_FALSE(peer->idle()) << "the peer was not told, and waits for it";
  EXPECT_EQ(peer->acknowledged_to_peer(), 0u);
  queue_pair(0).accepts = 1;
  EXPECT_TRUE(peer->advance());
  ASSERT_EQ(queue_pair(0).posted.size(), before + 1);
  EXPECT_EQ(header_of(queue_pair(0).posted.back()).kind, PacketKind::credit);
  EXPECT_EQ(header_of(queue_pair(0).posted.back()).acknowledged, packet_window / 2);
  EXPECT_TRUE(peer->idle());
}

TEST_F(ChannelTest, APacketThatTheAdapterRefusesIsSentLaterInItsTurn) {
  queue_pair(0).accepts = 1;
  ASSERT_TRUE(send());
  ASSERT_TRUE(send());  // taken over, though the adapter refused
  EXPECT_FALSE(peer->flushed());
  EXPECT_FALSE(send()) << "nothing overtakes it";
  queue_pair(0).accepts = SIZE_MAX;
  EXPECT_TRUE(peer->advance());
  EXPECT_EQ(header_of(queue_pair(0).posted.back()).sequence_number, 1u);
}

TEST_F(ChannelTest, ThePolicyIsAskedOnlyWhenSomethingChanged) {
  Subchannel& first = peer->subchannels()[0];
  Subchannel& second = peer->subchannels()[1];
  ASSERT_TRUE(send());
  const int before = asked;
  for (int i = 0; i < 3; ++i) ASSERT_TRUE(send());
  EXPECT_EQ(asked, before);
  const auto asks = [&](const char* what) {
    const int then = asked;
    EXPECT_TRUE(send()) << what;
    EXPECT_EQ(asked, then + 1) << what;
    first.outstanding = second.outstanding = 0;  // its requests complete
    EXPECT_TRUE(send()) << what;
    EXPECT_EQ(asked, then + 1) << what;
  };
  peer->weights().on_failed(second.index);
  asks("a weight changed");
  first.rail.bytes_queued = 1 << 21;
  const int queued = asked;
  ASSERT_TRUE(send());
  EXPECT_EQ(asked, queued + 1) << "much is queued on the rail";
  first.rail.bytes_queued = 0;
  MachineAccess::tell(first, {.kind = Kind::suspect, .reason = PathReason::blamed});
  peer->suspected = 1;
  const std::size_t sent = queue_pair(1).posted.size();
  asks("the path is avoided");
  EXPECT_GT(queue_pair(1).posted.size(), sent);
  second.outstanding = 8;
  const int then = asked;
  ASSERT_TRUE(send());
  EXPECT_EQ(asked, then + 1) << "much is under way on it";
  second.outstanding = 0;
  MachineAccess::tell(first, {.kind = Kind::fail, .reason = PathReason::watchdog});
  peer->suspected = 0;
  peer->on_not_ready();
  asks("it failed");
}

// A choice for one class is none for another, so each is asked for.
TEST_F(ChannelTest, ThePolicyIsToldTheClassOfEachPacket) {
  for (int round = 0; round < 2; ++round)
    for (const TrafficClass traffic : {TrafficClass::nonblocking, TrafficClass::collective,
                                       TrafficClass::one_sided, TrafficClass::blocking}) {
      const int before = asked;
      ASSERT_TRUE(send(traffic));
      EXPECT_EQ(acknowledged_to_peer, traffic);
      EXPECT_EQ(asked, before + 1);
    }
}

TEST_F(ChannelTest, AChoiceForSmallPacketsIsNoneForLargeOnes) {
  ASSERT_TRUE(send());
  const int before = asked;
  const std::vector<std::byte> bytes(2000);
  ASSERT_TRUE(peer->send(PacketKind::eager, TrafficClass::blocking, bytes, {}));
  EXPECT_EQ(asked, before + 1);
}

}  // namespace
}  // namespace hawser
