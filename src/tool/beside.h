// Subcommands that are programs of their own beside `hawser`.
#pragma once

#include <span>
#include <string_view>

namespace hawser {

// The program takes our place; answers 1, with a message that begins with `name`, if it cannot.
int become_beside(std::string_view name, std::string_view program, std::span<const std::string_view> words);

// `hawser tune`: measures collective algorithms.
int run_tune(std::span<const std::string_view> words);

}  // namespace hawser
