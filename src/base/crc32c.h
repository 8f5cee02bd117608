// CRC-32C (Castagnoli; RFC 3720 appendix B.4): tells bytes that changed on their way. Uses the processor's
// instruction where it has one (about 8 bytes in 3 cycles), else tables.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

namespace hawser {

// `before`: the result for the bytes that come before these; 0 for none.
std::uint32_t crc32c(std::span<const std::byte> bytes, std::uint32_t before = 0);
// The same by tables, on any processor.
std::uint32_t crc32c_by_tables(std::span<const std::byte> bytes, std::uint32_t before = 0);

}  // namespace hawser
