// Which processors each rank may run on. The topology is read from sysfs: all that is needed is which
// processors are threads of one core, and loading hwloc would take longer than starting the ranks.
#pragma once

#include <vector>

#include "launch/mpiexec/options.h"

namespace hawser {

struct Processor {
  int number = 0;  // the kernel's
  int package = 0;
  int core = 0;  // within the package
};

// Pure. The processors of each rank, or an empty list if they are not to be bound. Contiguous cores go to
// neighbouring ranks, so that those share caches. `busy` processes in all need a core: the ranks, and others
// that work for them.
std::vector<std::vector<int>> assign_processors(std::vector<Processor> available, int ranks, int busy,
                                                BindMode mode);

// The same for the processors that this process may use.
std::vector<std::vector<int>> bind_ranks(int ranks, int busy, BindMode mode);

// Pure. Whether each processor belongs to one rank alone; false also if the ranks are not bound.
bool apart(const std::vector<std::vector<int>>& processors_of_ranks);

}  // namespace hawser
