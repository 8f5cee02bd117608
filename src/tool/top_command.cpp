#include "tool/top_command.h"

#include <fmt/core.h>
#include <signal.h>
#include <sys/ioctl.h>
#include <time.h>
#include <unistd.h>

#include <CLI/CLI.hpp>
#include <cstring>

#include "base/option_errors.h"
#include "base/time.h"
#include "tool/subcommand.h"
#include "tool/top_view.h"

namespace hawser {
namespace {

struct TopOptions {
  pid_t pid = 0;
  std::string job;
  double interval = 1;  // seconds
  bool once = false;
  bool json = false;
};

std::size_t terminal_rows() {
  winsize size{};
  return ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) == 0 && size.ws_row > 0 ? size.ws_row : 24;
}

// Waits, or says that an interrupt came.
bool interrupted(const sigset_t& signals, double seconds) {
  const auto time = static_cast<Nanoseconds>(seconds * 1e9);
  const timespec pause{time / second, time % second};
  return sigtimedwait(&signals, nullptr, &pause) > 0;
}

std::vector<SeenProcess> look(StatusReader& reader, const TopOptions& options) {
  std::vector<SeenProcess> seen = reader.look(options.pid);
  if (!options.job.empty())
    std::erase_if(seen, [&options](const SeenProcess& p) { return options.job != p.identity.job; });
  return seen;
}

// Says that the process or the job which was asked for is not there, and what is.
int not_there(StatusReader& reader, const TopOptions& options) {
  std::string there;
  for (const SeenProcess& process : reader.look(0)) {
    const std::string name =
        options.job.empty() ? std::to_string(process.pid) : std::string(process.identity.job);
    if ((", " + there + ",").find(", " + name + ",") == std::string::npos)
      there += (there.empty() ? "" : ", ") + name;
  }
  const std::string asked =
      options.job.empty() ? fmt::format("process {}", options.pid) : fmt::format("job '{}'", options.job);
  fmt::print(stderr, "hawser top: no MPI {} of this user runs here{}\n", asked,
             there.empty() ? ", nor any other (or HAWSER_STATUS=off)" : "; there are " + there);
  return 1;
}

int show(const TopOptions& options) {
  // Taken by sigtimedwait, so that the terminal is left in order.
  sigset_t signals;
  sigemptyset(&signals);
  for (const int signal : {SIGINT, SIGTERM, SIGHUP}) sigaddset(&signals, signal);
  sigprocmask(SIG_BLOCK, &signals, nullptr);
  const bool terminal = isatty(STDOUT_FILENO) == 1 && !options.json;
  StatusReader reader;
  std::vector<SeenProcess> before = look(reader, options);
  const bool asked = options.pid != 0 || !options.job.empty();
  if (asked && before.empty()) {
    if (options.json && options.once) fmt::print("[]\n");
    return not_there(reader, options);
  }
  for (bool first = true;; first = false) {
    if (interrupted(signals, first ? std::min(options.interval, 0.5) : options.interval)) return 0;
    std::vector<SeenProcess> now = look(reader, options);
    if (asked && now.empty()) {  // what was there has ended
      if (!options.json) fmt::print("{} has ended\n", options.job.empty() ? "the process" : "the job");
      return options.once ? 1 : 0;
    }
    if (options.once) {
      fmt::print("{}", options.json ? top_json(before, now) : top_text(before, now, 0));
      return now.empty() ? 1 : 0;
    }
    std::string text =
        options.json ? top_json(before, now) : top_text(before, now, terminal ? terminal_rows() : 0);
    if (terminal) {
      for (std::size_t at = 0; (at = text.find('\n', at)) != std::string::npos; at += 4)
        text.insert(at, "\x1b[K");
      text = (first ? "\x1b[2J\x1b[H" : "\x1b[H") + text + "\x1b[J";
    }
    fmt::print("{}", text);
    if (std::fflush(stdout) != 0) return 1;
    before = std::move(now);
  }
}

}  // namespace

int run_top(std::span<const std::string_view> words) {
  TopOptions options;
  CLI::App app(
      "Shows the rails of this user's MPI processes: every path with its state, its rate (MB/s), its\n"
      "weight (MB/s), the bytes in flight, its failures, and since when and why it is as it is. Of jobs\n"
      "without rails it says that there are none.",
      "hawser top");
  app.add_option("--pid", options.pid, "this process only")->check(CLI::PositiveNumber);
  app.add_option("--job", options.job, "this job only");
  app.add_option("--interval", options.interval, "seconds between two views, over which rates are taken")
      ->check(CLI::Range(0.01, 3600.0))
      ->capture_default_str();
  app.add_flag("--once", options.once, "one view, all of it; fails if there is no such process");
  app.add_flag("--json", options.json, "for programs");
  std::vector<std::string> arguments(words.rbegin(), words.rend());  // as CLI11 wants them
  app.failure_message(option_error);
  try {
    app.parse(arguments);
  } catch (const CLI::ParseError& error) {
    return app.exit(error) == 0 ? 0 : exit_usage;
  }
  return show(options);
}

}  // namespace hawser
