#include "process/progress_choice.h"

#include <fmt/format.h>

namespace hawser {
namespace {

constexpr std::string_view automatic = "auto";

}  // namespace

bool uses_interrupts(std::string_view progress, const ProgressPlace& place) {
  if (progress != automatic) return progress == "interrupt";
  return place.rails && place.processes < place.cores;
}

std::string describe_progress(std::string_view progress, const ProgressPlace& place, bool interrupts) {
  const std::string_view what = interrupts ? "interrupt" : "polling";
  if (progress != automatic) {
    // Asked for and not there: nothing can wake a thread, or the kernel has no membarrier.
    const bool refused = progress != what;
    return fmt::format("{} (HAWSER_PROGRESS={}{})", what, progress, refused ? ", which is not possible" : "");
  }
  const bool alone = place.processes == 1;
  return fmt::format("{} (auto: {}{} process{} {} core{})", what, place.rails ? "" : "no rails, ",
                     place.processes, alone ? " has" : "es share", place.cores, place.cores == 1 ? "" : "s");
}

}  // namespace hawser
