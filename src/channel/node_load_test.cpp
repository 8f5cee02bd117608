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

// Until everybody has told, those missing are taken to be elsewhere; then it is looked at again.
TEST(NodeLoad, LateComer) {
  Node node(2);
  NodeLoad load(node.segment, 0);
  node.start(0, 0b1);
  EXPECT_EQ(load.crowded(), online_cpus() < 2);
  node.start(1, 0b1);
  EXPECT_TRUE(load.crowded());
}

}  // namespace
}  // namespace hawser
