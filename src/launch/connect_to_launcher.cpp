#include "launch/connect_to_launcher.h"

#include <sys/random.h>
#include <unistd.h>

#include "base/failure.h"
#include "base/quantity.h"
#include "launch/environment_variables.h"
#include "launch/mpiexec_bootstrap.h"
#include "launch/pmi_bootstrap.h"
#include "launch/pmix_bootstrap.h"
#include "launch/singleton_bootstrap.h"

namespace hawser {

namespace {

Result<std::unique_ptr<Bootstrap>> start_alone(std::span<const std::string_view> environment) {
  // Slurm starts the tasks of a step without PMI when it is not asked for one. Each would take itself for
  // the whole job, which nobody wants who asked for several.
  const std::string_view tasks = find_variable(environment, "SLURM_STEP_NUM_TASKS");
  if (const auto count = parse_count(tasks); count && count.value() > 1)
    return failure(
        ErrorKind::other,
        "srun started {} tasks without a process manager interface: use srun --mpi=pmi2 or --mpi=pmix",
        tasks);
  std::uint64_t chance = 0;
  if (getrandom(&chance, sizeof chance, 0) != sizeof chance) chance = 0;
  return std::unique_ptr<Bootstrap>(
      std::make_unique<SingletonBootstrap>(fmt::format("singleton-{}-{:x}", getpid(), chance)));
}

Error explain(std::string_view launcher, const Error& error) {
  return failure(error.kind, "cannot start under {}: {}", launcher, error.text);
}

}  // namespace

Launcher find_launcher(std::span<const std::string_view> environment) {
  if (!find_variable(environment, "PMIX_NAMESPACE").empty()) return Launcher::pmix;
  const bool inherited = !find_variable(environment, "PMI_FD").empty();
  if (inherited && !find_variable(environment, "HAWSER_JOB_ID").empty()) return Launcher::mpiexec;
  if (inherited || !find_variable(environment, "PMI_PORT").empty()) return Launcher::pmi;
  return Launcher::none;
}

Result<std::unique_ptr<Bootstrap>> connect_to_launcher(std::span<const std::string_view> environment) {
  switch (find_launcher(environment)) {
    case Launcher::pmix: {
      auto bootstrap = PmixBootstrap::connect();
      if (!bootstrap) return explain("PMIx (PMIX_NAMESPACE is set)", bootstrap.error());
      if (bootstrap.value() == nullptr) return start_alone(environment);
      return bootstrap;
    }
    case Launcher::mpiexec: {
      auto bootstrap = MpiexecBootstrap::connect(environment);
      if (!bootstrap) return explain("Hawser's mpiexec (HAWSER_JOB_ID is set)", bootstrap.error());
      return bootstrap;
    }
    case Launcher::pmi: {
      auto bootstrap = PmiBootstrap::connect(environment);
      if (!bootstrap) return explain("PMI-1 (PMI_FD or PMI_PORT is set)", bootstrap.error());
      return bootstrap;
    }
    case Launcher::none:
      return start_alone(environment);
  }
  HAWSER_UNREACHABLE();
}

}  // namespace hawser
