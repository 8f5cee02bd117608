#include "tool/doctor_command.h"

#include <fmt/core.h>

#include <algorithm>
#include <string>

#include "launch/environment_variables.h"
#include "process/text_knobs.h"
#include "tool/adapter_checks.h"
#include "tool/host_checks.h"
#include "tool/subcommand.h"

namespace hawser {
namespace {

constexpr std::string_view usage =
    "Usage: hawser doctor [--wrong]\n\n"
    "Looks at this host as an MPI process of this user would: settings, limits, shared memory, addresses,\n"
    "adapters and their ports. Says what is wrong and how to mend it. The exit code is 1 if anything is.\n\n"
    "  --wrong   only what is wrong\n";

Knobs check_settings(Findings& findings) {
  auto knobs = parse_knobs(environment_variables());
  Result<> texts;
  if (knobs) texts = check_text_knobs(knobs.value());
  if (knobs && texts) {
    findings.push_back({Finding::Level::right, "settings", "all HAWSER_ variables are understood", ""});
    return std::move(knobs).value();
  }
  findings.push_back({Finding::Level::wrong, "settings", knobs ? texts.error().text : knobs.error().text,
                      "jobs end at their start with this message; `hawser info --knobs` lists the settings"});
  return {};
}

void print(const Finding& finding) {
  static constexpr const char* words[] = {"ok", "note", "WRONG"};
  fmt::print("{:<7}{}: {}\n", words[static_cast<int>(finding.level)], finding.subject, finding.text);
  if (!finding.remedy.empty()) fmt::print("       -> {}\n", finding.remedy);
}

}  // namespace

int run_doctor(std::span<const std::string_view> words) {
  const bool only_wrong = words.size() == 1 && words[0] == "--wrong";
  if (!words.empty() && !only_wrong) {
    const bool asked = words.size() == 1 && (words[0] == "--help" || words[0] == "-h");
    if (!asked) fmt::print(stderr, "hawser doctor: unknown option {}\n\n", words[0]);
    fmt::print(asked ? stdout : stderr, "{}", usage);
    return asked ? 0 : exit_usage;
  }
  Findings findings, adapters;
  const Knobs knobs = check_settings(findings);
  check_limits(check_adapters(knobs, adapters), findings);
  check_shared_memory(findings);
  check_processors(findings);
  check_addresses(findings);
  findings.insert(findings.end(), adapters.begin(), adapters.end());
  const auto wrong = [](const Finding& each) { return each.level == Finding::Level::wrong; };
  for (const Finding& finding : findings)
    if (!only_wrong || wrong(finding)) print(finding);
  const auto count = std::count_if(findings.begin(), findings.end(), wrong);
  if (count == 0 && !only_wrong) fmt::print("nothing is wrong\n");
  return count == 0 ? 0 : 1;
}

}  // namespace hawser
