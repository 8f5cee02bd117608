// hawser-tune: what `hawser tune` becomes.
#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <cerrno>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <string>
#include <thread>
#include <vector>

#include "base/checked_output.h"
#include "base/machine.h"
#include "base/option_errors.h"
#include "base/quantity.h"
#include "os/child_process.h"
#include "os/command_output.h"
#include "tool/tune/tuning.h"

namespace hawser::tune {
namespace {

constexpr int exit_usage = 2;

struct Options {
  std::string output = "hawser-collectives";
  int ranks = 0;
  int rounds = 3;
  std::string seconds = "20ms", most = "1M", room = "16M";
  std::vector<std::string> launcher;
};

int fail(const std::string& text) {
  fmt::print(stderr, "hawser tune: {}\n", text);
  return 1;
}

// All or nothing: jobs may read the table meanwhile.
Result<> write(const std::string& file_name, const std::string& text) {
  const std::string unfinished = file_name + ".unfinished";
  std::ofstream file(unfinished, std::ios::binary | std::ios::trunc);
  file << text;
  file.close();
  if (!file)
    return Error{ErrorKind::other, fmt::format("{} cannot be written: {}", unfinished, std::strerror(errno))};
  std::error_code error;
  std::filesystem::rename(unfinished, file_name, error);
  if (error) return Error{ErrorKind::other, fmt::format("{}: {}", file_name, error.message())};
  return {};
}

// `command`: the launcher with its options, then the program and what it is always told.
Result<Times> run_with(const Setting& setting, std::vector<std::string> command) {
  command.insert(command.end(), setting.operations.begin(), setting.operations.end());
  auto environment = setting.environment;
  // No table that is there already, which would choose.
  environment.emplace_back("HAWSER_COLLECTIVE_TABLE", "");
  const auto text = command_output(std::move(command), std::move(environment));
  if (!text) return text.error();
  return read_times(text.value());
}

Result<Measured> measure(const std::vector<std::string>& command, int rounds) {
  const Setting by_default = settings_of(1).front();
  auto first = run_with(by_default, command);
  if (!first) return first.take_error();
  Measured measured(first.value().ranks, first.value().nodes);
  measured.add(by_default, first.value());
  const std::vector<Setting> settings = settings_of(measured.nodes());
  for (int round = 0; round < rounds; ++round)
    for (const Setting& setting : settings) {
      if (round == 0 && &setting == settings.data()) continue;
      fmt::print(stderr, "\rround {} of {}, setting {} of {} ", round + 1, rounds,
                 &setting - settings.data() + 1, settings.size());
      auto times = run_with(setting, command);
      if (!times) return times.take_error();
      if (times.value().ranks != measured.ranks() || times.value().nodes != measured.nodes())
        return Error{ErrorKind::other, "the launcher started another number of processes or nodes this time"};
      measured.add(setting, times.value());
    }
  fmt::print(stderr, "\n");
  return measured;
}

Result<std::vector<std::string>> command_of(const Options& options) {
  const auto folder = program_folder();
  if (!folder) return folder.error();
  std::vector<std::string> words = options.launcher;
  if (words.empty()) {
    const int ranks = options.ranks > 0 ? options.ranks
                                        : std::max(static_cast<int>(std::thread::hardware_concurrency()), 2);
    words = {folder.value() + "/mpiexec", "-n", std::to_string(ranks)};
  } else {
    int error = 0;
    const char* const path = std::getenv("PATH");
    const std::string found = find_program(words[0], path == nullptr ? "" : path, error);
    if (found.empty())
      return Error{ErrorKind::other, fmt::format("{} cannot be started: {}", words[0], std::strerror(error))};
    words[0] = found;
  }
  const auto seconds = parse_duration(options.seconds, {.least = 1});
  if (!seconds) return Error{ErrorKind::other, "--time: " + seconds.error().text};
  words.push_back(folder.value() + "/hawser-tune-times");
  words.push_back(fmt::format("{}", static_cast<double>(seconds.value()) / 1e9));
  for (const auto& [name, text] : {std::pair{"--most", options.most}, {"--room", options.room}}) {
    const auto bytes = parse_bytes(text, {.least = 8, .most = std::int64_t{1} << 30});
    if (!bytes) return Error{ErrorKind::other, fmt::format("{}: {}", name, bytes.error().text)};
    words.push_back(std::to_string(bytes.value()));
  }
  return words;
}

int run(const Options& options) {
  std::string table =
      "# Fastest collective algorithms, written by `hawser tune`. Jobs read this file if\n"
      "# HAWSER_COLLECTIVE_TABLE names it. Each line: operation, from how many bytes on, algorithm.\n";
  if (std::filesystem::exists(options.output)) {
    auto present = read_text(options.output);
    if (!present) return fail(present.error().text);
    table = std::move(present).value();
  }
  auto command = command_of(options);
  if (!command) return fail(command.error().text);
  // Before minutes are spent.
  if (auto checked = with_part(table, options.output, Measured(1, 1)); !checked)
    return fail(checked.error().text);
  auto measured = measure(command.value(), options.rounds);
  if (!measured) return fail(measured.error().text);
  auto text = with_part(table, options.output, measured.value());
  if (!text) return fail(text.error().text);
  if (const auto written = write(options.output, text.value()); !written) return fail(written.error().text);
  fmt::print("{}\n", measured.value().text());
  fmt::print(
      "Where something else than the default is taken, it needs {:.2f} of its time (geometric mean).\n"
      "Jobs use it with  export HAWSER_COLLECTIVE_TABLE={}\n",
      measured.value().gain(), std::filesystem::absolute(options.output).string());
  return 0;
}

int main_of(int argc, char** argv) {
  Options options;
  CLI::App program{
      "Measures collective operations with each algorithm, as a job of this machine or cluster, and writes a "
      "table "
      "of those that are faster than what Hawser chooses by itself",
      "hawser tune"};
  program
      .add_option("-o,--output", options.output,
                  "The table; in one that is there, the part for so many ranks and nodes is replaced")
      ->capture_default_str();
  program.add_option("-n,--np", options.ranks, "Ranks of the job; default: one for each core")
      ->check(CLI::Range(2, 65536));
  program.add_option("--rounds", options.rounds, "How often everything is measured")
      ->capture_default_str()
      ->check(CLI::Range(1, 100));
  program.add_option("--time", options.seconds, "For each operation, algorithm and size, in each round")
      ->capture_default_str();
  program.add_option("--most", options.most, "Largest size, in bytes: of a block, or of a vector")
      ->capture_default_str();
  program.add_option("--room", options.room, "Largest buffer of a process, in bytes")->capture_default_str();
  program.add_option(
      "launcher", options.launcher,
      "Behind --: what starts the job in place of `mpiexec -n N`, such as  -- srun -N 4 -n 64");
  try {
    program.parse(argc, argv);
  } catch (const CLI::CallForHelp&) {
    fmt::print("{}", program.help());
    return 0;
  } catch (const CLI::Error& error) {
    fmt::print(stderr, "{}", option_error(&program, error));
    return exit_usage;
  }
  if (options.ranks > 0 && !options.launcher.empty()) {
    fmt::print(stderr, "hawser tune: --np goes with `mpiexec`; say the number of ranks to '{}'\n",
               options.launcher[0]);
    return exit_usage;
  }
  return run(options);
}

}  // namespace
}  // namespace hawser::tune

int main(int argc, char** argv) {
  return hawser::with_checked_output("hawser tune", [&] { return hawser::tune::main_of(argc, argv); });
}
