// The two codes for times that the transport knows.
#pragma once

#include <cstdint>

#include "base/time.h"

namespace hawser::fabric {

// Local ACK time-out: 4.096 us * 2^code; code 0 never expires.
inline Nanoseconds acknowledge_timeout(std::uint8_t code) {
  return code == 0 ? never : Nanoseconds{4096} << code;
}

// The receiver-not-ready timer of IBA volume 1, table 45, in units of 10 us.
inline Nanoseconds receiver_not_ready_time(std::uint8_t code) {
  constexpr std::uint32_t units[32] = {65536, 1,    2,    3,    4,    6,     8,     12,    16,    24,   32,
                                       48,    64,   96,   128,  192,  256,   384,   512,   768,   1024, 1536,
                                       2048,  3072, 4096, 6144, 8192, 12288, 16384, 24576, 32768, 49152};
  return static_cast<Nanoseconds>(units[code & 31]) * 10 * microsecond;
}

}  // namespace hawser::fabric
