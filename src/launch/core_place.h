// Where in its host this process runs, as hwloc tells. The library is loaded when it is first asked for, and
// by processes that are bound only: reading a machine takes milliseconds. Without hwloc no place is known.
#pragma once

#include <array>
#include <cstdint>
#include <span>
#include <vector>

namespace hawser {

// Package, NUMA domain, L3 cache, core, from the outside inwards, numbered as hwloc does over the whole host;
// -1 where the process may run on more than one.
using CorePlace = std::array<std::int32_t, 4>;
inline constexpr CorePlace unknown_core_place{-1, -1, -1, -1};

// The kernel's numbers of the processors that this thread may run on; empty if those are all of the host.
std::vector<int> bound_processors();
// How many it may run on.
int usable_cores();

CorePlace core_place_of(std::span<const int> processors);

}  // namespace hawser
