// ticks(): a counter that is cheap to read, for comparing what two ways of doing the same cost. Its unit is
// the machine's own; all cores of a machine count alike.
#pragma once

#include <cstdint>

#ifdef __SSE2__
#include <x86intrin.h>
#else
#include "base/time.h"
#endif

namespace hawser {

inline std::uint64_t ticks() {
#ifdef __SSE2__
  return __rdtsc();
#else
  return static_cast<std::uint64_t>(MonotonicClock().now());
#endif
}

}  // namespace hawser
