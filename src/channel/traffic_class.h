// TrafficClass: what kind of operation moves some bytes, as far as it matters to who plans their way. The
// papers call it the communication marker (V07 section 6.3.1): a message that its sender waits for should be
// there soon, one of many under way should cost little.
#pragma once

#include <cstdint>

namespace hawser {

// On the wire as it is, in TransportHeader.
enum class TrafficClass : std::uint8_t {
  blocking,     // the program waits for this one: MPI_Send, MPI_Sendrecv
  nonblocking,  // one of several, as far as anybody can say: MPI_Isend, MPI_Start
  collective,   // part of a collective operation: all ranks wait for the slowest
  one_sided,    // of a window: many between two synchronizations
};
inline constexpr std::uint8_t traffic_classes = 4;

// False for a number that another process invented.
inline bool known(TrafficClass traffic) { return static_cast<std::uint8_t>(traffic) < traffic_classes; }

}  // namespace hawser
