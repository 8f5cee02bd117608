#include "communicator/group.h"

#include <gtest/gtest.h>

#include "mpi/error_class.h"
namespace hawser {
namespace {

std::vector<ProcessIndex> members(const Group& group) {
  std::vector<ProcessIndex> processes;
  for (int r = 0; r < group.size(); ++r) processes.push_back(group.process_of(r));
  return processes;
}

using List = std::vector<ProcessIndex>;

TEST(Group, ArithmeticSequencesNeedNoTable) {
  EXPECT_FALSE(Group(List{4, 6, 8, 10}).dense());
  EXPECT_FALSE(Group(List{9, 6, 3}).dense());
  EXPECT_TRUE(Group(List{1, 2, 4}).dense());
  EXPECT_FALSE(Group(List{}).dense());
}

TEST(Group, FindsRanks) {
  const Group even(0, 2, 5);
  EXPECT_EQ(even.rank_of(6), 3);
  EXPECT_EQ(even.rank_of(5), undefined);
  EXPECT_EQ(even.rank_of(10), undefined);
  const Group odd_order(List{7, 1, 3, 30});
  EXPECT_EQ(odd_order.rank_of(30), 3);
  EXPECT_EQ(odd_order.rank_of(2), undefined);
  EXPECT_EQ(Group(0, 1, 0).rank_of(0), undefined);
}

TEST(Group, ComparesOrderAndMembers) {
  const Group up(0, 1, 3);
  EXPECT_EQ(up.compare(Group(List{0, 1, 2})), comparison::identical);
  EXPECT_EQ(up.compare(Group(List{2, 1, 0})), comparison::similar);
  EXPECT_EQ(up.compare(Group(List{0, 1, 3})), comparison::unequal);
  EXPECT_EQ(up.compare(Group(0, 1, 4)), comparison::unequal);
}

TEST(Group, SetOperationsKeepTheOrderOfTheFirst) {
  const Group a(List{5, 1, 9, 2});
  const Group b(List{2, 3, 5});
  EXPECT_EQ(members(*a.united_with(b)), (List{5, 1, 9, 2, 3}));
  EXPECT_EQ(members(*a.intersected_with(b)), (List{5, 2}));
  EXPECT_EQ(members(*a.without(b)), (List{1, 9}));
  EXPECT_EQ(a.without(a)->size(), 0);
}

TEST(Group, IncludesAndExcludes) {
  const Group group(10, 1, 6);
  const int ranks[] = {4, 0, 2};
  EXPECT_EQ(members(*group.including(ranks).value()), (List{14, 10, 12}));
  EXPECT_EQ(members(*group.excluding(ranks).value()), (List{11, 13, 15}));
  const int twice[] = {1, 1};
  EXPECT_EQ(error_class_of(group.including(twice).error()), ErrorClass::rank);
  const int outside[] = {6};
  EXPECT_EQ(error_class_of(group.excluding(outside).error()), ErrorClass::rank);
}

TEST(Group, TakesRangesInBothDirections) {
  const Group group(0, 1, 10);
  const RankRange ranges[] = {{1, 7, 3}, {9, 8, -1}, {3, 2, 1}};
  EXPECT_EQ(members(*group.including_ranges(ranges).value()), (List{1, 4, 7, 9, 8}));
  EXPECT_EQ(members(*group.excluding_ranges(ranges).value()), (List{0, 2, 3, 5, 6}));
  const RankRange still[] = {{1, 5, 0}};
  EXPECT_EQ(error_class_of(group.including_ranges(still).error()), ErrorClass::arg);
  const RankRange beyond[] = {{8, 12, 2}};
  EXPECT_EQ(error_class_of(group.including_ranges(beyond).error()), ErrorClass::rank);
}

TEST(Group, TranslatesRanks) {
  const Group a(List{3, 1, 4});
  const Group b(0, 1, 4);
  const int ranks[] = {0, proc_null, 2};
  int out[3];
  ASSERT_TRUE(a.translate_ranks(ranks, b, out));
  EXPECT_EQ(out[0], 3);
  EXPECT_EQ(out[1], proc_null);
  EXPECT_EQ(out[2], undefined);
  const int wrong[] = {3};
  EXPECT_EQ(error_class_of(a.translate_ranks(wrong, b, out).error()), ErrorClass::rank);
}

}  // namespace
}  // namespace hawser
