// Arithmetic on byte counts that remembers whether any result did not fit, so that a chain of it can be
// checked once at its end.
#pragma once

#include <cstdint>

namespace hawser {

class CheckedArithmetic {
 public:
  std::int64_t multiply(std::int64_t a, std::int64_t b) {
    std::int64_t result = 0;
    overflow_ |= __builtin_mul_overflow(a, b, &result);
    return result;
  }
  std::int64_t add(std::int64_t a, std::int64_t b) {
    std::int64_t result = 0;
    overflow_ |= __builtin_add_overflow(a, b, &result);
    return result;
  }
  bool overflow() const { return overflow_; }

 private:
  bool overflow_ = false;
};

}  // namespace hawser
