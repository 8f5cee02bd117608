// `hawser fabric watch`: what every link of a running fabric carries, again and again.
#pragma once

#include <span>
#include <string_view>

namespace hawser {

// The words behind `watch`; the exit code. Ends when interrupted, when the daemon ends, or after --count
// views.
int watch_fabric(std::span<const std::string_view> words);

}  // namespace hawser
