// What `hawser top` prints, from two looks at the status tables.
#pragma once

#include <span>
#include <string>

#include "tool/status_reader.h"

namespace hawser {

// Processes of the same pid and start are compared; rates are 0 for those that were not there before. `rows`:
// lines that there is room for, 0: all. Paths in trouble come first.
std::string top_text(std::span<const SeenProcess> before, std::span<const SeenProcess> now, std::size_t rows);
// The same facts, all of them.
std::string top_json(std::span<const SeenProcess> before, std::span<const SeenProcess> now);

}  // namespace hawser
