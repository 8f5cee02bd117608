#include "testbed/exec/program_tls.h"

namespace hawser {

namespace {
// In a library of its own that is linked last, so that no other variable lies behind it.
alignas(64) thread_local std::byte reserved[largest_program_tls];
}  // namespace

std::byte* end_of_program_tls() {
  std::byte* const end = reserved + sizeof reserved;
  return end == __builtin_thread_pointer() ? end : nullptr;
}

}  // namespace hawser
