// Thread levels (MPI-5.0 section 11.6), numbered as in the standard ABI, and their names, by which sessions
// and MPI_INFO_ENV know them.
#pragma once

#include <optional>
#include <string_view>

namespace hawser {

inline constexpr int thread_single = 0;
inline constexpr int thread_funneled = 1024;
inline constexpr int thread_serialized = 2048;
inline constexpr int thread_multiple = 4096;

struct ThreadLevel {
  int level;
  std::string_view name;
};
inline constexpr ThreadLevel thread_levels[] = {{thread_single, "MPI_THREAD_SINGLE"},
                                                {thread_funneled, "MPI_THREAD_FUNNELED"},
                                                {thread_serialized, "MPI_THREAD_SERIALIZED"},
                                                {thread_multiple, "MPI_THREAD_MULTIPLE"}};

// Empty if there is no such level.
inline std::string_view thread_level_name(int level) {
  for (const ThreadLevel& known : thread_levels)
    if (known.level == level) return known.name;
  return {};
}
inline std::optional<int> thread_level_of(std::string_view name) {
  for (const ThreadLevel& known : thread_levels)
    if (known.name == name) return known.level;
  return {};
}

}  // namespace hawser
