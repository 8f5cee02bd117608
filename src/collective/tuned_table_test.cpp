// The table that `hawser tune` writes: what it means, and what is told of a wrong one.
#include "collective/tuned_table.h"

#include <gtest/gtest.h>

#include "collective/algorithm_choice.h"

namespace hawser {
namespace {

constexpr const char* good =
    "# written by hand\n"
    "ranks 8 nodes 1\n"
    "alltoall 64K pairwise   # 178 us, default 225\n"
    "alltoall 1M default\n"
    "broadcast 0 messages\n"
    "\n"
    "ranks 32 nodes 16\n"
    "alltoall 8 two_level\n";

Shape of(int ranks, int nodes, std::int64_t bytes) {
  Shape shape;
  shape.ranks = ranks;
  shape.nodes = nodes;
  shape.most_on_node = ranks / nodes;
  shape.bytes = bytes;
  shape.elements = bytes / 4;
  return shape;
}

std::string name_in(const TunedTable& table, Collective kind, const Shape& shape) {
  const TunedWay way = table.find(kind, shape);
  if (!way.tuned) return "default";
  return way.algorithm == nullptr ? "messages" : way.algorithm->name;
}

TEST(TunedTable, SaysTheAlgorithmFromABoundOn) {
  const auto table = TunedTable::parse(good, "t");
  ASSERT_TRUE(table) << table.error().text;
  const auto name = [&](Collective kind, const Shape& shape) { return name_in(table.value(), kind, shape); };
  EXPECT_EQ(name(Collective::alltoall, of(8, 1, 65535)), "default");
  EXPECT_EQ(name(Collective::alltoall, of(8, 1, 65536)), "pairwise");
  EXPECT_EQ(name(Collective::alltoall, of(8, 1, 1048575)), "pairwise");
  EXPECT_EQ(name(Collective::alltoall, of(8, 1, 1048576)), "default");
  EXPECT_EQ(name(Collective::broadcast, of(8, 1, 0)), "messages");
  EXPECT_EQ(name(Collective::allgather, of(8, 1, 65536)), "default");
  EXPECT_EQ(name(Collective::alltoall, of(8, 2, 65536)), "default") << "another number of nodes";
  EXPECT_EQ(name(Collective::alltoall, of(32, 16, 65536)), "two_level");
}

TEST(TunedTable, IsKnownByItsText) {
  const auto one = TunedTable::parse(good, "a"), same = TunedTable::parse(good, "b");
  const auto other = TunedTable::parse("ranks 8 nodes 1\n", "a");
  EXPECT_EQ(one.value().checksum(), same.value().checksum());
  EXPECT_NE(one.value().checksum(), other.value().checksum());
}

TEST(TunedTable, TellsTheLineThatIsWrong) {
  const auto told = [](const char* text) {
    const auto table = TunedTable::parse(text, "file");
    EXPECT_FALSE(table) << text;
    return table ? std::string() : table.error().text;
  };
  const auto holds = [](const std::string& text, const char* part) {
    return text.find(part) != std::string::npos ? testing::AssertionSuccess()
                                                : testing::AssertionFailure() << text;
  };
  EXPECT_TRUE(holds(told("ranks 8 nodes 1\n\nalltoall 8 pairwise extra\n"),
                    "HAWSER_COLLECTIVE_TABLE=file, line 3: "));
  EXPECT_TRUE(holds(told("alltoall 8 pairwise\n"), "a line 'ranks N nodes N' must come before"));
  EXPECT_TRUE(holds(told("ranks 8 nodes 1\nalltoal 8 pairwise\n"), "'alltoal' is no collective operation"));
  EXPECT_TRUE(holds(told("ranks 8 nodes 1\nalltoall 8 ring\n"),
                    "'ring' is no algorithm of alltoall; there are bruck, "));
  EXPECT_TRUE(holds(told("ranks 8 nodes 1\nalltoall many pairwise\n"), "line 2: "));
  EXPECT_TRUE(holds(told("ranks 0 nodes 1\n"), "line 1: "));
  EXPECT_TRUE(holds(told("ranks 8 hosts 1\n"), "must be 'ranks N nodes N'"));
  EXPECT_TRUE(holds(told("ranks 8 nodes 1\nalltoall 64 pairwise\nalltoall 8 bruck\n"),
                    "line 3: alltoall from 8 bytes on must come before 64 bytes"));
  EXPECT_FALSE(TunedTable::read("/nonexistent/table"));
}

TEST(TunedTable, ChoosesForOperations) {
  AlgorithmChoice choice;
  const Shape large = of(8, 1, 1 << 17);
  const std::string before = choice.choose(Collective::alltoall, large).name;
  choice.use_table(
      TunedTable::parse("ranks 8 nodes 1\nalltoall 64K bruck\nreduce 0 rabenseifner\n", "t").value());
  EXPECT_STREQ(choice.choose(Collective::alltoall, large).name, "bruck");
  EXPECT_NE(before, "bruck");
  EXPECT_TRUE(choice.goes_by_messages(Collective::alltoall, large));
  EXPECT_FALSE(choice.goes_by_messages(Collective::alltoall, of(8, 1, 8)));
  EXPECT_STRNE(choice.choose(Collective::reduce, of(8, 1, 4)).name, "rabenseifner")
      << "one element for eight ranks";
  EXPECT_EQ(choice.counters().asked, 3u);
  EXPECT_EQ(choice.counters().by_table, 1u);
  ASSERT_TRUE(choice.parse("alltoall=linear"));
  EXPECT_STREQ(choice.choose(Collective::alltoall, large).name, "linear") << "what is forced comes first";
}

}  // namespace
}  // namespace hawser
