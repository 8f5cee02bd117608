#include "tool/info_command.h"

#include <dlfcn.h>
#include <fmt/format.h>

#include <algorithm>
#include <string>

#include "base/enum_names.h"
#include "base/version.h"
#include "launch/connect_to_launcher.h"
#include "launch/core_place.h"
#include "launch/environment_variables.h"
#include "process/text_knobs.h"
#include "rails/memory_estimate.h"
#include "tool/build_facts.h"
#include "tool/knob_report.h"
#include "tool/subcommand.h"

namespace hawser {

namespace {

constexpr std::string_view usage =
    "Usage: hawser info [--knobs [--markdown] | --missing]\n\n"
    "  (nothing)     version, build, ABIs, launchers, channels, memory per peer\n"
    "  --knobs       every setting with its value in this environment\n"
    "    --markdown  as the page doc/knobs.md\n"
    "  --missing     the MPI functions that fail with MPI_ERR_UNSUPPORTED_OPERATION\n";

// As a program in this environment would read them.
Result<Knobs> read_knobs() {
  auto knobs = parse_knobs(environment_variables());
  if (knobs) HAWSER_TRY(check_text_knobs(knobs.value()));
  return knobs;
}

int print_knobs() {
  const auto knobs = read_knobs();
  if (!knobs) {
    fmt::print(stderr, "hawser: {}\n", knobs.error().text);
    return 1;
  }
  fmt::print("{}", knob_table(knobs.value()));
  return 0;
}

std::string_view launcher_here() {
  static constexpr EnumTexts<Launcher> texts{{{Launcher::pmix, "PMIx"},
                                              {Launcher::mpiexec, "Hawser's mpiexec"},
                                              {Launcher::pmi, "PMI-1"},
                                              {Launcher::none, "none"}}};
  return texts(find_launcher(environment_variables()));
}

std::string_view pmix_state() {
  void* library = dlopen("libpmix.so.2", RTLD_LAZY | RTLD_LOCAL);
  if (library == nullptr) return "not found";
  dlclose(library);
  return "found";
}

std::string amount(std::int64_t bytes) {
  if (bytes < 10'000) return fmt::format("{} B", bytes);
  if (bytes < 10'000'000) return fmt::format("{:.0f} kB", static_cast<double>(bytes) / 1e3);
  return fmt::format("{:.0f} MB", static_cast<double>(bytes) / 1e6);
}

// Who moves messages while a program that is started here computes.
void print_progress(const Knobs& knobs) {
  const int cores = usable_cores();
  fmt::print("progress   HAWSER_PROGRESS={}: ", knobs.progress);
  if (knobs.progress == "polling") {
    fmt::print("messages move in calls of MPI\n");
  } else if (knobs.progress == "interrupt") {
    fmt::print("a thread that adapters and sockets wake moves messages while the program computes\n");
  } else {
    fmt::print(
        "as interrupt in processes with rails, while the job has fewer than {} process{}\n"
        "           on this machine (it may use {} core{}); else as polling\n",
        cores, cores == 1 ? "" : "es", cores, cores == 1 ? "" : "s");
  }
}

// What a peer costs, with the settings of this environment.
void print_memory(const Knobs& knobs) {
  const auto at_once = [](const std::string& knob) { return knob == "auto" ? "1" : knob; };
  fmt::print("memory     per peer over rails, {} path(s) x {} engine(s) each:\n", at_once(knobs.rail_paths),
             at_once(knobs.rail_engines));
  fmt::print("           {:>5} {:>13} {:>9} {:>15} {:>9}\n", "rails", "not connected", "connected",
             "receive buffers", "in flight");
  for (const int rails : {1, 2, 4, 8}) {
    const PeerMemory memory = peer_memory(knobs, rails);
    fmt::print("           {:>5} {:>13} {:>9} {:>15} {:>9}\n", rails, amount(memory.known),
               amount(memory.connected()), amount(memory.receives), amount(memory.window));
  }
  fmt::print(
      "           All peers share the receive buffers, at most {} per rail. Packets in flight take memory "
      "only\n"
      "           while there are any. A connection that may migrate takes {} more.\n",
      amount(most_receive_bytes(knobs)),
      amount(peer_memory(knobs, 1).migration / peer_memory(knobs, 1).subchannels));
}

int print_summary() {
  const auto knobs = read_knobs();
  if (!knobs) {
    fmt::print(stderr, "hawser: {}\n", knobs.error().text);
    return 1;
  }
  const std::string_view missing = missing_functions;
  const auto count = std::count(missing.begin(), missing.end(), '\n');
  fmt::print("Hawser {}, an MPI library\n\n", version);
  fmt::print("build      {}\n", build_description);
  fmt::print("standard   MPI 5.0; {} functions not implemented yet (hawser info --missing)\n", count);
  fmt::print("ABIs       MPI-5.0 standard: libmpi_abi.so.1; MPICH: libmpich.so.12, also libmpi.so.12\n");
  fmt::print("launchers  PMIx (libpmix.so.2: {}), Hawser's mpiexec, PMI-1 (Hydra, srun --mpi=pmi2), none\n",
             pmix_state());
  fmt::print("           started here by: {}\n", launcher_here());
  fmt::print("channels   shared memory within a node; rails (InfiniBand, RoCE) or sockets between nodes\n");
  print_progress(knobs.value());
  fmt::print("settings   {} knobs (hawser info --knobs)\n", knob_infos().size());
  print_memory(knobs.value());
  return 0;
}

}  // namespace

int run_info(std::span<const std::string_view> words) {
  if (words.empty()) return print_summary();
  const std::string_view what = words[0];
  if (words.size() == 1 && what == "--knobs") return print_knobs();
  if (words.size() == 1 && what == "--missing") return fmt::print("{}", missing_functions), 0;
  if (words.size() == 2 && what == "--knobs" && words[1] == "--markdown")
    return fmt::print("{}", knob_page()), 0;
  const bool asked = words.size() == 1 && (what == "--help" || what == "-h");
  if (!asked) fmt::print(stderr, "hawser info: unknown option {}\n\n", fmt::join(words, " "));
  fmt::print(asked ? stdout : stderr, "{}", usage);
  return asked ? 0 : exit_usage;
}

}  // namespace hawser
