#include "testbed/campaign/program_campaign.h"

#include <fmt/format.h>
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <cstring>
#include <deque>
#include <nlohmann/json.hpp>

#include "base/failure.h"
#include "os/child_process.h"
#include "os/file_descriptor.h"

namespace hawser {
namespace {

Result<std::string> contents(int file) {
  const off_t size = lseek(file, 0, SEEK_END);
  std::string text(static_cast<std::size_t>(std::max<off_t>(size, 0)), 0);
  for (std::size_t done = 0; done < text.size();) {
    const ssize_t got = pread(file, text.data() + done, text.size() - done, static_cast<off_t>(done));
    if (got <= 0) return failure(ErrorKind::io, "cannot read what a run wrote: {}", std::strerror(errno));
    done += static_cast<std::size_t>(got);
  }
  return text;
}

std::vector<std::string> sorted_lines(const std::string& text) {
  std::vector<std::string> lines;
  for (std::size_t begin = 0; begin < text.size();) {
    const std::size_t end = std::min(text.find('\n', begin), text.size());
    lines.push_back(text.substr(begin, end - begin));
    begin = end + 1;
  }
  std::ranges::sort(lines);
  return lines;
}

// One run of the program in `hawser sim exec`.
class Run {
 public:
  static Result<Run> start(const ProgramCampaignOptions& options, std::vector<std::string> more,
                           std::uint64_t seed) {
    auto folder = program_folder();
    if (!folder) return folder.take_error();
    FileDescriptor output(memfd_create("output", MFD_CLOEXEC)), json(memfd_create("result", MFD_CLOEXEC));
    if (!output.valid() || !json.valid())
      return failure(ErrorKind::other, "memfd_create: {}", std::strerror(errno));
    std::vector<std::string> words{folder.value() + "/hawser-exec",
                                   "-n",
                                   std::to_string(options.ranks),
                                   "--seed",
                                   std::to_string(seed),
                                   "--compute-scale",
                                   "0",
                                   "--fabric",
                                   "two-switch",
                                   "--quiet",
                                   "--json",
                                   fmt::format("/proc/self/fd/{}", json.get())};
    words.insert(words.end(), more.begin(), more.end());
    words.insert(words.end(), options.command.begin(), options.command.end());
    const int inherited[] = {json.get()};
    auto child = ChildProcess::start(
        {.words = std::move(words), .output = output.get(), .inherited = inherited, .dependent = true});
    if (!child) return child.take_error();
    return Run(seed, std::move(child).value(), std::move(output), std::move(json));
  }

  std::uint64_t seed() const { return seed_; }
  int await() { return child_.await().exit_code(); }
  Result<std::string> output() const { return contents(output_.get()); }
  // What is told of the run; an error if nothing is.
  Result<nlohmann::json> result() const {
    auto text = contents(json_.get());
    if (!text) return text.take_error();
    auto told = nlohmann::json::parse(text.value(), nullptr, false);
    if (told.is_discarded()) return failure(ErrorKind::other, "the simulator ended without a result");
    return told;
  }

 private:
  Run(std::uint64_t seed, ChildProcess child, FileDescriptor output, FileDescriptor json)
      : seed_(seed), child_(std::move(child)), output_(std::move(output)), json_(std::move(json)) {}

  std::uint64_t seed_;
  ChildProcess child_;
  FileDescriptor output_, json_;
};

struct Expected {
  std::vector<std::string> lines;
  std::uint64_t packets = 1;
};

Result<Expected> run_without_faults(const ProgramCampaignOptions& options) {
  auto run = Run::start(options, {}, options.first);
  if (!run) return run.take_error();
  if (const int code = run.value().await(); code != 0)
    return failure(ErrorKind::other, "{} ends with code {} without faults", options.command.front(), code);
  auto output = run.value().output();
  if (!output) return output.take_error();
  auto told = run.value().result();
  if (!told) return told.take_error();
  return Expected{sorted_lines(output.value()),
                  std::max<std::uint64_t>(1, told.value()["rails"]["packets_sent"].get<std::uint64_t>())};
}

// What is wrong with a run that has ended; empty: nothing.
std::string judge(Run& run, const Expected& expected, bool compare_output) {
  const int code = run.await();
  if (code != 0) {
    const auto told = run.result();
    const std::string report = told ? told.value().value("report", "") : told.error().text;
    return fmt::format("exit code {}: {}", code, report.substr(0, report.find('\n')));
  }
  const auto output = run.output();
  if (!output) return output.error().text;
  if (!compare_output) return {};
  const std::vector<std::string> lines = sorted_lines(output.value());
  const auto [here, there] = std::ranges::mismatch(lines, expected.lines);
  if (here == lines.end() && there == expected.lines.end()) return {};
  return fmt::format("prints '{}', not '{}'", here == lines.end() ? "" : *here,
                     there == expected.lines.end() ? "" : *there);
}

}  // namespace

Result<ProgramCampaignResult> run_program_campaign(
    const ProgramCampaignOptions& options,
    const std::function<void(std::uint64_t seed, const std::string& reason)>& on_failure) {
  const auto begin = std::chrono::steady_clock::now();
  auto expected = run_without_faults(options);
  if (!expected) return expected.take_error();
  const std::vector<std::string> more{"--draw-faults", std::to_string(expected.value().packets)};
  ProgramCampaignResult result;
  std::deque<Run> runs;
  const auto end_oldest = [&] {
    const std::string complaint = judge(runs.front(), expected.value(), options.compare_output);
    ++result.seeds;
    if (!complaint.empty()) {
      ++result.failed;
      on_failure(runs.front().seed(), complaint);
    }
    runs.pop_front();
  };
  for (std::uint64_t seed = options.first; seed <= options.last; ++seed) {
    if (options.stop_at_failure && result.failed > 0) break;
    auto run = Run::start(options, more, seed);
    if (!run) return run.take_error();
    runs.push_back(std::move(run).value());
    if (runs.size() >= static_cast<std::size_t>(options.jobs)) end_oldest();
  }
  while (!runs.empty()) end_oldest();
  result.seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
  return result;
}

}  // namespace hawser
