// Quantities as people write them, in one grammar for knobs, parameter files, topologies, faults and the
// options of our programs: a number, and right after it the unit.
//
//   count      4096, 0x1000
//   bytes      4096, 64K, 64KiB, 1.5M     K, M, G and KiB, MiB, GiB and KB, MB, GB are all powers of 1024
//   duration   300ns, 1.5ms, 2s, 0
//   rate       200MB/s, 10Gb/s, 0, unlimited     B is a byte and b a bit; K, M, G are powers of 1000, Ki, Mi,
//   Gi of 1024 share      10%, 0.1
//
// Numbers but those of counts may have a fraction and an exponent (1e3us). Units of bytes and durations may
// be written in upper or lower case. Errors name the text, the character at which it is wrong, and what is
// possible.
#pragma once

#include <cstdint>
#include <limits>
#include <string>
#include <string_view>

#include "base/result.h"
#include "base/time.h"

namespace hawser {

// What a value may be; both ends are possible.
template <class T>
struct Range {
  T least = 0;
  T most = std::numeric_limits<T>::max();
};

// `name` says in errors what is counted.
Result<std::uint64_t> parse_count(std::string_view text, Range<std::uint64_t> possible = {},
                                  const char* name = "a number");
Result<std::int64_t> parse_bytes(std::string_view text, Range<std::int64_t> possible = {});
// `bare` is the unit of numbers that are written without one; 0: only the number 0 may be.
Result<Nanoseconds> parse_duration(std::string_view text, Range<Nanoseconds> possible = {},
                                   Nanoseconds bare = 0);
// Bytes per second. Besides what is `possible`, 0 and "unlimited" are: both give 0.
Result<double> parse_rate(std::string_view text, Range<double> possible = {});
// From 0 to 1.
Result<double> parse_share(std::string_view text);

// The parsers take what these write. Rates are rounded to six digits, the others are exact.
std::string format_bytes(std::int64_t bytes);
std::string format_duration(Nanoseconds duration);
std::string format_rate(double bytes_per_second);

}  // namespace hawser
