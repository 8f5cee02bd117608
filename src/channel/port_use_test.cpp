#include "channel/port_use.h"

#include <gtest/gtest.h>

#include <memory>

namespace hawser {
namespace {

TEST(PortUse, TellsWhetherAnotherProcessUsesThatSideOfThePort) {
  auto ports = std::make_unique<NodePorts>();
  PortUse one(*ports, 7, 0), other(*ports, 7, 1), elsewhere(*ports, 9, 2);
  EXPECT_FALSE(one.shared(PortSide::out));
  one.begin(PortSide::out);
  EXPECT_FALSE(one.shared(PortSide::out)) << "by itself";
  EXPECT_TRUE(other.shared(PortSide::out));
  EXPECT_FALSE(other.shared(PortSide::in));
  EXPECT_FALSE(elsewhere.shared(PortSide::out));
  other.begin(PortSide::out);
  EXPECT_TRUE(one.shared(PortSide::out));
  one.end(PortSide::out);
  EXPECT_FALSE(other.shared(PortSide::out));
  EXPECT_TRUE(one.shared(PortSide::out));
}

TEST(PortUse, NobodySharesAPortOfItsOwn) {
  PortUse use;
  use.begin(PortSide::in);
  EXPECT_FALSE(use.shared(PortSide::in));
  use.end(PortSide::in);
}

TEST(PortUse, ForgetsWhoDied) {
  auto ports = std::make_unique<NodePorts>();
  PortUse one(*ports, 7, 3), dead(*ports, 7, 5);
  dead.begin(PortSide::in);
  one.begin(PortSide::in);
  forget_port_user(*ports, 5);
  EXPECT_FALSE(one.shared(PortSide::in));
  EXPECT_TRUE(dead.shared(PortSide::in)) << "the other one is still there";
}

TEST(PortUse, APortThatFindsNoRoomSeemsToBeNobodyElses) {
  auto ports = std::make_unique<NodePorts>();
  for (std::uint64_t i = 1; i <= port_lines; ++i) PortUse(*ports, 2 * i + 1, 0);
  PortUse one(*ports, 999, 0), other(*ports, 999, 1);
  one.begin(PortSide::out);
  EXPECT_FALSE(other.shared(PortSide::out));
  PortUse known(*ports, 5, 0), too(*ports, 5, 1);
  known.begin(PortSide::out);
  EXPECT_TRUE(too.shared(PortSide::out));
}

}  // namespace
}  // namespace hawser
