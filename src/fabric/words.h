// Words of the lines that the fabric reads: parameters, faults, tables, questions.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace hawser::fabric {

// What follows a '#' that starts a word is dropped.
std::vector<std::string> split_words(std::string_view line);

}  // namespace hawser::fabric
