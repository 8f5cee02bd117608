#include "base/time.h"

#include <ctime>

namespace hawser {

Nanoseconds MonotonicClock::now() {
  timespec t;
  clock_gettime(CLOCK_MONOTONIC, &t);
  return t.tv_sec * second + t.tv_nsec;
}

}  // namespace hawser
