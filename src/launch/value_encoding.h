// Puts values of any length and any bytes into PMI-1's key-value space, whose values are short words
// without blanks: base 64, cut into parts, the first of which says how many there are.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"

namespace hawser {

std::string encode_base64(std::string_view bytes);
Result<std::string> decode_base64(std::string_view text);

// The parts, each at most `part_limit` characters; at least one. `part_limit` >= 32.
std::vector<std::string> encode_value(std::string_view value, std::size_t part_limit);
// How many parts the value has whose first part this is.
Result<int> count_parts(std::string_view first_part);
Result<std::string> decode_value(const std::vector<std::string>& parts);

// The key under which part number `part` of a process's value is kept. A key of 40 characters fits PMI's 64.
std::string part_key(int rank, std::string_view key, int part);

}  // namespace hawser
