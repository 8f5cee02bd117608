// `hawser info`: what this build of Hawser is and can do.
#pragma once

#include <span>
#include <string_view>

namespace hawser {

int run_info(std::span<const std::string_view> words);

}  // namespace hawser
