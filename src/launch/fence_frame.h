// What a fence carries between a rank and our mpiexec: all the values that were put since the last one, in
// one block of bytes. Pure functions. Integers are in the machine's order: both ends are on one machine.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"

namespace hawser {

struct FenceEntry {
  std::int32_t rank = 0;
  std::string_view key;
  std::string_view value;
};

void append_entry(std::string& frame, const FenceEntry& entry);
// The views point into `frame`.
Result<std::vector<FenceEntry>> parse_entries(std::string_view frame);

}  // namespace hawser
