// planted(): whether this fault stands in the code on purpose. In what users get it is a constant, false, and
// the fault is not compiled. CMake compiles the sources that include this file once more, with
// HAWSER_PLANTED_BUGS, for programs that prove that tests find such faults (the library hawser_mutants). Not
// for headers, where it would mean two things in one program.
#pragma once

#include <cstdint>
#include <span>
#include <string_view>

namespace hawser {

enum class PlantedBug : std::uint8_t {
  none,
#define HAWSER_PLANTED_BUG(name, what) name,
#include "base/planted_bugs.def"
#undef HAWSER_PLANTED_BUG
};

#ifdef HAWSER_PLANTED_BUGS
bool planted(PlantedBug bug);
#else
[[maybe_unused]] static constexpr bool planted(PlantedBug) { return false; }
#endif

struct PlantedBugInfo {
  PlantedBug bug;
  std::string_view name;  // as above
  std::string_view what;
};
std::span<const PlantedBugInfo> planted_bugs();  // without none

// Plants this bug in the whole program, in place of the one before. False: the program cannot have bugs.
bool plant(PlantedBug bug);

}  // namespace hawser
