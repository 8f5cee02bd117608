// Quantities as people write them: rates (200MB/s, 10Gb/s), times (2us), sizes (2KiB), shares (10%). Used by
// the parameter file, the fault commands and the command line, so that all three take the same words.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "base/time.h"

namespace hawser::fabric {

// What times and rates are limited to, so that the network's sums of times stay far from 2^63 ns: the longest
// packet takes 5 hours at the least rate.
inline constexpr double least_rate = 1e3, most_rate = 1e15;
inline constexpr Nanoseconds longest_duration = 1000 * second;

// Bytes per second; 0 is unlimited. "200MB/s", "1.5GB/s", "20Gb/s", "0", "unlimited". Decimal prefixes.
Result<double> parse_rate(std::string_view text);
// "300ns", "2us", "27ms", "1.5s", "0".
Result<Nanoseconds> parse_duration(std::string_view text);
// "2048", "64K", "64KiB", "1M": binary prefixes, as sizes of buffers go.
Result<std::uint64_t> parse_size(std::string_view text);
// "10%" or "0.1"; between 0 and 1.
Result<double> parse_share(std::string_view text);
// Decimal, or hexadecimal with 0x.
Result<std::uint64_t> parse_number(std::string_view text);

// The words of a line; what follows a '#' that starts a word is dropped.
std::vector<std::string> split_words(std::string_view line);

std::string format_rate(double bytes_per_second);
std::string format_duration(Nanoseconds duration);

}  // namespace hawser::fabric
