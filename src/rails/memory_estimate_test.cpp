#include "rails/memory_estimate.h"

#include <gtest/gtest.h>

#include "rails/datapath/virtual_channel.h"

namespace hawser {
namespace {

TEST(PeerMemory, FollowsTheStructures) {
  const Knobs knobs;
  const PeerMemory one = peer_memory(knobs, 1);
  const PeerMemory two = peer_memory(knobs, 2);
  EXPECT_EQ(one.subchannels, 1);
  EXPECT_GT(one.known, static_cast<std::int64_t>(sizeof(VirtualChannel) + sizeof(Subchannel)));
  EXPECT_GT(two.known - one.known, static_cast<std::int64_t>(sizeof(Subchannel)));
  EXPECT_LT(two.known, 4352);
  EXPECT_EQ(two.queue_pairs, 2 * one.queue_pairs);
}

TEST(PeerMemory, FollowsTheKnobs) {
  Knobs knobs;
  const PeerMemory before = peer_memory(knobs, 2);
  knobs.rail_paths = "2";
  knobs.rail_engines = "2";
  EXPECT_EQ(peer_memory(knobs, 2).subchannels, 8);
  EXPECT_EQ(peer_memory(knobs, 8).subchannels, 32);
  knobs.rail_paths = "64";
  EXPECT_EQ(peer_memory(knobs, 8).subchannels, 64);  // that is what a virtual channel has at most
  knobs.rail_paths = knobs.rail_engines = "1";
  knobs.rail_paths = knobs.rail_engines = "auto";  // which are connected when they are needed
  EXPECT_EQ(peer_memory(knobs, 2).subchannels, 2);
  knobs.rail_send_depth *= 4;
  EXPECT_EQ(peer_memory(knobs, 2).queue_pairs, 4 * before.queue_pairs);
  knobs.rail_packet *= 2;
  const std::int64_t around = before.window / 64 - knobs.rail_packet / 2;
  EXPECT_GT(around, 0);
  EXPECT_LT(around, 256);
  EXPECT_EQ(peer_memory(knobs, 2).window, 64 * (knobs.rail_packet + around));
  EXPECT_EQ(peer_memory(knobs, 2).receives * before.window, before.receives * peer_memory(knobs, 2).window);
  EXPECT_EQ(most_receive_bytes(knobs), knobs.rail_receives * (knobs.rail_packet + around));
}

}  // namespace
}  // namespace hawser
