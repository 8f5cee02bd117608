// What a peer may not send over rails, however late or often it comes: the process that gets it says so, with
// a word about the sender, and the job ends by that (TransportEvents::on_bad_packet). Process 0 lies, 1
// complains.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstring>
#include <map>
#include <vector>

#include "rails/decision/connection_manager.h"
#include "rails/traffic.h"
#include "rails/wire/packet.h"

namespace hawser::rails_test {
namespace {

using ::testing::Contains;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

struct Case : Untruth {
  const char* rendezvous = "write";
  const char* fault = nullptr;
  const char* progress = "polling";
};

void empty_bundle(Packet& p) {
  p.header.kind = PacketKind::bundle;
  p.left = sizeof(PacketHeader);
}
void cut_bundle(Packet& p) {
  p.header.kind = PacketKind::bundle;
  p.body<TransportHeader>([](TransportHeader& header) { header.channel_word = 0xffffffff; });
}

const Case cases[] = {
    {"HeaderCut", PacketKind::eager, [](Packet& p) { p.left = 7; }, "0 sent a packet of only 7 bytes"},
    {"KindUnknown", PacketKind::ready, [](Packet& p) { p.header.kind = static_cast<PacketKind>(99); },
     "0 sent a packet of unknown kind 99"},
    {"BeyondTheWindow", PacketKind::eager, [](Packet& p) { p.header.sequence_number += packet_window; },
     "outside the window of 64"},
    {"AcknowledgesWhatWasNotSent", PacketKind::ready, [](Packet& p) { p.header.acknowledged += 100'000; },
     "0 sent an acknowledgement of packet 100000, but only"},
    {"BundleEmpty", PacketKind::eager, empty_bundle, "0 sent a bundle that ends within a message"},
    {"BundleCut", PacketKind::eager, cut_bundle, "0 sent a bundle that ends within a message"},
    {"OfferCut", PacketKind::start, cut, "0 sent a rendezvous start that is too short"},
    {"OfferOfUnknownClass", PacketKind::start,
     [](Packet& p) {
       p.body<TransportHeader>(
           [](TransportHeader& header) { header.traffic = static_cast<TrafficClass>(77); });
     },
     "0 sent a rendezvous start of unknown traffic class 77"},
    {"ReplyCut", PacketKind::reply, cut, "0 sent a rendezvous reply of only 19 bytes"},
    {"ReplyToNothing", PacketKind::reply,
     [](Packet& p) { p.body<ReplyBody>([](ReplyBody& body) { body.exposed.place = 77; }); },
     "0 sent a rendezvous reply for transfer 77, which waits for none"},
    {"ReplyWantsMore", PacketKind::reply,
     [](Packet& p) { p.body<ReplyBody>([](ReplyBody& body) { body.size = 65537; }); },
     "0 sent a rendezvous reply that asks for 65537 of 65536 bytes"},
    {"ReplyWantsNothing", PacketKind::reply,
     [](Packet& p) { p.body<ReplyBody>([](ReplyBody& body) { body.size = -1; }); },
     "0 sent a rendezvous reply that asks for -1 of 65536 bytes"},
    {"DoneCut", PacketKind::done, cut, "0 sent a rendezvous completion of only 19 bytes"},
    {"DoneWithNothing", PacketKind::done,
     [](Packet& p) { p.body<DoneBody>([](DoneBody& body) { ++body.exposed.generation; }); },
     "0 sent a rendezvous completion for transfer 0, which is over"},
    {"DoneWithNothingRead", PacketKind::done,
     [](Packet& p) { p.body<DoneBody>([](DoneBody& body) { ++body.exposed.generation; }); },
     "0 sent a rendezvous completion for transfer 0, which is over", "read"},
    {"FinishCut", PacketKind::finish, cut, "0 sent a write completion of only 19 bytes"},
    {"FinishBeyond", PacketKind::finish,
     [](Packet& p) { p.body<FinishBody>([](FinishBody& body) { body.offset = INT64_MAX - 1; }); },
     "bytes at offset 9223372036854775806 of a message of 65536 bytes"},
    {"FinishBefore", PacketKind::finish,
     [](Packet& p) { p.body<FinishBody>([](FinishBody& body) { body.offset = -1; }); },
     "bytes at offset -1 of"},
    {"FinishOfNothing", PacketKind::finish,
     [](Packet& p) { p.body<FinishBody>([](FinishBody& body) { body.size = 0; }); },
     "0 sent 0 bytes at offset 0"},
    {"ReadFinishCut", PacketKind::read_finish, cut, "0 sent a read finish of only 19 bytes", "read", nullptr,
     "interrupt"},
    {"ReadFinishOfMore", PacketKind::read_finish,
     [](Packet& p) { p.body<ReadFinishBody>([](ReadFinishBody& body) { body.size = 1 << 30; }); },
     "0 sent a read finish of 1073741824 bytes, of a message of 65536 bytes", "read", nullptr, "interrupt"},
    {"KeysCut", PacketKind::done, [](Packet& p) { p.header.kind = PacketKind::keys; },
     "0 sent a key update of only 24 bytes"},
    {"DataCut", PacketKind::done, [](Packet& p) { p.header.kind = PacketKind::data; },
     "0 sent a rendezvous data packet of only 24 bytes"},
    {"AlternateCut", PacketKind::ready, [](Packet& p) { p.header.kind = PacketKind::alternate; },
     "0 sent a path migration message of only 0 bytes"},
    {"ProbeCut", PacketKind::ready, [](Packet& p) { p.header.kind = PacketKind::probe; },
     "0 sent a probe of only 16 bytes"},
    {"FenceCut", PacketKind::fence, cut, "0 sent a fence of only 3 bytes", "write", "qp n0/hw0 all kill"},
    {"FenceForAPathThatCannotBe", PacketKind::fence,
     [](Packet& p) { p.body<FenceBody>([](FenceBody& body) { body.subchannel = 60'000; }); },
     "0 sent a fence for path 60000, of at most 64", "write", "qp n0/hw0 all kill"},
    {"FenceOfMoreThanWasSent", PacketKind::fence,
     [](Packet& p) { p.body<FenceBody>([](FenceBody& body) { body.received = 1 << 30; }); },
     "0 sent a fence claiming 1073741824 packets, but only", "write", "qp n0/hw0 all kill"},
};

class Liar : public ::testing::TestWithParam<Case> {};

TEST_P(Liar, IsTold) {
  ClusterOptions options = two_rails();
  options.knobs.rail_rendezvous = GetParam().rendezvous;
  options.knobs.progress = GetParam().progress;
  bool lied = false;
  options.lie = telling(GetParam(), lied);
  RailCluster cluster(options);
  if (GetParam().fault != nullptr) cluster.inject_at(20 * millisecond, GetParam().fault);
  stream(cluster, 50 * millisecond);
  EXPECT_TRUE(lied);
  EXPECT_THAT(cluster.at(1).complaints, Contains(HasSubstr(GetParam().complaint))) << cluster.failure();
  EXPECT_THAT(cluster.at(0).complaints, IsEmpty());
}

INSTANTIATE_TEST_SUITE_P(All, Liar, ::testing::ValuesIn(cases),
                         [](const auto& info) { return std::string(info.param.name); });

// Its answer carries a checksum, which the probe did not, and must not be longer than a packet buffer.
TEST(Probe, WithoutAChecksumIsAnsweredWithinABuffer) {
  ClusterOptions options = two_rails();
  options.knobs.checksum = true;
  int probes = 0;
  options.lie = [&](bool datagram, std::span<std::byte> bytes) {
    if (datagram || static_cast<PacketKind>(bytes[0]) != PacketKind::probe) return bytes.size();
    ++probes;
    Packet packet(bytes);
    packet.header.checked = 0;
    return bytes.size();
  };
  RailCluster cluster(options);
  cluster.inject_at(20 * millisecond, "qp n0/hw0 all kill");
  stream(cluster, 500 * millisecond);
  EXPECT_GT(probes, 0);
  expect_all_well(cluster);
  EXPECT_GT(sum(cluster, &RailCounters::recoveries), 0u) << cluster.describe();
}

// The receiver's adapters read a message, tell the sender so (S06's fenced finish), and fail before they have
// written the completions of the reads. The sender's memory is in use again, so nothing may be read anew; but
// the bytes are there, for they were before the finish left.
TEST(ReadFinish, ThatThePeerCountedStandsForReadsWhoseEndsWereLost) {
  ClusterOptions options = two_rails();
  options.knobs.rail_rendezvous = "read";
  options.knobs.progress = "interrupt";
  bool forgets = false;
  options.forgets = [&] { return forgets; };
  RailCluster cluster(options);
  stream(cluster, 20 * millisecond);
  expect_all_well(cluster);
  const std::uint64_t bytes_before = cluster.at(0).bytes;
  forgets = true;
  cluster.at(1).post({0, 65536, true});
  cluster.run(cluster.now() + 5 * millisecond, false);
  EXPECT_TRUE(cluster.at(1).idle()) << "the finish says that all was read";
  EXPECT_EQ(cluster.at(0).bytes, bytes_before) << "and here nobody knows of it";
  forgets = false;
  for (const char* fault : {"qp n0/hw0 all kill", "qp n0/hw1 all kill"}) cluster.inject(fault);
  cluster.run(cluster.now() + 100 * millisecond, false);
  expect_all_well(cluster);
  EXPECT_EQ(cluster.at(0).bytes, bytes_before + 65536) << cluster.describe();
  EXPECT_GT(cluster.at(0).channel().counters().already_arrived, 0u);
  EXPECT_EQ(cluster.at(0).channel().counters().stripes_reissued, 0u);
}

// Somebody heard all that process 0 sent by datagram, and says it again to process 1 when its addresses are
// others: requests, fences and addresses of then are not believed, though their checks fit.
TEST(Replay, OldDatagramsDoNotMoveAPeerBack) {
  ClusterOptions options = two_rails("single-switch");
  std::vector<std::vector<std::byte>> heard;
  bool listening = true;
  options.lie = [&](bool datagram, std::span<std::byte> bytes) {
    if (datagram && listening) heard.emplace_back(bytes.begin(), bytes.end());
    return bytes.size();
  };
  RailCluster cluster(options);
  stream(cluster, 20 * millisecond);
  cluster.inject("qp n0/hw1 all kill");
  for (const char* fault : {"qp n0/hw0 all kill", "lid n0/hw0 70", "lid n0/hw1 72"}) {
    cluster.inject(fault);
    stream(cluster, 500 * millisecond);
  }
  listening = false;
  std::map<DatagramKind, int> kinds;
  for (const auto& datagram : heard) ++kinds[static_cast<DatagramKind>(datagram[9])];
  for (const DatagramKind kind : {DatagramKind::request, DatagramKind::fence, DatagramKind::address})
    EXPECT_GT(kinds[kind], 0) << static_cast<int>(kind);
  for (const char* fault : {"lid n0/hw0 80", "lid n0/hw1 82"}) {
    cluster.inject(fault);
    stream(cluster, 500 * millisecond);
  }
  expect_all_well(cluster);

  const auto stranger = cluster.open_device(1);
  auto datagrams = stranger->make_datagram_queue_pair(1, RailCluster::datagram_key()).value();
  const RailAddress victim = cluster.table(1).rails[0];
  for (const auto& datagram : heard) {
    ASSERT_TRUE(datagrams->send({victim.port, victim.datagram_queue_pair}, datagram));
    cluster.run(cluster.now() + millisecond, false);
  }
  // Process 0 notices nothing and says nothing: 1 must know by itself where it is.
  cluster.inject("qp n1/hw0 all kill");
  cluster.inject("qp n1/hw1 all kill");
  const std::uint64_t before = cluster.at(0).arrived;
  cluster.at(1).post({0, 100});
  cluster.run(cluster.now() + 300 * millisecond, false);
  EXPECT_EQ(cluster.at(0).arrived, before + 1) << cluster.describe();
  EXPECT_THAT(cluster.at(1).complaints, IsEmpty());
  expect_all_well(cluster);
}

}  // namespace
}  // namespace hawser::rails_test
