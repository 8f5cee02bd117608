// The environment variables of the ranks: pure functions from mpiexec's own, the options and the placement.
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "launch/mpiexec/options.h"
#include "launch/mpiexec/placement.h"

namespace hawser {

struct JobDescription {
  std::string id;
  std::string process_mapping;
  bool survive = false;  // the failure of ranks
  int cores = 1;         // that mpiexec, and so all ranks together, may use
};

// What all ranks of a program share: mpiexec's variables without those of launchers that started it, and
// what the options add. The error is a -x NAME that is not set, or a HAWSER_* variable that is wrong.
Result<std::vector<std::string>> program_environment(std::span<const std::string_view> inherited,
                                                     const JobOptions& options,
                                                     const ProgramOptions& program);

// What is added for one rank.
struct RankDescription {
  int rank = 0;
  int local_rank = 0;
  int local_size = 1;
  int pmi_fd = -1;
  int node_fd = -1;
  bool own_cores = false;  // bound to cores that no other rank of the job is bound to
};
std::vector<std::string> rank_environment(const JobDescription& job, const Placement& placement,
                                          const RankDescription& rank);

}  // namespace hawser
