// A small deterministic generator (xoshiro256**, Blackman and Vigna 2018), seeded explicitly.
#pragma once

#include <cstdint>

namespace hawser {

class Random {
 public:
  explicit Random(std::uint64_t seed);

  std::uint64_t next();
  std::uint64_t below(std::uint64_t bound);  // uniform in [0, bound); bound > 0
  double uniform();                          // uniform in [0, 1)
  bool chance(double probability) { return uniform() < probability; }

 private:
  std::uint64_t state_[4];
};

}  // namespace hawser
