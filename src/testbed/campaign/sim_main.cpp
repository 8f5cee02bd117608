// hawser-sim: what `hawser sim` runs. Seeds of the campaign of faults: many in parallel, or one with its
// trace.
#include <fmt/core.h>
#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <string>

#include "base/checked_output.h"
#include "base/option_errors.h"
#include "base/planted_bug.h"
#include "base/quantity.h"
#include "testbed/campaign/campaign.h"
#include "testbed/campaign/program_campaign.h"

namespace hawser {
namespace {

constexpr int exit_failed = 1;
constexpr int exit_usage = 2;

std::string option_name(const PlantedBugInfo& bug) {
  std::string name(bug.name);
  std::ranges::replace(name, '_', '-');
  return name;
}

std::string check_bug(const std::string& name) {
  const auto bugs = planted_bugs();
  const auto bug = std::ranges::find(bugs, name, option_name);
  if (bug == bugs.end()) {
    std::string names;
    for (const PlantedBugInfo& each : bugs) names += fmt::format("\n  {}: {}", option_name(each), each.what);
    return fmt::format("'{}' is not a bug that can be planted:{}", name, names);
  }
  if (!plant(bug->bug))
    return "this program was built without bugs; hawser-sim-mutants, which is built for the tests, has them";
  return {};
}

bool parse_number(std::string_view text, std::uint64_t& number) {
  const auto parsed = parse_count(text);
  if (parsed) number = parsed.value();
  return static_cast<bool>(parsed);
}

bool parse_range(std::string_view text, std::uint64_t& first, std::uint64_t& last) {
  const std::size_t dots = text.find("..");
  if (dots == std::string_view::npos) return parse_number(text, first) && parse_number(text, last);
  return parse_number(text.substr(0, dots), first) && parse_number(text.substr(dots + 2), last) &&
         first <= last;
}

std::string check_range(const std::string& text) {
  std::uint64_t first = 0, last = 0;
  if (parse_range(text, first, last)) return {};
  return fmt::format("'{}' is not a range of seeds: write 1..1000, or one seed", text);
}

void add_common(CLI::App& command, SeedOptions& options, std::string& planted, bool& no_faults) {
  command.add_flag(
      "--calm", options.wishes.calm,
      "Slow and crowded networks on which nothing fails: nothing may be taken for a failure twice");
  command
      .add_flag("--black-holes", options.wishes.black_holes,
                "With --calm: links go silent; where requests were quick, that must be found within 0.1 s")
      ->needs("--calm");
  command
      .add_flag("--kills", options.wishes.kills,
                "Ranks are killed, and the others go on; by default in one of sixteen seeds")
      ->excludes("--calm");
  command.add_option("--ranks", options.wishes.ranks, "Ranks of every job; by default the seed decides")
      ->check(CLI::Range(2, 1024));
  command.add_option("--planted", planted, "Of the program for tests: the protocol has this bug")
      ->check(check_bug);
  command.add_flag("--no-faults", no_faults, "Let nothing fail");
}

int run_one(const SeedOptions& options, std::uint64_t seed) {
  const SeedVerdict verdict = run_seed(seed, options);
  const Scenario scenario = draw_scenario(seed, options.wishes);
  fmt::print("{}{}\n", scenario.describe(), summary(scenario.simulation, verdict.outcome));
  const RailCounters& rails = verdict.outcome.rails;
  fmt::print("{} incidents, {} failures of subchannels, {} packets and {} stripes reissued, {} recoveries\n",
             verdict.outcome.incidents, rails.failures, rails.packets_reissued, rails.stripes_reissued,
             rails.recoveries);
  if (verdict.good()) return 0;
  fmt::print("FAILED: {}\n", verdict.complaint);
  return exit_failed;
}

int run_many(const CampaignOptions& options) {
  const CampaignResult result = run_campaign(options, [](std::uint64_t seed, const std::string& reason) {
    fmt::print("seed {} fails: {}\n", seed, reason);
    std::fflush(stdout);
  });
  fmt::print("{} seeds in {:.1f} s ({:.0f} per minute, {} jobs), {} run twice: {} failed\n", result.seeds,
             result.seconds, static_cast<double>(result.seeds) / std::max(result.seconds, 1e-9) * 60,
             options.jobs, result.repeated, result.failed);
  std::string reached;
  for (const auto& [name, number] : result.reached) reached += fmt::format(" {} {}", number, name);
  fmt::print("reached:{}\n", reached);
  fmt::print("longest time from the last fault to the end: {:.3f} s of virtual time (seed {})\n",
             static_cast<double>(result.longest_after_incidents) / 1e9, result.longest_seed);
  return result.failed == 0 ? 0 : exit_failed;
}

int run_many_of(const ProgramCampaignOptions& options) {
  const auto result = run_program_campaign(options, [](std::uint64_t seed, const std::string& reason) {
    fmt::print("seed {} fails: {}\n", seed, reason);
    std::fflush(stdout);
  });
  if (!result) {
    fmt::print(stderr, "hawser sim: {}\n", result.error().text);
    return exit_usage;
  }
  fmt::print("{} seeds in {:.1f} s ({} jobs): {} failed\n", result.value().seeds, result.value().seconds,
             options.jobs, result.value().failed);
  return result.value().failed == 0 ? 0 : exit_failed;
}

int main_of(int argc, char** argv) {
  CLI::App app{"The simulator: random MPI programs over a virtual fabric that fails, in virtual time"};
  app.name("hawser sim");
  app.require_subcommand(1);
  std::string planted, range;
  bool no_faults = false;
  std::uint64_t seed = 0;
  CampaignOptions options;

  CLI::App& run = *app.add_subcommand("run", "Run one seed");
  run.add_option("--seed", seed, "The seed")->required();
  run.add_option("--trace", options.seed.trace_file, "Write what happens, a line each, to this file");
  add_common(run, options.seed, planted, no_faults);

  CLI::App& campaign = *app.add_subcommand("campaign", "Run many seeds, and say which fail");
  campaign.add_option("--seeds", range, "A..B, both included")->required()->check(check_range);
  campaign.add_option("--jobs", options.jobs, "Worker processes")->check(CLI::Range(1, 256));
  campaign
      .add_option("--twice-every", options.twice_every,
                  "Run every so many seeds again and compare the traces; 0: none")
      ->capture_default_str();
  campaign
      .add_option("--seconds-per-seed", options.seconds_per_seed,
                  "Of processor time, before a seed counts as failed")
      ->check(CLI::Range(1, 86400))
      ->capture_default_str();
  campaign.add_flag("--stop", options.stop_at_failure, "Stop at the first seed that fails");
  add_common(campaign, options.seed, planted, no_faults);
  ProgramCampaignOptions program;
  program.command.resize(1);
  CLI::Option& has_program = *campaign.add_option(
      "--program", program.command.front(),
      "Run this MPI program, unmodified, in place of drawn ones; its arguments stand behind --");
  campaign.add_option("-n,--np", program.ranks, "With --program: its ranks")
      ->check(CLI::Range(1, 127))
      ->needs("--program");
  campaign
      .add_flag("!--any-output", program.compare_output, "With --program: judge it by its exit code alone")
      ->needs("--program");
  std::vector<std::string> arguments;
  campaign.add_option("ARGUMENTS", arguments, "Of the program")->needs("--program");

  app.failure_message(option_error);
  try {
    app.parse(argc, argv);
  } catch (const CLI::ParseError& error) {
    const int code = app.exit(error);
    return code == 0 ? 0 : exit_usage;
  }
  for (const PlantedBugInfo& each : planted_bugs())
    if (option_name(each) == planted) options.seed.planted = each.bug;
  options.seed.wishes.faults = !no_faults;
  if (run.parsed()) return run_one(options.seed, seed);
  parse_range(range, options.first, options.last);
  if (has_program.count() > 0) {
    program.command.insert(program.command.end(), arguments.begin(), arguments.end());
    program.first = options.first;
    program.last = options.last;
    program.jobs = options.jobs;
    program.stop_at_failure = options.stop_at_failure;
    return run_many_of(program);
  }
  return run_many(options);
}

}  // namespace
}  // namespace hawser

int main(int argc, char** argv) {
  return hawser::with_checked_output("hawser sim", [&] { return hawser::main_of(argc, argv); });
}
