#include "channel/lane_count.h"

#include <gtest/gtest.h>

#include "channel/shared_segment.h"
#include "os/shared_memory.h"

namespace hawser {
namespace {

Knobs with_lanes(const char* text) {
  Knobs knobs;
  knobs.thread_lanes = text;
  return knobs;
}

TEST(LaneCount, NumbersAndNothingElseAreUnderstood) {
  EXPECT_EQ(parse_lanes("auto").value(), -1);
  EXPECT_EQ(parse_lanes("0").value(), 0);
  EXPECT_EQ(parse_lanes("7").value(), 7);
  for (const char* text : {"", "8", "-1", "12", "2 ", "Auto"}) {
    const auto lanes = parse_lanes(text);
    ASSERT_FALSE(lanes) << text;
    EXPECT_NE(lanes.error().text.find("must be auto or a number from 0 to 7"), std::string::npos);
  }
}

TEST(LaneCount, ManyProcessesHaveRoomForFewLanes) {
  EXPECT_EQ(planned_lanes(1, Knobs{}), most_lanes);
  EXPECT_EQ(planned_lanes(18, Knobs{}), most_lanes);
  EXPECT_EQ(planned_lanes(64, Knobs{}), 2);
  EXPECT_EQ(planned_lanes(129, Knobs{}), 0);
  EXPECT_EQ(planned_lanes(129, with_lanes("3")), 3);
}

// No two places of the segment are one: rings and blocks of lanes, and those of the process.
TEST(LaneCount, LanesHaveMemoryOfTheirOwn) {
  constexpr std::int32_t processes = 3;
  const SegmentLayout without = SegmentLayout::plan(processes, with_lanes("0"));
  const SegmentLayout layout = SegmentLayout::plan(processes, with_lanes("2"));
  EXPECT_EQ(layout.lanes_offset, without.total_bytes);
  EXPECT_NE(layout.checksum(), without.checksum());
  auto file = make_memory_file("lanes");
  ASSERT_TRUE(file);
  auto mapped = SharedSegment::map(file.value().get(), layout);
  ASSERT_TRUE(mapped);
  const SharedSegment segments[] = {mapped.value(), mapped.value().lane(1), mapped.value().lane(2)};
  std::int64_t number = 0;
  for (const SharedSegment& segment : segments)
    for (std::int32_t from = 0; from < processes; ++from) {
      segment.block(from).block_address = static_cast<std::uint64_t>(++number);
      for (std::int32_t to = 0; to < processes; ++to)
        segment.ring_control(from, to).taken = static_cast<std::uint64_t>(++number);
    }
  number = 0;
  for (const SharedSegment& segment : segments)
    for (std::int32_t from = 0; from < processes; ++from) {
      EXPECT_EQ(segment.block(from).block_address, static_cast<std::uint64_t>(++number));
      for (std::int32_t to = 0; to < processes; ++to)
        EXPECT_EQ(segment.ring_control(from, to).taken, static_cast<std::uint64_t>(++number));
    }
  EXPECT_LE(segments[2].offset_of(segments[2].ring_bytes(2, 2)) + layout.ring_bytes, layout.total_bytes);
}

}  // namespace
}  // namespace hawser
