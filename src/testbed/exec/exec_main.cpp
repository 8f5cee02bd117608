// hawser-exec: what `hawser sim exec` runs. There is one of it for each ABI of MPI, whose functions it has.
#include <fcntl.h>
#include <fmt/format.h>
#include <malloc.h>
#include <sys/personality.h>
#include <sys/resource.h>
#include <unistd.h>

#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <filesystem>

#include "base/checked_output.h"
#include "base/machine.h"
#include "base/quantity.h"
#include "fabric/topology/makers.h"
#include "os/child_process.h"
#include "testbed/exec/c_library.h"
#include "testbed/exec/drawn_faults.h"
#include "testbed/exec/exec_options.h"
#include "testbed/exec/exec_report.h"
#include "testbed/exec/program_job.h"
#include "testbed/exec/program_tls.h"
#include "testbed/exec/shared_heap.h"

extern char** environ;

namespace hawser {
namespace {

constexpr int exit_usage = 2;
constexpr const char* libraries_of_user = "HAWSER_EXEC_LIBRARY_PATH";
constexpr const char* where_copies_are = "/proc/self/fd";

int fail(const std::string& text) {
  fmt::print(stderr, "hawser sim exec: {}\n", text);
  return exit_usage;
}

// Starts this program again, in the ABI of the simulated one, as copies of programs need it: the loader looks
// for them among the descriptors and has room for their thread-local variables; addresses are the same in
// each run.
int start_again(const ExecOptions& options, char** argv, ProgramAbi abi) {
  auto folder = program_folder();
  if (!folder) return fail(folder.error().text);
  const char* const path = std::getenv("LD_LIBRARY_PATH");
  setenv(libraries_of_user, path == nullptr ? "" : path, 1);
  setenv("LD_LIBRARY_PATH", where_copies_are, 1);
  setenv("GLIBC_TUNABLES",
         fmt::format("glibc.rtld.optional_static_tls={}", 4096 + options.ranks * 512).c_str(), 1);
  personality(ADDR_NO_RANDOMIZE);
  std::vector<std::string> words{folder.value() +
                                 (abi == ProgramAbi::mpich ? "/hawser-exec-mpich" : "/hawser-exec")};
  for (char** each = argv + 1; *each != nullptr; ++each) words.emplace_back(*each);
  return fail(become_program(std::move(words)).text);
}

// Hawser's libraries lie beside its programs, in the build tree as after installation.
std::string library_folders(const std::string& of_user) {
  const auto folder = program_folder();
  std::string folders;
  for (const char* const each : {"/../lib", "/../lib/x86_64-linux-gnu"})
    if (folder && std::filesystem::is_directory(folder.value() + each))
      folders += folder.value() + each + ":";
  return folders + of_user;
}

void raise_limit_of_descriptors() {
  rlimit limit{};
  if (getrlimit(RLIMIT_NOFILE, &limit) != 0) return;
  limit.rlim_cur = limit.rlim_max;
  (void)setrlimit(RLIMIT_NOFILE, &limit);
}

// The program's environment is what the user's was; knobs are the simulated library's.
void read_environment(ProgramOptions& program, SimulationOptions& simulation, const std::string& libraries) {
  for (char** each = environ; *each != nullptr; ++each) {
    const std::string text = *each;
    const std::string name = text.substr(0, text.find('='));
    if (name == libraries_of_user || name == "LD_LIBRARY_PATH" || name == "GLIBC_TUNABLES") continue;
    program.environment.push_back(text);
    if (name.starts_with("HAWSER_")) simulation.knobs.emplace_back(name, text.substr(name.size() + 1));
  }
  if (!libraries.empty()) program.environment.push_back("LD_LIBRARY_PATH=" + libraries);
}

Result<SimulationOptions> simulation_of(const ExecOptions& options) {
  SimulationOptions simulation;
  simulation.ranks = options.ranks;
  simulation.seed = options.seed;
  simulation.trace_file = options.trace;
  if (!options.time_limit.empty()) {
    auto limit = parse_duration(options.time_limit);
    if (!limit) return limit.take_error();
    simulation.time_limit = limit.value();
  }
  auto stack = parse_bytes(options.stack);
  if (!stack) return stack.take_error();
  simulation.stack_bytes = static_cast<std::size_t>(stack.value());
  emulator::PlanOptions layout = options.fabric;
  // A file says itself how many there are.
  if (layout.hosts == 0 && fabric::is_maker(layout.what))
    layout.hosts = std::max(2, (options.ranks + options.ranks_per_node - 1) / options.ranks_per_node);
  auto plan = emulator::make_plan(layout);
  if (!plan) return plan.take_error();
  FabricOptions fabric;
  fabric.ranks_per_host = options.ranks_per_node;
  for (const auto& [text, cost] : {std::pair(&options.queue_pair_cost, &fabric.cost.queue_pair),
                                   std::pair(&options.registration_cost, &fabric.cost.registration),
                                   std::pair(&options.post_cost, &fabric.cost.post),
                                   std::pair(&options.completion_cost, &fabric.cost.completion),
                                   std::pair(&options.interrupt_cost, &fabric.cost.interrupt)}) {
    auto duration = parse_duration(*text);
    if (!duration) return duration.take_error();
    *cost = duration.value();
  }
  fabric.cost.doorbell_per_post = options.doorbell_per_post;
  fabric.laid_out = std::make_shared<LaidOutFabric>(LaidOutFabric{
      std::move(plan.value().topology), std::move(plan.value().parameters), std::move(plan.value().tables)});
  if (!options.faults.empty()) {
    auto faults = read_text(options.faults);
    if (!faults) return faults.take_error();
    fabric.faults = std::move(faults).value();
  }
  if (options.draw_faults > 0) HAWSER_TRY(draw_faults(fabric, options.seed, options.draw_faults));
  simulation.fabric = std::move(fabric);
  if (options.areas) simulation.areas.emplace();
  return simulation;
}

int run(const ExecOptions& options, const ProgramImage& image, const std::string& libraries) {
  ProgramOptions program{.arguments = options.command};
  auto made = simulation_of(options);
  if (!made) return fail(made.error().text);
  SimulationOptions simulation = std::move(made).value();
  char* end = nullptr;
  program.compute_scale = std::strtod(options.compute_scale.c_str(), &end);
  if (*end != 0 || !(program.compute_scale >= 0))
    return fail(fmt::format("--compute-scale '{}' is not a number from 0 up", options.compute_scale));
  if (const Elf64_Phdr* variables = image.program().thread_local_segment();
      variables != nullptr && (variables->p_memsz > largest_program_tls || end_of_program_tls() == nullptr))
    return fail(fmt::format("{} has {} bytes of thread-local variables; {} are possible",
                            options.command.front(), variables->p_memsz,
                            end_of_program_tls() == nullptr ? 0 : largest_program_tls));
  read_environment(program, simulation, libraries);
  // More would be threads of the program's own.
  if (options.process_per_rank && std::getenv("OMP_NUM_THREADS") == nullptr)
    program.environment.push_back("OMP_NUM_THREADS=1");
  raise_limit_of_descriptors();
  // Large pieces come fresh from the system, which gives memory only when it is used.
  mallopt(M_MMAP_THRESHOLD, 32 * 1024);
  mallopt(M_MMAP_MAX, 1 << 24);
  if (options.process_per_rank && !shared_heap::enable())
    return fail(fmt::format("--process-per-rank: no memory that processes share: {}", std::strerror(errno)));
  ProgramJob job(image, program, std::move(simulation), options.label, options.quiet,
                 options.process_per_rank);
  const ProgramResult result = job.run();
  for (const std::string& line : result.outcome.output) fmt::print(stderr, "{}\n", line);
  if (const Result<> told = report(options, job, result); !told) return fail(told.error().text);
  if (job.lost_output() == 0) return result.exit_code;
  fmt::print(stderr, "hawser sim exec: cannot write the ranks' output: {}\n",
             std::strerror(job.lost_output()));
  return result.exit_code != 0 ? result.exit_code : 1;
}

int main_of(int argc, char** argv) {
  ExecOptions options;
  if (const std::optional<int> code = read_command_line(argc, argv, options)) return *code;
  const auto variable = [](const char* name) {
    return std::getenv(name) == nullptr ? "" : std::getenv(name);
  };
  const bool started_again = std::getenv(libraries_of_user) != nullptr;
  const std::string libraries = variable(started_again ? libraries_of_user : "LD_LIBRARY_PATH");
  int error = 0;
  const std::string program = find_program(options.command.front(), variable("PATH"), error);
  if (program.empty())
    return fail(fmt::format("cannot run {}: {}", options.command.front(), std::strerror(error)));
  auto image = ProgramImage::read(program, library_folders(libraries), options.process_per_rank);
  if (!image) return fail(image.error().text);
  if (!started_again) return start_again(options, argv, image.value().abi());
  return run(options, image.value(), libraries);
}

}  // namespace
}  // namespace hawser

int main(int argc, char** argv) {
  const int code =
      hawser::with_checked_output("hawser sim exec", [&] { return hawser::main_of(argc, argv); });
  std::fflush(nullptr);
  // Nothing of the ranks' copies may run any more.
  hawser::c_library::exit_now(code);
}
