// Reading the values of knobs that are words (quantity.h has the others), and finding what a misspelt word
// meant.
#pragma once

#include <optional>
#include <string_view>

namespace hawser {

// on, off, true, false, yes, no, 1, 0
std::optional<bool> parse_boolean(std::string_view text);
// `choices` are separated by `|`.
bool is_choice(std::string_view text, std::string_view choices);

// How many letters must be inserted, removed or replaced (or neighbours swapped) to turn one into the other.
int edit_distance(std::string_view a, std::string_view b);

}  // namespace hawser
