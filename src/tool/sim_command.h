// `hawser sim`: seeds of the campaign of faults in the simulator.
#pragma once

#include <span>
#include <string_view>

namespace hawser {

int run_sim(std::span<const std::string_view> words);

}  // namespace hawser
