// Subcommands that are programs of their own beside `hawser`, which take its place.
#pragma once

#include <span>
#include <string_view>

namespace hawser {

// `hawser sim`: seeds of the campaign of faults in the simulator; `hawser sim exec`: a program there.
int run_sim(std::span<const std::string_view> words);

// `hawser tune`: measures collective algorithms.
int run_tune(std::span<const std::string_view> words);

}  // namespace hawser
