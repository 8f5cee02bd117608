#include "base/assert.h"

#include <cstdio>
#include <cstdlib>

namespace hawser {

void assertion_failed(const char* expression, const char* file, int line) noexcept {
  std::fprintf(stderr, "hawser: internal error: %s:%d: assertion failed: %s\n", file, line, expression);
  std::abort();
}

}  // namespace hawser
