#include "tool/fabric_watch.h"

#include <fmt/core.h>
#include <signal.h>
#include <sys/ioctl.h>
#include <time.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <memory>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "base/quantity.h"
#include "tool/fabric_client.h"
#include "tool/fabric_record.h"
#include "tool/subcommand.h"

namespace hawser {
namespace {

using Json = nlohmann::json;

constexpr const char* usage =
    "Usage: hawser fabric watch [--name F] [--interval 1s] [--count N | --once] [--all | --record FILE]\n\n"
    "  --name      the fabric\n"
    "  --interval  time between two views, over which rates are taken\n"
    "  --count     how many views; without it, until interrupted or the fabric is taken down\n"
    "  --once      --count 1\n"
    "  --all       idle links, too\n"
    "  --record    write every link's bytes and the faults to a file instead, one JSON object a line\n";

struct WatchOptions {
  std::string name = "fabric", record, error;
  Nanoseconds interval = second;
  std::uint64_t count = 0;  // 0: no end
  bool all = false, help = false;
};

WatchOptions parse(std::span<const std::string_view> words) {
  WatchOptions options;
  for (std::size_t i = 0; i < words.size(); ++i) {
    const std::string word(words[i]);
    if (word == "--once" || word == "--all" || word == "--help" || word == "-h") {
      if (word == "--once") options.count = 1;
      options.all = options.all || word == "--all";
      options.help = options.help || word == "--help" || word == "-h";
      continue;
    }
    if (word != "--name" && word != "--interval" && word != "--count" && word != "--record") {
      options.error = fmt::format("unknown option {} of watch", word);
      return options;
    }
    if (++i == words.size()) {
      options.error = fmt::format("{} needs a value", word);
      return options;
    }
    if (word == "--name") options.name = words[i];
    if (word == "--record") options.record = words[i];
    if (word == "--interval") {
      auto interval = parse_duration(words[i], {millisecond, 1000 * second});
      if (interval)
        options.interval = interval.value();
      else
        options.error = fmt::format("--interval {}: {}", words[i], interval.error().text);
    }
    if (word == "--count") {
      auto count = parse_count(words[i], {.least = 1});
      if (count)
        options.count = count.value();
      else
        options.error = fmt::format("--count {}: {}", words[i], count.error().text);
    }
  }
  return options;
}

// One link between two looks at it.
struct LinkView {
  std::string name;
  bool up = true;
  double rate = 0;                        // bytes per second; 0: unlimited
  double out = 0, in = 0;                 // bytes per second
  std::uint64_t dropped = 0, marked = 0;  // in the interval
  std::uint64_t dropped_ever = 0;
  bool idle() const { return up && out == 0 && in == 0 && dropped == 0; }
};

std::uint64_t number(const Json& link, const char* direction, const char* what) {
  return link.at(direction).at(what).get<std::uint64_t>();
}

// Both looks list the same cables in the same order: a fabric's topology does not change.
std::vector<LinkView> compare(const Json& before, const Json& after) {
  const double seconds =
      std::max(1e-9, after.at("seconds").get<double>() - before.at("seconds").get<double>());
  std::vector<LinkView> views;
  for (std::size_t i = 0; i < after.at("links").size(); ++i) {
    const Json &link = after.at("links").at(i), &past = before.at("links").at(i);
    const auto grown = [&](const char* direction, const char* what) {
      return number(link, direction, what) - number(past, direction, what);
    };
    LinkView view;
    view.name = link.at("a").get<std::string>() + " - " + link.at("b").get<std::string>();
    view.up = link.at("up").get<bool>();
    view.rate = link.at("rate").get<double>();
    view.out = static_cast<double>(grown("out", "bytes")) / seconds;
    view.in = static_cast<double>(grown("in", "bytes")) / seconds;
    view.dropped = grown("out", "dropped") + grown("in", "dropped");
    view.marked = grown("out", "marked") + grown("in", "marked");
    view.dropped_ever = number(link, "out", "dropped") + number(link, "in", "dropped");
    views.push_back(std::move(view));
  }
  return views;
}

std::string header(const Json& before, const Json& after, const std::vector<LinkView>& links) {
  const Json &lag = after.at("lag"), &past = before.at("lag");
  const auto turns = lag.at("turns").get<std::int64_t>() - past.at("turns").get<std::int64_t>();
  const auto sum = lag.at("sum").get<std::int64_t>() - past.at("sum").get<std::int64_t>();
  const auto down = std::count_if(links.begin(), links.end(), [](const LinkView& link) { return !link.up; });
  std::string text = fmt::format(
      "fabric {} at {:.3f} s: {} links, {} down; {} clients; lag {} (worst ever {}); faults to come: {}\n",
      after.at("name").get<std::string>(), after.at("seconds").get<double>(), links.size(), down,
      after.at("clients").size(), format_duration(turns == 0 ? 0 : sum / turns),
      format_duration(lag.at("worst").get<Nanoseconds>()), after.at("pending_faults").get<std::uint64_t>());
  return text;
}

std::string share(const LinkView& link) {
  return link.rate == 0 ? std::string("-")
                        : fmt::format("{:.0f}%", 100 * std::max(link.out, link.in) / link.rate);
}

std::string link_line(const LinkView& link) {
  return fmt::format("{:<28} {:<4} {:>10.1f} {:>10.1f} {:>5} {:>9} {:>9} {:>8}\n", link.name,
                     link.up ? "up" : "DOWN", link.out / 1e6, link.in / 1e6, share(link), link.dropped,
                     link.dropped_ever, link.marked);
}

// The busiest first; those that are down before all.
std::string view(const Json& before, const Json& after, bool all, std::size_t rows) {
  std::vector<LinkView> links = compare(before, after);
  std::string text = header(before, after, links);
  std::vector<std::string> tail;
  for (const Json& client : after.at("clients"))
    tail.push_back("client: " + client.get<std::string>() + "\n");
  for (const Json& line : after.at("log"))
    tail.push_back(
        fmt::format("{:.6f} {}\n", line.at("seconds").get<double>(), line.at("text").get<std::string>()));
  if (!all) std::erase_if(links, [](const LinkView& link) { return link.idle(); });
  std::stable_sort(links.begin(), links.end(), [](const LinkView& a, const LinkView& b) {
    return a.up != b.up ? !a.up : a.out + a.in > b.out + b.in;
  });
  text += fmt::format("{:<28} {:<4} {:>10} {:>10} {:>5} {:>9} {:>9} {:>8}\n", "link", "", "out MB/s",
                      "in MB/s", "load", "drops", "ever", "marks");
  // A terminal's height is shared: clients and faults keep at most a third of it.
  if (rows != 0 && tail.size() > rows / 3)
    tail.erase(tail.begin(), tail.end() - static_cast<std::ptrdiff_t>(rows / 3));
  const std::size_t used = 4 + tail.size();
  const std::size_t room = rows == 0 ? links.size() : rows > used ? rows - used : 1;
  for (std::size_t i = 0; i < std::min(room, links.size()); ++i) text += link_line(links[i]);
  if (links.size() > room) text += fmt::format("... and {} more links\n", links.size() - room);
  if (links.empty()) text += "no link carries anything\n";
  for (const std::string& line : tail) text += line;
  return text;
}

std::size_t terminal_rows() {
  winsize size{};
  return ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) == 0 && size.ws_row > 0 ? size.ws_row : 24;
}

// Waits, or says that an interrupt came.
bool interrupted(const sigset_t& signals, Nanoseconds duration) {
  const timespec pause{duration / second, duration % second};
  return sigtimedwait(&signals, nullptr, &pause) > 0;
}

// With so many of the latest lines of the fabric's log.
Result<Json> look(const std::string& fabric, unsigned log_lines) {
  auto answer = command_fabric(fabric, fmt::format("links {}", log_lines));
  if (!answer) return answer.take_error();
  return Json::parse(answer.value());
}

int fail(const std::string& why) {
  fmt::print(stderr, "hawser fabric: {}\n", why);
  return 1;
}

// Every look is complete in the file at once, so that what was recorded stays, however this ends.
int record(const WatchOptions& options, const sigset_t& signals) {
  constexpr unsigned log_lines = 1000;  // a schedule's worth between two looks
  const std::unique_ptr<std::FILE, int (*)(std::FILE*)> file(std::fopen(options.record.c_str(), "we"),
                                                             std::fclose);
  if (file == nullptr) return fail(fmt::format("{}: {}", options.record, std::strerror(errno)));
  FabricRecord record;
  bool last = false;  // once interrupted, what has been since the look before
  for (std::uint64_t looks = 0;; ++looks) {
    auto seen = look(options.name, log_lines);
    if (!seen && looks == 0) return fail(seen.error().text);
    if (!seen) return 0;  // taken down
    const std::string lines = record.add(seen.value());
    if (std::fwrite(lines.data(), 1, lines.size(), file.get()) != lines.size() ||
        std::fflush(file.get()) != 0)
      return fail(fmt::format("{}: {}", options.record, std::strerror(errno)));
    if (last || (options.count != 0 && looks == options.count)) return 0;
    last = interrupted(signals, options.interval);
  }
}

}  // namespace

