#include "channel/channel_set.h"

#include <gtest/gtest.h>

namespace hawser {
namespace {

TEST(DistancesSeen, TheShortestRoundTripCounts) {
  DistancesSeen seen;
  EXPECT_EQ(seen.distances(), RailDistances{});
  seen.add_peer(9000, 0);
  seen.add_peer(4000, 0);
  EXPECT_EQ(seen.distances(), (RailDistances{4000, 0}));
  EXPECT_EQ(DistancesSeen{}.joined(seen).distances(), (RailDistances{4000, 0}));
  EXPECT_EQ(seen.joined({}).distances(), (RailDistances{4000, 0}));
}

TEST(DistancesSeen, ARailIsFartherIfItIsSoToMostPeers) {
  DistancesSeen one, other;
  one.add_peer(4000, 2000);
  EXPECT_EQ(one.distances().detour, 2000);
  other.add_peer(4000, 0);
  other.add_peer(9000, 0);
  EXPECT_EQ(one.joined(other).distances().detour, 0) << "somebody's messages delayed that of the one";
  one.add_peer(9000, 3000);
  EXPECT_EQ(one.joined(other).distances().detour, 0);
  one.add_peer(5000, 2500);
  EXPECT_EQ(one.joined(other).distances().detour, 2500);
}

}  // namespace
}  // namespace hawser
