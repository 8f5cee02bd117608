// Reading and writing the values of knobs: pure functions, one pair per kind.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace hawser {

// on, off, true, false, yes, no, 1, 0
std::optional<bool> parse_boolean(std::string_view text);
std::optional<std::int64_t> parse_integer(std::string_view text);
// A whole number with an optional suffix K, M, G (powers of 1024, also as KiB or KB), or B.
std::optional<std::int64_t> parse_bytes(std::string_view text);
// A whole number with a unit ns, us, ms or s; only 0 needs none, because users think of different ones.
std::optional<std::int64_t> parse_duration(std::string_view text);
// `choices` are separated by `|`.
bool is_choice(std::string_view text, std::string_view choices);

std::string format_bytes(std::int64_t value);
std::string format_duration(std::int64_t value);

// How many letters must be inserted, removed or replaced (or neighbours swapped) to turn one into the other.
int edit_distance(std::string_view a, std::string_view b);

}  // namespace hawser