int watch_fabric(std::span<const std::string_view> words) {
  const WatchOptions options = parse(words);
  if (options.help) return fmt::print("{}", usage), 0;
  if (!options.error.empty()) {
    fmt::print(stderr, "hawser fabric: {}\n\n{}", options.error, usage);
    return exit_usage;
  }
  // Taken by sigtimedwait, so that the terminal is left in order.
  sigset_t signals;
  sigemptyset(&signals);
  for (const int signal : {SIGINT, SIGTERM, SIGHUP}) sigaddset(&signals, signal);
  sigprocmask(SIG_BLOCK, &signals, nullptr);
  if (!options.record.empty()) return record(options, signals);
  constexpr unsigned log_lines = 5;
  const bool terminal = isatty(STDOUT_FILENO) == 1;
  auto before = look(options.name, log_lines);
  if (!before) return fail(before.error().text);
  for (std::uint64_t views = 0; options.count == 0 || views < options.count; ++views) {
    if (interrupted(signals, options.interval)) break;
    auto after = look(options.name, log_lines);
    if (!after) {
      fmt::print("fabric {} has ended\n", options.name);
      break;
    }
    // Home, then each line over the old one, then what is left below goes: no flicker.
    std::string text = view(before.value(), after.value(), options.all, terminal ? terminal_rows() : 0);
    if (terminal) {
      for (std::size_t at = 0; (at = text.find('\n', at)) != std::string::npos; at += 4)
        text.insert(at, "\x1b[K");
      text = (views == 0 ? "\x1b[2J\x1b[H" : "\x1b[H") + text + "\x1b[J";
    }
    fmt::print("{}", text);
    if (std::fflush(stdout) != 0) return 1;
    before = std::move(after);
  }
  return 0;
}

}  // namespace hawser
