// How many lanes for threads (message/message_lane.h) a node's shared memory has room for.
#pragma once

#include <cstdint>
#include <string_view>

#include "base/knobs.h"
#include "base/result.h"

namespace hawser {

inline constexpr int most_lanes = 7;

// HAWSER_THREAD_LANES: a number, or -1 for `auto`.
Result<int> parse_lanes(std::string_view text);
// The same in all processes of the node. Memory that nobody touches costs nothing, but the number of rings
// grows with the square of the processes', so `auto` has fewer where these are many.
int planned_lanes(std::int32_t processes, const Knobs& knobs);

}  // namespace hawser
