// What rates and times of a fabric may be, so that the network's sums of times stay far from 2^63 ns: the
// longest packet takes 5 hours at the least rate.
#pragma once

#include "base/quantity.h"

namespace hawser::fabric {

inline constexpr Range<double> possible_rates{1e3, 1e15};  // bytes per second; 0, for unlimited, besides
inline constexpr Range<Nanoseconds> possible_times{0, 1000 * second};

}  // namespace hawser::fabric
