// rest: how a thread passes a short time when others may bring what it waits for.
#pragma once

#include <cstdint>

namespace hawser {

// From this number on a rest yields the core at least.
inline constexpr std::uint32_t rest_that_yields = 64;
// From this number on it sleeps.
inline constexpr std::uint32_t rest_that_sleeps = 256;

// `idle_passes` counts the rests since something last moved: first it pauses, then it yields the core, then
// it sleeps for a time that grows to 50 microseconds.
void rest(std::uint32_t idle_passes);

}  // namespace hawser
