#include "channel/lane_count.h"

#include <algorithm>

#include "base/failure.h"

namespace hawser {

Result<int> parse_lanes(std::string_view text) {
  if (text == "auto") return -1;
  if (text.size() == 1 && text[0] >= '0' && text[0] <= '0' + most_lanes) return text[0] - '0';
  return failure(ErrorKind::other, "HAWSER_THREAD_LANES={}: must be auto or a number from 0 to {}", text,
                 most_lanes);
}

int planned_lanes(std::int32_t processes, const Knobs& knobs) {
  constexpr std::int32_t processes_and_lanes = 128;
  const Result<int> wanted = parse_lanes(knobs.thread_lanes);
  if (wanted && wanted.value() >= 0) return wanted.value();
  return std::min(most_lanes, processes_and_lanes / std::max(processes, 1));
}

}  // namespace hawser
