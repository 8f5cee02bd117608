// Where a program's own thread-local variables lie. The code of a program (not of a library) addresses them
// at fixed distances before the thread pointer, where the variables of the first loaded program are: that is
// the simulator. So it reserves the last bytes before the thread pointer, and each rank's variables are put
// there while it runs.
#pragma once

#include <cstddef>

namespace hawser {

inline constexpr std::size_t largest_program_tls = 256 * 1024;

// The end of the reserved bytes; null if the simulator was not linked as it must be.
std::byte* end_of_program_tls();

}  // namespace hawser
