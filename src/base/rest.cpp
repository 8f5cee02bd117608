#include "base/rest.h"

#include <sched.h>
#include <time.h>

#include <algorithm>

namespace hawser {

void rest(std::uint32_t idle_passes) {
  constexpr std::uint32_t pauses = rest_that_yields;
  constexpr std::uint32_t yields = 192;
  if (idle_passes < pauses) {
    __builtin_ia32_pause();
  } else if (idle_passes < pauses + yields) {
    sched_yield();
  } else {
    const std::int64_t nanoseconds =
        std::min<std::int64_t>(50'000, 1'000 * (idle_passes - pauses - yields + 1));
    const timespec duration{0, nanoseconds};
    nanosleep(&duration, nullptr);
  }
}

}  // namespace hawser
