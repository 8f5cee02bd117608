#include "rails/datapath/virtual_channel.h"

#include <gtest/gtest.h>

#include <cstring>

#include "rails/datapath/ready_peer_test_support.h"
#include "rails/wire/bundle.h"

namespace hawser {

namespace {

// advance() has nothing to do.
bool idle(const VirtualChannel& peer) { return !peer.packets().waiting() && !peer.window().credit_due(); }

using rails_test::FakeQueuePair;
using rails_test::MachineAccess;
using Kind = SubchannelEvent::Kind;

// Chooses the first, for as long as it may, and notes how often it is asked and what it is told.
class NotingPolicy final : public SchedulingPolicy {
 public:
  NotingPolicy(int& asked, TrafficClass& told) : asked_(asked), told_(told) {}
  const char* name() const override { return "noting"; }
  void plan(const StripeRequest&, std::span<const SubchannelView>, StripePlan&) override {}
  int choose(std::int64_t, TrafficClass traffic, std::span<const SubchannelView> views) override {
    ++asked_;
    told_ = traffic;
    for (std::size_t i = 0; i < views.size(); ++i)
      if (views[i].usable) return static_cast<int>(i);
    return -1;
  }
  PacketHold hold(int, std::int64_t, std::span<const SubchannelView>) const override {
    return {any_packets, 1000, 1 << 20, 8};
  }

 private:
  int& asked_;
  TrafficClass& told_;
};

class NoHandler final : public PacketHandler {
 public:
  void on_packet(const ReceivedPacket&) override { ++packets; }
  int packets = 0;
};

class ChannelTest : public testing::Test {
 protected:
  ChannelTest() { ready.upward.handle({PacketKind::eager}, handler); }

