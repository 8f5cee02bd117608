// What HAWSER_PROGRESS comes to in one process, and why. Pure.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace hawser {

struct ProgressPlace {
  bool rails = false;          // messages go over adapters
  std::int64_t cores = 1;      // that this process may run on
  std::int64_t processes = 1;  // of the job that may run on these, itself included, as far as known
};

// Whether a thread goes on with large messages while the program computes (if channels can wake it). `auto`
// has one where it costs nothing: a core is left that no process of the job needs.
bool uses_interrupts(std::string_view progress, const ProgressPlace& place);

// As HAWSER_STATS prints it: "interrupt (auto: 2 processes share 16 cores)".
std::string describe_progress(std::string_view progress, const ProgressPlace& place, bool interrupts);

}  // namespace hawser
