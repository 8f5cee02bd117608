// Assertions that stay on in release builds: they state what only a bug can violate.
// An operating error (a bad argument, a failed link) is a Result, never an assertion.
#pragma once

namespace hawser {

[[noreturn]] void assertion_failed(const char* expression, const char* file, int line) noexcept;

}  // namespace hawser

#define HAWSER_ASSERT(expression)                     \
  (__builtin_expect(static_cast<bool>(expression), 1) \
       ? static_cast<void>(0)                         \
       : ::hawser::assertion_failed(#expression, __FILE__, __LINE__))

// What a correct program never reaches, such as the end of an exhaustive switch.
#define HAWSER_UNREACHABLE() ::hawser::assertion_failed("unreachable", __FILE__, __LINE__)
