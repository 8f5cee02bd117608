// What `hawser top` prints, from two looks at the status tables.
#pragma once

#include <span>
#include <string>

#include "tool/status_reader.h"

namespace hawser {

struct TopLayout {
  std::size_t rows = 0;    // lines that there is room for; 0: any number
  bool all_paths = false;  // those of large jobs, too
  std::string open;        // the cause whose paths are listed; empty: none
};

// First what is wrong, a line for each cause, then what is well, in one. Processes of the same pid, rank and
// start are compared; rates are 0 for those that were not there before.
std::string top_text(std::span<const SeenProcess> before, std::span<const SeenProcess> now,
                     const TopLayout& layout);
// The cause that stands there at [number + 1]; empty if none.
std::string top_cause(std::span<const SeenProcess> now, std::size_t number);
// The same facts, all of them.
std::string top_json(std::span<const SeenProcess> before, std::span<const SeenProcess> now);

}  // namespace hawser
