#include "rails/status/status_table.h"

#include <gtest/gtest.h>

#include <cstring>
#include <string>
#include <thread>

namespace hawser {
namespace {

struct Memory {
  explicit Memory(std::uint32_t rows) : size(RailStatus::table_bytes(rows)) {
    data = static_cast<std::byte*>(::operator new (size, std::align_val_t{64}));
    std::memset(data, 0, size);
  }
  ~Memory() { ::operator delete (data, std::align_val_t{64}); }
  std::span<std::byte> span() { return {data, size}; }
  const StatusHeader& header() const { return *reinterpret_cast<const StatusHeader*>(data); }
  const StatusRow& row(int i) const {
    return reinterpret_cast<const StatusRow*>(data + status_header_bytes)[i];
  }
  std::byte* data;
  std::size_t size;
};

struct Lines final : LineSink {
  void write_line(std::string_view line) override { lines.emplace_back(line); }
  std::vector<std::string> lines;
};

PathLabel label(ProcessIndex peer, std::uint16_t subchannel) {
  PathLabel l;
  l.peer = peer;
  l.subchannel = subchannel;
  l.port = "mlx4_0/1";
  return l;
}

TEST(RailStatus, shows_paths_and_their_changes) {
  Memory memory(4);
  StatusIdentity identity;
  identity.rank = 3;
  RailStatus status(memory.span(), nullptr, identity);
  EXPECT_EQ(memory.header().magic.load(), status_magic);
  const int row = status.add_path(label(7, 1));
  status.set_condition(row, PathCondition::ready, 1, PathReason::first_connection, 5 * second);
  status.set_condition(row, PathCondition::failed, 1, PathReason::port_down, 6 * second);
  status.set_condition(row, PathCondition::failed, 1, PathReason::watchdog, 7 * second);  // no change
  status.posted(row, 1000);
  status.posted(row, 500);
  status.completed(row, 1000);
  status.withdrawn(row, 100);
  status.set_weight(row, 12.5e6);
  status.set_round_trip(row, 2300);
  PathStatus facts;
  ASSERT_TRUE(memory.row(row).facts.load(facts));
  EXPECT_EQ(facts.peer, 7);
  EXPECT_EQ(facts.subchannel, 1);
  EXPECT_STREQ(facts.port, "mlx4_0/1");
  EXPECT_EQ(facts.state, static_cast<int>(PathCondition::failed));
  EXPECT_EQ(facts.last_reason, static_cast<int>(PathReason::port_down));
  EXPECT_EQ(facts.last_change, 6 * second);
  EXPECT_EQ(facts.failures, 1u);
  EXPECT_EQ(memory.row(row).bytes_in_flight.load(), 400);
  EXPECT_EQ(memory.row(row).bytes_done.load(), 1000u);
  EXPECT_EQ(memory.row(row).requests_done.load(), 1u);
  EXPECT_EQ(memory.row(row).bytes_per_second.load(), 12'500'000);
  EXPECT_EQ(memory.row(row).round_trip.load(), 2300);
  EXPECT_EQ(memory.header().events.load(), 2u);
  EventRecord event;
  ASSERT_TRUE(memory.header().ring[1].load(event));
  EXPECT_EQ(event.row, row);
  EXPECT_EQ(event.value, static_cast<int>(PathCondition::failed));
}

TEST(RailStatus, paths_beyond_the_tables_room_are_logged_and_counted) {
  Memory memory(2);
  Lines lines;
  RailStatus status(memory.span(), &lines, {});
  int last = 0;
  for (int i = 0; i < 5; ++i) last = status.add_path(label(i, 0));
  EXPECT_EQ(memory.header().rows.load(), 2u);
  EXPECT_EQ(memory.header().rows_lost.load(), 3u);
  status.posted(last, 10);
  status.completed(last, 10);
  status.set_weight(last, 1);
  status.set_condition(last, PathCondition::failed, 2, PathReason::watchdog, 12 * second + 34);
  ASSERT_EQ(lines.lines.size(), 1u);
  EXPECT_EQ(
      lines.lines[0],
      "12.000000034 rank=0 peer=4 subchannel=0 port=mlx4_0/1 path=0 generation=2 event=condition_changed "
      "condition=failed reason=watchdog");
}

TEST(RailStatus, does_nothing_where_nobody_asked) {
  RailStatus status;
  const int row = status.add_path(label(1, 0));
  EXPECT_EQ(row, -1);
  status.set_condition(row, PathCondition::ready, 1, PathReason::none, 1);
  status.posted(row, 1);
  status.completed(row, 1);
  status.on_event(row, 1, PathEvent::partitioned, PathReason::none, 0, 1);
  status.publish(RailCounters{});
  EXPECT_FALSE(status.wanted());
}

TEST(RailStatus, keeps_the_most_recent_events) {
  Memory memory(1);
  RailStatus status(memory.span(), nullptr, {});
  for (int i = 0; i < 200; ++i) status.on_event(-1, 2, PathEvent::attempt, PathReason::none, i, i);
  for (std::uint64_t i = 200 - recent_events; i < 200; ++i) {
    EventRecord event;
    ASSERT_TRUE(memory.header().ring[i % recent_events].load(event));
    EXPECT_EQ(event.number, i);
    EXPECT_EQ(event.value, static_cast<std::int64_t>(i));
  }
}

TEST(RailStatus, publishes_counters) {
  Memory memory(1);
  RailStatus status(memory.span(), nullptr, {});
  RailCounters counters;
  counters.failures = 3;
  counters.last_resumption = 17;
  status.publish(counters);
  const auto names = rail_counter_names();
  for (std::size_t i = 0; i < names.size(); ++i) {
    const std::uint64_t expected = names[i].name == "failures"          ? 3
                                   : names[i].name == "last_resumption" ? 17
                                                                        : 0;
    EXPECT_EQ(memory.header().counters[i].load(), expected) << names[i].name;
  }
}

TEST(RailStatus, names_everything) {
  for (int i = 0; i < path_conditions; ++i)
    EXPECT_STRNE(path_condition_name(static_cast<PathCondition>(i)), "");
  for (int i = 0; i < path_reasons; ++i) EXPECT_STRNE(path_reason_name(static_cast<PathReason>(i)), "");
  for (int i = 0; i < path_events; ++i) EXPECT_STRNE(path_event_name(static_cast<PathEvent>(i)), "");
}

TEST(SequencedRecord, is_never_read_torn) {
  struct Pair {
    std::uint64_t a[8];
  };
  SequencedRecord<Pair> record;
  Pair none;
  EXPECT_FALSE(record.load(none));
  std::atomic<bool> stop = false;
  record.store(Pair{});
  std::thread writer([&] {
    Pair p;
    for (std::uint64_t i = 0; !stop.load(std::memory_order_relaxed); ++i) {
      for (auto& word : p.a) word = i;
      record.store(p);
    }
  });
  for (int i = 0; i < 20000; ++i) {
    Pair p;
    if (!record.load(p)) continue;
    for (auto& word : p.a) ASSERT_EQ(word, p.a[0]);
  }
  stop = true;
  writer.join();
  Pair last;
  EXPECT_TRUE(record.load(last));
}

}  // namespace
}  // namespace hawser
