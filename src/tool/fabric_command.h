// `hawser fabric`: brings virtual fabrics up and down, looks at them, breaks them, runs programs on them.
#pragma once

#include <span>
#include <string_view>

namespace hawser {

int run_fabric(std::span<const std::string_view> words);

}  // namespace hawser
