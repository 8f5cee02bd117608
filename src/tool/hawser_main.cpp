// The `hawser` command: finds the subcommand and runs it.
#include <fmt/core.h>

#include <vector>

#include "base/checked_output.h"
#include "base/version.h"
#include "tool/beside.h"
#include "tool/doctor_command.h"
#include "tool/fabric_command.h"
#include "tool/info_command.h"
#include "tool/subcommand.h"
#include "tool/top_command.h"

namespace hawser {
namespace {

constexpr Subcommand subcommands[] = {
    {"info",
     "print version, ABIs, launchers, channels; --knobs: settings; --missing: functions that are not "
     "implemented",
     run_info},
    {"doctor", "look at this host as an MPI process would: what is wrong, and how to mend it", run_doctor},
    {"top",
     "show the rails of running MPI processes: what is wrong, and the state, rate and failures of every path",
     run_top},
    {"fabric", "run virtual InfiniBand fabrics: up, down, status, watch, topology, fault, run", run_fabric},
    {"sim", "run the simulator: any MPI program in virtual time, or campaigns of faults", run_sim},
    {"tune", "measure collective operations, and write a table of the fastest algorithms for jobs", run_tune},
};

void print_usage(std::FILE* file) {
  fmt::print(file, "Usage: hawser SUBCOMMAND [OPTIONS]\n\n");
  for (const Subcommand& subcommand : subcommands)
    fmt::print(file, "  {:<8}{}\n", subcommand.name, subcommand.help);
  fmt::print(file,
             "\n`hawser SUBCOMMAND --help` explains its options; `hawser --version` prints the version.\n");
}

int run_command(std::span<const std::string_view> words) {
  if (words.empty()) {
    print_usage(stderr);
    return exit_usage;
  }
  if (words[0] == "--help" || words[0] == "-h") {
    print_usage(stdout);
    return 0;
  }
  if (words[0] == "--version" || words[0] == "-V") {
    fmt::print("hawser {}\n", version);
    return 0;
  }
  for (const Subcommand& subcommand : subcommands)
    if (subcommand.name == words[0]) return subcommand.run(words.subspan(1));
  fmt::print(stderr, "hawser: unknown subcommand {}\n\n", words[0]);
  print_usage(stderr);
  return exit_usage;
}

}  // namespace
}  // namespace hawser

int main(int argc, char** argv) {
  const std::vector<std::string_view> words(argv + 1, argv + argc);
  return hawser::with_checked_output("hawser", [&] { return hawser::run_command(words); });
}
