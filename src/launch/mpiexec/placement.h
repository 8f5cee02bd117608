// Which rank runs which program on which node: a pure function of the options.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "launch/mpiexec/options.h"

namespace hawser {

struct Placement {
  std::vector<std::string> host_names;     // of the nodes that have ranks
  std::vector<std::int32_t> node_of_rank;  // index into host_names
  std::vector<int> program_of_rank;        // index into JobOptions::programs
  int universe_size = 0;

  int size() const { return static_cast<int>(node_of_rank.size()); }
};

// `this_host` names the node when no hosts are given.
Result<Placement> place_ranks(const JobOptions& options, std::string_view this_host);

}  // namespace hawser
