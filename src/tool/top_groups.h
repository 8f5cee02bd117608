// What is wrong with a job: the paths in trouble, grouped by the port, host, process, route or network whose
// failure explains most of them. Of n processes one pulled cable spoils 2(n - 1) paths, but it is one cause.
// Pure.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "tool/status_reader.h"

namespace hawser {

struct PathLine {
  const SeenProcess* process;
  const SeenPath* path;
  double rate;  // bytes per second
};

// Neither ready nor closed; of those that are connecting those that failed before.
bool in_trouble(const PathStatus& facts);

struct TroubleGroup {
  std::string cause;            // "port hw0/1 of host n3"; the same as long as the trouble lasts
  std::vector<PathLine> lines;  // the paths in trouble that it explains
  std::size_t paths = 0;        // all paths in use that depend on it; 0: they have only a rail in common
};

// Every path in trouble is in one group; those that have no cause in common are grouped by rail. The largest
// first.
std::vector<TroubleGroup> group_trouble(std::span<const PathLine> lines);

}  // namespace hawser
