#include "tool/top_command.h"

#include <fmt/core.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include <CLI/CLI.hpp>
#include <cstring>

#include "base/option_errors.h"
#include "base/quantity.h"
#include "tool/subcommand.h"
#include "tool/top_keys.h"
#include "tool/top_view.h"

namespace hawser {
namespace {

struct TopOptions {
  pid_t pid = 0;
  std::string job;
  Nanoseconds interval = second;
  bool once = false;
  bool json = false;
  bool paths = false;
};

Result<Nanoseconds> read_interval(const std::string& text) {
  return parse_duration(text, {10 * millisecond, 3600 * second}, second);
}

std::size_t terminal_rows() {
  winsize size{};
  return ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) == 0 && size.ws_row > 0 ? size.ws_row : 24;
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

// What a key makes of the view: a digit opens the group of this number, or closes it again.
void apply(char key, std::span<const SeenProcess> now, TopLayout& layout) {
  if (key == 'a') layout.all_paths = !layout.all_paths;
  if (key < '0' || key > '9') return;
  const std::string cause = key == '0' ? std::string() : top_cause(now, static_cast<std::size_t>(key - '1'));
  layout.open = cause == layout.open ? std::string() : cause;
}

void paint(std::string text, bool first) {
  for (std::size_t at = 0; (at = text.find('\n', at)) != std::string::npos; at += 4)
    text.insert(at, "\x1b[K");
  fmt::print("{}{}\x1b[J", first ? "\x1b[2J\x1b[H" : "\x1b[H", text);
}

int show(const TopOptions& options) {
  const bool terminal = isatty(STDOUT_FILENO) == 1 && !options.json && !options.once;
  const bool keyboard = terminal && isatty(STDIN_FILENO) == 1;
  TopKeys keys(keyboard);
  StatusReader reader;
  std::vector<SeenProcess> before = look(reader, options);
  const bool asked = options.pid != 0 || !options.job.empty();
  if (asked && before.empty()) {
    if (options.json && options.once) fmt::print("[]\n");
    return not_there(reader, options);
  }
  TopLayout layout;
  layout.all_paths = options.paths;
  char key = keys.wait(std::min(options.interval, second / 2));
  for (bool first = true; key != TopKeys::quit; first = false) {
    std::vector<SeenProcess> now = look(reader, options);
    if (asked && now.empty()) {  // what was there has ended
      if (!options.json) fmt::print("{} has ended\n", options.job.empty() ? "the process" : "the job");
      return options.once ? 1 : 0;
    }
    apply(key, now, layout);
    layout.rows = terminal ? terminal_rows() - (keyboard ? 1 : 0) : 0;
    const std::string text = options.json ? top_json(before, now) : top_text(before, now, layout);
    if (!terminal)
      fmt::print("{}", text);
    else
      paint(text + (keyboard ? "keys: 1 to 9 list the paths of a group, 0 none, a all; q ends\n" : ""),
            first);
    if (options.once) return now.empty() ? 1 : 0;
    if (std::fflush(stdout) != 0) return 1;
    before = std::move(now);
    key = keys.wait(options.interval);
  }
  return 0;
}

}  // namespace

int run_top(std::span<const std::string_view> words) {
  TopOptions options;
  CLI::App app(
      "Shows the rails of this user's MPI processes: first what is wrong, one line for each cause (a port, "
      "a\n"
      "host, a network), then what is well. Of small jobs, and when asked, every path: its state, its rate\n"
      "(MB/s), its weight (MB/s), the bytes in flight, its failures, and since when and why it is as it is.\n"
      "On a terminal, keys list the paths of a cause. Of jobs without rails it says that there are none.",
      "hawser top");
  app.add_option("--pid", options.pid, "show this process only")->check(CLI::PositiveNumber);
  app.add_option("--job", options.job, "show this job only");
  std::string interval = "1s";
  app.add_option(
         "--interval", interval,
         "time between two views; rates are averages over it (2, 0.5s, 200ms; seconds without a unit)")
      ->check([](const std::string& text) {
        const auto read = read_interval(text);
        return read ? std::string() : read.error().text;
      })
      ->capture_default_str();
  app.add_flag("--once", options.once, "print one complete view; fails if there is no such process");
  app.add_flag("--paths", options.paths, "list every path and event, for large jobs as well");
  app.add_flag("--json", options.json, "for programs");
  std::vector<std::string> arguments(words.rbegin(), words.rend());  // as CLI11 wants them
  app.failure_message(option_error);
  try {
    app.parse(arguments);
  } catch (const CLI::ParseError& error) {
    return app.exit(error) == 0 ? 0 : exit_usage;
  }
  options.interval = read_interval(interval).value();
  return show(options);
}

}  // namespace hawser
