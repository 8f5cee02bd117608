#include "base/rest.h"

#include <sched.h>
#include <time.h>

#include <algorithm>

namespace hawser {

void rest(std::uint32_t idle_passes) {
  if (idle_passes < rest_that_yields) {
    __builtin_ia32_pause();
  } else if (idle_passes < rest_that_sleeps) {
    sched_yield();
  } else {
    const std::int64_t nanoseconds =
        std::min<std::int64_t>(50'000, 1'000 * (idle_passes - rest_that_sleeps + 1));
    const timespec duration{0, nanoseconds};
    nanosleep(&duration, nullptr);
  }
}

}  // namespace hawser
