// The least of times that may become longer: whatever else is on the way makes some of them long and none
// short, so a shorter one counts at once, and longer ones little by little.
#pragma once

#include "base/time.h"

namespace hawser {

// `least`: of the times before; 0: there were none.
inline Nanoseconds rising_least(Nanoseconds least, Nanoseconds time) {
  return time < least || least == 0 ? time : least + (time - least) / 256;
}

}  // namespace hawser
