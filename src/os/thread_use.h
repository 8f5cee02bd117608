// What the calling thread had of the processor.
#pragma once

#include <cstdint>

#include "base/time.h"

namespace hawser {

struct ThreadUse {
  Nanoseconds processor_time = 0;
  std::int64_t pauses = 0;  // how often it slept or waited; not how often others took its core
};

// A system call.
ThreadUse thread_use();

}  // namespace hawser
