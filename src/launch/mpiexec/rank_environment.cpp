#include "launch/mpiexec/rank_environment.h"

#include <algorithm>

#include "base/failure.h"
#include "base/knobs.h"

namespace hawser {

namespace {

// Variables by which launchers tell a process its place. Those that mpiexec itself was given (when it runs in
// a Slurm step or under another mpiexec) would mislead the ranks.
bool says_place(std::string_view entry) {
  for (const std::string_view prefix :
       {"PMI_", "PMIX_", "HAWSER_JOB_", "MPI_LOCALRANKID=", "MPI_LOCALNRANKS=", "HYDI_CONTROL_FD="})
    if (entry.starts_with(prefix)) return true;
  return false;
}

void set(std::vector<std::string>& variables, const std::string& name, const std::string& value) {
  const std::string prefix = name + "=";
  std::erase_if(variables, [&](const std::string& entry) { return entry.starts_with(prefix); });
  variables.push_back(prefix + value);
}

}  // namespace

Result<std::vector<std::string>> program_environment(std::span<const std::string_view> inherited,
                                                     const JobOptions& options,
                                                     const ProgramOptions& program) {
  std::vector<std::string> variables;
  for (const std::string_view entry : inherited)
    if (!says_place(entry)) variables.emplace_back(entry);
  for (const std::string& name : options.exported) {
    const std::string prefix = name + "=";
    if (std::none_of(variables.begin(), variables.end(),
                     [&](const std::string& entry) { return entry.starts_with(prefix); }))
      return failure(ErrorKind::invalid_argument, "-x {}: the variable is not set", name);
  }
  for (const auto& [name, value] : options.environment) set(variables, name, value);
  for (const auto& [name, value] : program.environment) set(variables, name, value);

  // The ranks would find a wrong setting too, but each of them would complain.
  const std::vector<std::string_view> views(variables.begin(), variables.end());
  const auto knobs = parse_knobs(views);
  if (!knobs) return Error(knobs.error());
  return variables;
}

std::vector<std::string> rank_environment(const JobDescription& job, const Placement& placement,
                                          const RankDescription& rank) {
  const auto index = static_cast<std::size_t>(rank.rank);
  const auto node = static_cast<std::size_t>(placement.node_of_rank[index]);
  return {
      fmt::format("PMI_FD={}", rank.pmi_fd),
      fmt::format("PMI_RANK={}", rank.rank),
      fmt::format("PMI_SIZE={}", placement.size()),
      // Known to scripts that choose a device by the rank's number on its node.
      fmt::format("MPI_LOCALRANKID={}", rank.local_rank),
      fmt::format("MPI_LOCALNRANKS={}", rank.local_size),
      fmt::format("HAWSER_JOB_ID={}", job.id),
      fmt::format("HAWSER_JOB_MAPPING={}", job.process_mapping),
      fmt::format("HAWSER_JOB_APPNUM={}", placement.program_of_rank[index]),
      fmt::format("HAWSER_JOB_UNIVERSE_SIZE={}", placement.universe_size),
      fmt::format("HAWSER_JOB_HOST={}", placement.host_names[node]),
      fmt::format("HAWSER_JOB_NODE_FD={}", rank.node_fd),
      fmt::format("HAWSER_JOB_OWN_CORES={}", rank.own_cores ? 1 : 0),
      fmt::format("HAWSER_JOB_CORES={}", job.cores),
      fmt::format("HAWSER_JOB_SURVIVE={}", job.survive ? 1 : 0),
  };
}

}  // namespace hawser