  FakeQueuePair& queue_pair(std::size_t index) { return ready.queue_pair(index); }
  bool send(TrafficClass traffic = TrafficClass::blocking) {
    const TransportHeader header;
    return peer->send(PacketKind::eager, traffic, std::as_bytes(std::span(&header, 1)), {});
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

  int asked = 0;
  std::uint32_t next_ = 0;
  NoHandler handler;
  TrafficClass traffic_told = TrafficClass::one_sided;
  rails_test::ReadyPeer ready{std::make_unique<NotingPolicy>(asked, traffic_told)};
  VirtualChannel* const peer = &*ready.channel;
  RailResources* const resources = &*ready.resources;
};

TEST_F(ChannelTest, ACreditThatTheAdapterRefusesIsSentLater) {
  ASSERT_TRUE(idle(*peer));
  receive(packet_window / 2);
  EXPECT_FALSE(idle(*peer)) << "a credit is due";
  queue_pair(0).accepts = 0;
  const std::size_t before = queue_pair(0).posted.size();
  EXPECT_FALSE(peer->advance());
  EXPECT_FALSE(idle(*peer)) << "the peer was not told, and waits for it";
  EXPECT_EQ(peer->window().acknowledged_to_peer(), 0u);
  queue_pair(0).accepts = 1;
  EXPECT_TRUE(peer->advance());
  ASSERT_EQ(queue_pair(0).posted.size(), before + 1);
  EXPECT_EQ(header_of(queue_pair(0).posted.back()).kind, PacketKind::credit);
  EXPECT_EQ(header_of(queue_pair(0).posted.back()).acknowledged, packet_window / 2);
  EXPECT_TRUE(idle(*peer));
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
    first.traffic.outstanding = second.traffic.outstanding = 0;  // its requests complete
    EXPECT_TRUE(send()) << what;
    EXPECT_EQ(asked, then + 1) << what;
  };
  peer->paths().weights().on_failed(second.index);
  asks("a weight changed");
  first.rail.traffic.bytes_queued = 1 << 21;
  const int queued = asked;
  ASSERT_TRUE(send());
  EXPECT_EQ(asked, queued + 1) << "much is queued on the rail";
  first.rail.traffic.bytes_queued = 0;
  MachineAccess::tell(first, {.kind = Kind::suspect, .reason = PathReason::blamed});
  peer->paths().on_suspected();
  const std::size_t sent = queue_pair(1).posted.size();
  asks("the path is avoided");
  EXPECT_GT(queue_pair(1).posted.size(), sent);
  second.traffic.outstanding = 8;
  const int then = asked;
  ASSERT_TRUE(send());
  EXPECT_EQ(asked, then + 1) << "much is under way on it";
  second.traffic.outstanding = 0;
  MachineAccess::tell(first, {.kind = Kind::fail, .reason = PathReason::watchdog});
  peer->paths().on_cleared();
  peer->on_not_ready(first, false);
  asks("it failed");
}

// A choice for one class is none for another, so each is asked for.
TEST_F(ChannelTest, ThePolicyIsToldTheClassOfEachPacket) {
  for (int round = 0; round < 2; ++round)
    for (const TrafficClass traffic : {TrafficClass::nonblocking, TrafficClass::collective,
                                       TrafficClass::one_sided, TrafficClass::blocking}) {
      const int before = asked;
      peer->subchannels()[0].traffic.outstanding = 0;  // or several would go in one packet
      ASSERT_TRUE(send(traffic));
      EXPECT_EQ(traffic_told, traffic);
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

// Small messages of the non-blocking class behind several packets.
class BundleTest : public ChannelTest {
 protected:
  BundleTest() {
    while (ready.subchannel(0).traffic.outstanding < ready.settings.bundles_behind)
      EXPECT_TRUE(send_message(TrafficClass::nonblocking));
  }
  bool send_message(TrafficClass traffic, PacketKind kind = PacketKind::eager, std::int64_t size = 8) {
    const TransportHeader header;
    std::vector<std::byte> bytes(static_cast<std::size_t>(size));
    return peer->send(kind, traffic, std::as_bytes(std::span(&header, 1)), ByteSequence{bytes.data(), size});
  }
  std::size_t posted() { return queue_pair(0).posted.size(); }
  // How many messages are in the last packet; -1: it is no bundle.
  int bundled() {
    const rdma::SendRequest& request = queue_pair(0).posted.back();
    if (header_of(request).kind != PacketKind::bundle) return -1;
    int messages = 0;
    EXPECT_TRUE(for_each_bundled(
        std::span(static_cast<const std::byte*>(request.segments[0].address), request.segments[0].bytes)
            .subspan(sizeof(PacketHeader)),
        [&](const TransportHeader&, std::span<const std::byte> payload) {
          EXPECT_EQ(payload.size(), 8u);
          ++messages;
        }));
    return messages;
  }
};

TEST_F(BundleTest, SmallMessagesBehindOthersShareAPacket) {
  const std::size_t before = posted();
  for (int i = 0; i < 3; ++i) ASSERT_TRUE(send_message(TrafficClass::nonblocking));
  EXPECT_EQ(posted(), before);
  EXPECT_FALSE(peer->flushed());
  EXPECT_EQ(resources->open_bundles, 1);
  EXPECT_TRUE(peer->advance());
  EXPECT_EQ(posted(), before + 1);
  EXPECT_EQ(bundled(), 3);
  EXPECT_EQ(resources->open_bundles, 0);
  EXPECT_FALSE(peer->advance());
  EXPECT_EQ(ready.context->counters.packets_reissued, 0u);
}

TEST_F(BundleTest, AFullOneGoesAtOnce) {
  const std::size_t before = posted();
  const auto most = static_cast<int>(ready.context->knobs.rail_bundle);
  for (int i = 0; i < most; ++i) ASSERT_TRUE(send_message(TrafficClass::nonblocking));
  EXPECT_EQ(posted(), before + 1);
  EXPECT_EQ(bundled(), most);
}

TEST_F(BundleTest, WhatItsSenderWaitsForGoesWithItAtOnce) {
  const std::size_t before = posted();
  ASSERT_TRUE(send_message(TrafficClass::blocking));
  EXPECT_EQ(posted(), before + 1) << "there is no bundle to go with";
  ASSERT_TRUE(send_message(TrafficClass::nonblocking));
  ASSERT_TRUE(send_message(TrafficClass::blocking));
  EXPECT_EQ(posted(), before + 2);
  EXPECT_EQ(bundled(), 2);
}

TEST_F(BundleTest, NothingOvertakesIt) {
  for (const auto& [kind, size] : {std::pair{PacketKind::urgent, 8}, std::pair{PacketKind::eager, 600}}) {
    ASSERT_TRUE(send_message(TrafficClass::nonblocking));
    const std::size_t before = posted();
    ASSERT_TRUE(send_message(TrafficClass::nonblocking, kind, size));
    ASSERT_EQ(posted(), before + 2);
    const PacketHeader first = header_of(queue_pair(0).posted[before]);
    EXPECT_EQ(first.kind, PacketKind::bundle);
    EXPECT_EQ(header_of(queue_pair(0).posted.back()).kind, kind);
    EXPECT_EQ(header_of(queue_pair(0).posted.back()).sequence_number, first.sequence_number + 1);
  }
}

TEST_F(BundleTest, ItLeavesRoomForWhatComesNext) {
  ASSERT_TRUE(send_message(TrafficClass::nonblocking));
  const std::size_t before = posted();
  EXPECT_TRUE(peer->room());
  EXPECT_EQ(posted(), before + 1);
  ASSERT_TRUE(send_message(TrafficClass::nonblocking));
  queue_pair(0).accepts = 0;
  EXPECT_FALSE(peer->room());
}

TEST_F(BundleTest, OneThatTheAdapterRefusesGoesLaterAsItIs) {
  ASSERT_TRUE(send_message(TrafficClass::nonblocking));
  queue_pair(0).accepts = 0;
  EXPECT_FALSE(peer->room());
  EXPECT_FALSE(send_message(TrafficClass::nonblocking)) << "it is closed, and nothing overtakes it";
  queue_pair(0).accepts = SIZE_MAX;
  EXPECT_TRUE(peer->advance());
  EXPECT_EQ(bundled(), 1);
  EXPECT_TRUE(send_message(TrafficClass::nonblocking));
}

TEST_F(BundleTest, ItIsForgottenWithItsPeer) {
  ASSERT_TRUE(send_message(TrafficClass::nonblocking));
  const std::size_t taken = resources->packets.taken();
  peer->abandon();
  EXPECT_EQ(resources->open_bundles, 0);
  EXPECT_EQ(resources->packets.taken(), taken - 1);
}

class DatagramTest : public ChannelTest {
 protected:
  void arrives(PacketHeader header, std::size_t bytes = sizeof(PacketHeader)) {
    std::vector<std::byte> packet(std::max(bytes, sizeof(header)));
    std::memcpy(packet.data(), &header, sizeof(header));
    peer->take_datagram(std::span(packet).first(bytes));
  }
  std::uint64_t dropped_malformed() const { return ready.context->counters.dropped_malformed; }
};

TEST_F(DatagramTest, ArePutInOrderAndDeliveredOnce) {
  const std::size_t taken = resources->packets.taken();
  arrives({.sequence_number = 2});
  arrives({.sequence_number = 2});
  EXPECT_EQ(handler.packets, 0);
  arrives({.sequence_number = 0});
  EXPECT_EQ(handler.packets, 1);
  arrives({.sequence_number = 0});
  EXPECT_EQ(handler.packets, 1);
  next_ = 1;
  receive(1);  // over a connection
  EXPECT_EQ(handler.packets, 3);
  arrives({.sequence_number = 1});
  EXPECT_EQ(handler.packets, 3);
  EXPECT_TRUE(peer->packets().datagrams().answer_due) << "the peer sends again until it is told";
  EXPECT_EQ(ready.context->counters.dropped_duplicate, 3u);
  EXPECT_EQ(resources->packets.taken(), taken);
  EXPECT_EQ(dropped_malformed(), 0u);
}

TEST_F(DatagramTest, AnAcknowledgementIsOne) {
  ASSERT_TRUE(send());
  const std::uint32_t sent = peer->window().sent();
  arrives({.kind = PacketKind::credit, .acknowledged = sent});
  EXPECT_EQ(peer->window().under_way(), 0u);
  EXPECT_FALSE(peer->packets().datagrams().answer_due);
}

TEST_F(DatagramTest, WhatNobodyCanMeanIsDropped) {
  arrives({}, sizeof(PacketHeader) - 1);
  arrives({.kind = PacketKind::fence});
  arrives({.kind = PacketKind::start});
  arrives({.kind = static_cast<PacketKind>(200)});
  arrives({.sequence_number = packet_window});
  arrives({.acknowledged = 1});
  arrives({}, resources->packets.buffer_bytes() + 1);
  EXPECT_EQ(dropped_malformed(), 7u);
  EXPECT_EQ(handler.packets, 0);
}

}  // namespace
}  // namespace hawser
