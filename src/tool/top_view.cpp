#include "tool/top_view.h"

#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>

#include "channel/rails/status_table.h"

namespace hawser {
namespace {

using Json = nlohmann::ordered_json;

struct Line {
  const SeenProcess* process;
  const SeenPath* path;
  double rate;  // bytes per second
};

std::string_view condition_of(const PathFacts& facts) {
  return facts.state < path_conditions ? path_condition_name(static_cast<PathCondition>(facts.state)) : "?";
}

std::string reason_of(const PathFacts& facts) {
  if (facts.last_reason == 0 || facts.last_reason >= path_reasons) return {};
  std::string text = path_reason_name(static_cast<PathReason>(facts.last_reason));
  std::replace(text.begin(), text.end(), '_', ' ');
  return text;
}

bool in_trouble(const PathFacts& facts) {
  const auto condition = static_cast<PathCondition>(facts.state);
  return condition != PathCondition::ready && condition != PathCondition::closed &&
         condition != PathCondition::connecting;
}

std::string amount(double bytes) {
  if (bytes < 10e3) return fmt::format("{:.0f} B", bytes);
  if (bytes < 10e6) return fmt::format("{:.0f} kB", bytes / 1e3);
  if (bytes < 10e9) return fmt::format("{:.0f} MB", bytes / 1e6);
  return fmt::format("{:.0f} GB", bytes / 1e9);
}

std::string age(Nanoseconds time) {
  if (time < 0) return "-";
  if (time < 10 * second) return fmt::format("{:.1f} s", static_cast<double>(time) / 1e9);
  if (time < 600 * second) return fmt::format("{} s", time / second);
  return time < 36000 * second ? fmt::format("{} min", time / (60 * second))
                               : fmt::format("{} h", time / (3600 * second));
}

const SeenProcess* same_process(std::span<const SeenProcess> among, const SeenProcess& process) {
  for (const SeenProcess& other : among)
    if (other.pid == process.pid && other.identity.started == process.identity.started) return &other;
  return nullptr;
}

std::vector<Line> lines_of(std::span<const SeenProcess> before, std::span<const SeenProcess> now) {
  std::vector<Line> lines;
  for (const SeenProcess& process : now) {
    const SeenProcess* earlier = same_process(before, process);
    for (std::size_t i = 0; i < process.paths.size(); ++i) {
      double rate = 0;
      if (earlier != nullptr && i < earlier->paths.size() && process.looked > earlier->looked)
        rate = static_cast<double>(process.paths[i].bytes_done - earlier->paths[i].bytes_done) /
               static_cast<double>(process.looked - earlier->looked) * static_cast<double>(second);
      lines.push_back({&process, &process.paths[i], rate});
    }
  }
  return lines;
}

std::string path_line(const Line& line) {
  const PathFacts& facts = line.path->facts;
  return fmt::format(
      "{:>5} {:>5} {:>3} {:<14} {:>4} {:<10} {:>9.1f} {:>9.1f} {:>8} {:>5} {:>8}  {}\n",
      line.process->identity.rank, facts.peer, facts.subchannel, facts.port, facts.path, condition_of(facts),
      line.rate / 1e6, static_cast<double>(line.path->bytes_per_second) / 1e6,
      amount(static_cast<double>(line.path->bytes_in_flight)), facts.failures,
      facts.last_change == 0 ? "-" : age(line.process->looked - facts.last_change), reason_of(facts));
}

// The events of all processes, the newest last.
std::vector<std::string> event_lines(std::span<const SeenProcess> now) {
  std::vector<std::pair<Nanoseconds, std::string>> events;
  for (const SeenProcess& process : now)
    for (const EventFacts& event : process.events) {
      const auto row = static_cast<std::size_t>(event.row);
      const PathFacts* path =
          event.row >= 0 && row < process.paths.size() ? &process.paths[row].facts : nullptr;
      events.emplace_back(event.time, event_line(event, process.identity.rank, path) + "\n");
    }
  std::stable_sort(events.begin(), events.end(),
                   [](const auto& a, const auto& b) { return a.first < b.first; });
  std::vector<std::string> lines;
  for (auto& [time, line] : events) lines.push_back(std::move(line));
  return lines;
}

std::string network_of(const StatusIdentity& identity) {
  if (identity.policy[0] != '\0') return fmt::format("policy {}", identity.policy);
  return "no rails (shared memory and sockets have no paths to show)";
}

std::string head_line(std::span<const SeenProcess> now, std::span<const Line> lines) {
  double rate = 0;
  std::size_t trouble = 0;
  for (const Line& line : lines) {
    rate += line.rate;
    trouble += in_trouble(line.path->facts);
  }
  std::uint64_t lost = 0;
  for (const SeenProcess& process : now) lost += process.paths_lost;
  std::string text = fmt::format("{} process{}, {} paths, {} not ready, {:.1f} MB/s", now.size(),
                                 now.size() == 1 ? "" : "es", lines.size(), trouble, rate / 1e6);
  if (lost > 0) text += fmt::format(", {} paths not shown for want of room", lost);
  for (std::size_t i = 0; i < now.size(); ++i)
    if (i == 0 || std::string_view(now[i].identity.job) != now[i - 1].identity.job)
      text += fmt::format("\njob {}: {} rank{}, {}", now[i].identity.job, now[i].identity.size,
                          now[i].identity.size == 1 ? "" : "s", network_of(now[i].identity));
  return text + "\n";
}

}  // namespace

std::string top_text(std::span<const SeenProcess> before, std::span<const SeenProcess> now,
                     std::size_t rows) {
  if (now.empty()) return "no MPI process of this user runs here (or HAWSER_STATUS=off)\n";
  std::vector<Line> lines = lines_of(before, now);
  std::string text = head_line(now, lines);
  if (lines.empty()) return text;
  std::stable_sort(lines.begin(), lines.end(), [](const Line& a, const Line& b) {
    return in_trouble(a.path->facts) && !in_trouble(b.path->facts);
  });
  text +=
      fmt::format("{:>5} {:>5} {:>3} {:<14} {:>4} {:<10} {:>9} {:>9} {:>8} {:>5} {:>8}  {}\n", "rank", "peer",
                  "sub", "port", "path", "state", "MB/s", "weight", "flying", "fails", "since", "reason");
  std::vector<std::string> events = event_lines(now);
  std::size_t room = lines.size();
  if (rows != 0) {
    const std::size_t used = static_cast<std::size_t>(std::count(text.begin(), text.end(), '\n')) + 2;
    const std::size_t left = rows > used ? rows - used : 1;
    const std::size_t most_events = std::max(left / 3, left > lines.size() ? left - lines.size() : 0);
    if (events.size() > most_events)
      events.erase(events.begin(), events.end() - static_cast<std::ptrdiff_t>(most_events));
    room = left > events.size() ? left - events.size() : 1;
  }
  for (std::size_t i = 0; i < std::min(room, lines.size()); ++i) text += path_line(lines[i]);
  if (lines.size() > room) text += fmt::format("... and {} paths more\n", lines.size() - room);
  for (const std::string& event : events) text += event;
  return text;
}

std::string top_json(std::span<const SeenProcess> before, std::span<const SeenProcess> now) {
  const std::vector<Line> lines = lines_of(before, now);
  Json all = Json::array();
  for (const SeenProcess& process : now) {
    Json one = {
        {"pid", process.pid},          {"rank", process.identity.rank},     {"size", process.identity.size},
        {"job", process.identity.job}, {"policy", process.identity.policy}, {"time_ns", process.looked}};
    one["paths"] = Json::array();
    for (const Line& line : lines) {
      if (line.process != &process) continue;
      const PathFacts& facts = line.path->facts;
      one["paths"].push_back({{"peer", facts.peer},
                              {"subchannel", facts.subchannel},
                              {"rail", facts.rail},
                              {"path", facts.path},
                              {"engine", facts.engine},
                              {"port", facts.port},
                              {"state", condition_of(facts)},
                              {"incarnation", facts.incarnation},
                              {"bytes_per_second", line.rate},
                              {"weight", line.path->bytes_per_second},
                              {"bytes_in_flight", line.path->bytes_in_flight},
                              {"bytes", line.path->bytes_done},
                              {"requests", line.path->requests_done},
                              {"failures", facts.failures},
                              {"last_change_ns", facts.last_change},
                              {"last_reason", reason_of(facts)}});
    }
    const auto names = rail_counter_names();
    for (std::size_t i = 0; i < names.size() && i < process.counters.size(); ++i)
      one["counters"][std::string(names[i].name)] = process.counters[i];
    one["events"] = event_lines({&process, 1});
    for (Json& event : one["events"])
      event = event.get<std::string>().substr(0, event.get<std::string>().size() - 1);
    all.push_back(std::move(one));
  }
  return all.dump(2) + "\n";
}

}  // namespace hawser
