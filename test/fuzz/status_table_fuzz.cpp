// A process that writes anything into the table that `hawser top` reads: words of a good table are changed.
#include <cstring>
#include <memory>

#include "base/assert.h"
#include "fuzz_input.h"
#include "rails/status/status_table.h"
#include "tool/status_reader.h"

using namespace hawser;

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  fuzz::FuzzInput input(data, size);
  constexpr std::uint32_t rows = 3;
  const std::size_t bytes = RailStatus::table_bytes(rows);
  struct alignas(128) Line {
    std::byte bytes[128] = {};
  };
  const auto memory = std::make_unique<Line[]>(bytes / sizeof(Line) + 1);
  std::byte* const table = memory[0].bytes;
  {
    StatusIdentity identity;
    std::strcpy(identity.job, "job");
    RailStatus status({table, bytes}, nullptr, identity);
    for (ProcessIndex peer = 1; peer <= 3; ++peer) {
      const int row = status.add_path({.peer = peer, .port = "mlx4_0/1"});
      status.set_condition(row, PathCondition::ready, 1, PathReason{}, 5);
      status.completed(row, 1000);
    }
  }
  while (!input.empty()) {
    const std::size_t word = input.below(static_cast<std::uint32_t>(bytes / 8));
    const auto value = input.value<std::uint64_t>();
    std::memcpy(table + 8 * word, &value, sizeof value);
  }
  const auto seen = read_status_table({table, bytes}, 1);
  if (!seen) return 0;
  HAWSER_ASSERT(seen->paths.size() <= rows && seen->events.size() <= recent_events);
  for (const EventRecord& event : seen->events) {
    const auto row = static_cast<std::size_t>(event.row);
    static_cast<void>(
        event_line(event, seen->identity.rank, row < seen->paths.size() ? &seen->paths[row].facts : nullptr));
  }
  for (const SeenPath& path : seen->paths)
    static_cast<void>(path_condition_name(static_cast<PathCondition>(path.facts.state)));
  return 0;
}
