// Packet sequence numbers: 24 bits, compared by distance.
#pragma once

#include <cstdint>

namespace hawser::fabric {

inline constexpr std::uint32_t psn_mask = 0xffffff;

inline std::uint32_t psn_add(std::uint32_t psn, std::uint32_t count) { return (psn + count) & psn_mask; }

// How far `a` is ahead of `b`: -2^23 to 2^23 - 1.
inline std::int32_t psn_distance(std::uint32_t a, std::uint32_t b) {
  const std::uint32_t difference = (a - b) & psn_mask;
  return difference < 0x800000 ? static_cast<std::int32_t>(difference)
                               : static_cast<std::int32_t>(difference) - 0x1000000;
}

}  // namespace hawser::fabric
