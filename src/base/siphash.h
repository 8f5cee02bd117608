// SipHash-2-4 (Aumasson and Bernstein, 2012): a keyed check of 64 bits. Who does not know the key cannot
// make one that fits.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>

namespace hawser {

std::uint64_t siphash(const std::array<std::uint64_t, 2>& key, std::span<const std::byte> bytes);

}  // namespace hawser
