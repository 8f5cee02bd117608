// CallTimes: how often a rank called each MPI function, and how long it was in it, in virtual time.
#pragma once

#include <cstdint>
#include <vector>

#include "base/time.h"

namespace hawser {

// The names of the functions, by their numbers (generated: mpi_calls.cpp).
extern const char* const mpi_function_names[];
extern const int mpi_function_count;

class CallTimes {
 public:
  struct Sum {
    std::uint64_t calls = 0;
    Nanoseconds time = 0;
  };

  void begin(int function, Nanoseconds now) {
    function_ = function;
    since_ = now;
  }
  void end(Nanoseconds now) {
    if (sums_.empty()) sums_.resize(static_cast<std::size_t>(mpi_function_count));
    Sum& sum = sums_[static_cast<std::size_t>(function_)];
    ++sum.calls;
    sum.time += now - since_;
  }
  // By function; empty: none was called.
  const std::vector<Sum>& sums() const { return sums_; }
  Nanoseconds computed = 0;

 private:
  int function_ = 0;
  Nanoseconds since_ = 0;
  std::vector<Sum> sums_;
};

}  // namespace hawser
