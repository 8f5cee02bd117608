#include "testbed/simulator/simulated_areas.h"

#include <algorithm>

namespace hawser {

std::byte* AreaMemory::area(int rank, int index, std::int64_t bytes) {
  Area& area = areas_[{rank, index}];
  if (area.memory == nullptr) {
    area.bytes = static_cast<std::size_t>(bytes);
    area.memory = arena_.take(area.bytes);
  }
  return area.memory;
}

void AreaMemory::clear(int rank) {
  std::erase_if(areas_, [this, rank](const auto& entry) {
    const bool own = entry.first.first == rank;
    if (own) arena_.give_back(entry.second.memory, entry.second.bytes);
    return own;
  });
}

int SimulatedAreas::allocate() {
  const auto free = std::find(taken_.begin(), taken_.end(), false);
  if (free == taken_.end()) return -1;
  *free = true;
  return static_cast<int>(free - taken_.begin());
}

}  // namespace hawser
