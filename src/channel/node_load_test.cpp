#include "channel/node_load.h"

#include <gtest/gtest.h>

namespace hawser {
namespace {

struct Node {
  explicit Node(std::int32_t processes)
      : segment(SharedSegment::map(make_memory_file("hawser-test").value().get(),
                                   SegmentLayout::plan(processes, Knobs{}))
                    .value()) {}
  void start(std::int32_t process, std::uint64_t cpus) {
    segment.block(process).cpus.words[0] = cpus;
    segment.block(process).present.store(1, std::memory_order_release);
  }
  bool crowded(std::int32_t process) { return NodeLoad(segment, process).crowded(); }
  SharedSegment segment;
};

TEST(NodeLoad, EnoughCoresForAll) {
  Node node(3);
  for (std::int32_t i = 0; i < 3; ++i) node.start(i, 0b1111);
  EXPECT_FALSE(node.crowded(0));
}

TEST(NodeLoad, MoreProcessesThanCores) {
  Node node(3);
  for (std::int32_t i = 0; i < 3; ++i) node.start(i, 0b11);
  EXPECT_TRUE(node.crowded(0));
}

TEST(NodeLoad, EachBoundToACoreOfItsOwn) {
  Node node(3);
  for (std::int32_t i = 0; i < 3; ++i) node.start(i, std::uint64_t{1} << i);
  for (std::int32_t i = 0; i < 3; ++i) EXPECT_FALSE(node.crowded(i));
}

TEST(NodeLoad, TwoBoundToOneCore) {
  Node node(3);
  node.start(0, 0b0001);
  node.start(1, 0b0001);
  node.start(2, 0b1110);
  EXPECT_TRUE(node.crowded(0));
  EXPECT_FALSE(node.crowded(2));
}

// Those who have not told yet are taken to be on other cores, as far as the machine has any.
TEST(NodeLoad, MissingProcessesAreElsewhere) {
  const std::int32_t cores = online_cpus();
  Node enough(cores), too_many(cores + 1);
  for (Node* node : {&enough, &too_many}) node->start(0, 0b1);
  EXPECT_FALSE(enough.crowded(0));
  EXPECT_TRUE(too_many.crowded(0));
}

// Two of them on one core are enough to know, whoever is missing.
TEST(NodeLoad, CrowdedBeforeAllHaveTold) {
  Node node(3);
  node.start(0, 0b1);
  node.start(1, 0b1);
  EXPECT_TRUE(node.crowded(0));
}

// Until everybody has told, it is looked at again.
TEST(NodeLoad, LateComerSettlesIt) {
  for (const bool same_core : {false, true}) {
    Node node(2);
    NodeLoad load(node.segment, 0);
    node.start(0, 0b01);
    load.crowded();
    node.start(1, same_core ? 0b01 : 0b10);
    EXPECT_EQ(load.crowded(), same_core);
    // Then it stays: programs do not move their ranks.
    node.segment.block(1).cpus.words[0] = same_core ? 0b10 : 0b01;
    EXPECT_EQ(load.crowded(), same_core);
  }
}

}  // namespace
}  // namespace hawser
