// What a running fabric tells about itself to `hawser fabric topology` and `hawser fabric watch`.
#pragma once

#include <string>
#include <string_view>

#include "base/result.h"
#include "fabric/fabric.h"

namespace hawser::emulator {

// `question` is empty (the topology as text), `paths`, `flows OFFSET PATTERN`, `svg`, or
// `svg OFFSET PATTERN`, with the tables as they are now. `title` goes into pictures.
Result<std::string> inspect_topology(const fabric::Fabric& fabric, const std::string& title,
                                     std::string_view question);

// JSON: counters of every cable in both directions, and the latest lines of the log, `latest` of them at
// most. Counters only grow.
//   {"seconds": 1.5, "packets": {"sent", "delivered", "dropped"}, "pending_faults",
//    "log_lines": 7, "log": [{"seconds", "text"}],
//    "links": [{"a", "b", "up", "rate", "out": {"packets", "bytes", "dropped", "marked"}, "in": {...}}]}
// `out` leaves by port a. `rate` is in bytes per second; 0: unlimited.
std::string describe_links(fabric::Fabric& fabric, std::size_t latest);

}  // namespace hawser::emulator
