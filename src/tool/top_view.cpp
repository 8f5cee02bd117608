#include "tool/top_view.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <nlohmann/json.hpp>
#include <numeric>

#include "rails/status/status_table.h"
#include "tool/top_groups.h"

namespace hawser {
namespace {

using Json = nlohmann::ordered_json;

std::string_view condition_of(const PathStatus& facts) {
  return facts.state < path_conditions ? path_condition_name(static_cast<PathCondition>(facts.state)) : "?";
}

std::string reason_name(PathReason reason) {
  std::string text = path_reason_name(reason);
  std::replace(text.begin(), text.end(), '_', ' ');
  return text;
}

std::string reason_of(const PathStatus& facts) {
  if (facts.last_reason == 0 || facts.last_reason >= path_reasons) return {};
  return reason_name(static_cast<PathReason>(facts.last_reason));
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
    if (other.pid == process.pid && other.identity.rank == process.identity.rank &&
        other.identity.started == process.identity.started)
      return &other;
  return nullptr;
}

std::vector<PathLine> lines_of(std::span<const SeenProcess> before, std::span<const SeenProcess> now) {
  std::vector<PathLine> lines;
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

std::string path_line(const PathLine& line) {
  const PathStatus& facts = line.path->facts;
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
    for (const EventRecord& event : process.events) {
      const auto row = static_cast<std::size_t>(event.row);
      const PathStatus* path =
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

std::string head_line(std::span<const SeenProcess> now, std::span<const PathLine> lines) {
  double rate = 0;
  std::size_t trouble = 0;
  for (const PathLine& line : lines) {
    rate += line.rate;
    trouble += in_trouble(line.path->facts);
  }
  std::uint64_t lost = 0;
  for (const SeenProcess& process : now) lost += process.paths_lost;
  std::string text = fmt::format("{} process{}, {} paths, {} not ready, {:.1f} MB/s", now.size(),
                                 now.size() == 1 ? "" : "es", lines.size(), trouble, rate / 1e6);
  if (lost > 0) text += fmt::format(", {} paths not recorded because the table is full", lost);
  for (std::size_t i = 0; i < now.size(); ++i)
    if (i == 0 || std::string_view(now[i].identity.job) != now[i - 1].identity.job)
      text += fmt::format("\njob {}: {} rank{}, {}", now[i].identity.job, now[i].identity.size,
                          now[i].identity.size == 1 ? "" : "s", network_of(now[i].identity));
  return text + "\n";
}

// What most of them say, the more telling reasons first.
std::string common_reason(std::span<const PathLine> lines) {
  std::array<std::size_t, path_reasons> counts{};
  for (const PathLine& line : lines)
    if (line.path->facts.last_reason < path_reasons) ++counts[line.path->facts.last_reason];
  for (const PathReason own : {PathReason::device_fatal, PathReason::port_down})
    if (5 * counts[static_cast<std::size_t>(own)] > lines.size()) return reason_name(own);
  const auto most = std::max_element(counts.begin(), counts.end()) - counts.begin();
  return reason_name(static_cast<PathReason>(most));
}

// "[1] port hw0/1 of host n3: 46 of its 46 paths not ready (43 failed, 3 probing), port down, for 12 s, 46
// failures"
std::string group_line(const TroubleGroup& group, std::size_t number) {
  std::array<std::size_t, path_conditions> states{};
  std::uint64_t failures = 0;
  Nanoseconds longest = 0;
  for (const PathLine& line : group.lines) {
    const PathStatus& facts = line.path->facts;
    if (facts.state < path_conditions) ++states[facts.state];
    failures += facts.failures;
    if (facts.last_change != 0) longest = std::max(longest, line.process->looked - facts.last_change);
  }
  std::string parts;
  for (std::size_t i = 0; i < states.size(); ++i)
    if (states[i] > 0)
      parts += fmt::format("{}{} {}", parts.empty() ? "" : ", ", states[i],
                           path_condition_name(static_cast<PathCondition>(i)));
  const std::string of = group.paths == 0 ? "" : fmt::format(" of its {}", group.paths);
  return fmt::format("[{}] {}: {}{} paths not ready ({}), {}, for {}, {} failures\n", number, group.cause,
                     group.lines.size(), of, parts, common_reason(group.lines), age(longest), failures);
}

// All that is well, in one line.
std::string ready_line(std::span<const PathLine> lines) {
  std::size_t ready = 0, other = 0;
  double rate = 0;
  std::int64_t least = 0, most = 0;
  for (const PathLine& line : lines) {
    if (in_trouble(line.path->facts)) continue;
    if (static_cast<PathCondition>(line.path->facts.state) != PathCondition::ready) {
      ++other;
      continue;
    }
    const std::int64_t weight = line.path->bytes_per_second;
    least = ready == 0 ? weight : std::min(least, weight);
    most = std::max(most, weight);
    rate += line.rate;
    ++ready;
  }
  std::string text =
      fmt::format("ready: {} paths, {:.1f} MB/s, weights {:.1f} to {:.1f} MB/s", ready, rate / 1e6,
                  static_cast<double>(least) / 1e6, static_cast<double>(most) / 1e6);
  if (other > 0) text += fmt::format("; not connected: {} paths", other);
  return text + "\n";
}

// Queue pairs that there are, who had them closed, and what memory that takes; of all processes.
std::string connections_line(std::span<const SeenProcess> processes) {
  const auto names = rail_counter_names();
  const auto values = [&](std::string_view name) {
    std::vector<std::uint64_t> found;
    for (const SeenProcess& process : processes)
      for (std::size_t i = 0; i < names.size() && i < process.counters.size(); ++i)
        if (names[i].name == name) found.push_back(process.counters[i]);
    return found;
  };
  const auto sum = [&](std::string_view name) {
    const std::vector<std::uint64_t> of_each = values(name);
    return std::accumulate(of_each.begin(), of_each.end(), std::uint64_t{0});
  };
  if (sum("connections_made") == 0) return "";
  const std::uint64_t most = std::ranges::max(values("queue_pairs_most"));
  return fmt::format(
      "connections: {} (a process had {} at most); {} made, {} closed: asked {} times, {} for others, {} "
      "refused; {} beyond the cap; {:.1f} MB of packets, {:.1f} MB for peers\n",
      sum("queue_pairs"), most, sum("connections_made"), sum("connections_closed"), sum("closings_asked"),
      sum("closings_agreed"), sum("closings_refused"), sum("connections_beyond_cap"),
      static_cast<double>(sum("packet_bytes")) / 1e6, static_cast<double>(sum("peer_bytes")) / 1e6);
}

std::string path_lines(std::span<const PathLine> lines, std::size_t room) {
  std::string text =
      fmt::format("{:>5} {:>5} {:>3} {:<14} {:>4} {:<10} {:>9} {:>9} {:>8} {:>5} {:>8}  {}\n", "rank", "peer",
                  "sub", "port", "path", "state", "MB/s", "weight", "flying", "fails", "since", "reason");
  for (std::size_t i = 0; i < std::min(room, lines.size()); ++i) text += path_line(lines[i]);
  if (lines.size() > room) text += fmt::format("... and {} more paths\n", lines.size() - room);
  return text;
}

std::size_t count_lines(const std::string& text) {
  return static_cast<std::size_t>(std::count(text.begin(), text.end(), '\n'));
}

constexpr std::size_t few_paths = 24;    // are always listed
constexpr std::size_t groups_shown = 9;  // have a key
constexpr std::size_t few_events = 10;   // the latest

}  // namespace

std::string top_text(std::span<const SeenProcess> before, std::span<const SeenProcess> now,
                     const TopLayout& layout) {
  if (now.empty()) return "no MPI process of this user runs here (or HAWSER_STATUS=off)\n";
  std::vector<PathLine> lines = lines_of(before, now);
  std::string text = head_line(now, lines);
  if (lines.empty()) return text;
  const std::vector<TroubleGroup> groups = group_trouble(lines);
  const std::size_t shown = layout.rows == 0 ? groups.size() : std::min(groups.size(), groups_shown);
  const TroubleGroup* open = nullptr;
  for (std::size_t i = 0; i < shown; ++i) {
    text += group_line(groups[i], i + 1);
    if (groups[i].cause == layout.open) open = &groups[i];
  }
  if (shown < groups.size()) text += fmt::format("... and {} more groups\n", groups.size() - shown);
  text += ready_line(lines);
  text += connections_line(now);

  std::stable_sort(lines.begin(), lines.end(), [](const PathLine& a, const PathLine& b) {
    return in_trouble(a.path->facts) && !in_trouble(b.path->facts);
  });
  std::span<const PathLine> listed;
  if (open != nullptr)
    listed = open->lines;
  else if (layout.all_paths || lines.size() <= few_paths)
    listed = lines;
  std::vector<std::string> events = event_lines(now);
  std::size_t room = listed.size(), most_events = layout.all_paths ? events.size() : few_events;
  if (layout.rows != 0) {
    // The lines that path_lines adds to those of paths, and the last one.
    const std::size_t used = count_lines(text) + (listed.empty() ? 0 : 2) + 1;
    const std::size_t left = layout.rows > used ? layout.rows - used : 1;
    most_events = std::max(left / 3, left > listed.size() ? left - listed.size() : 0);
    room = left - std::min({left - 1, most_events, events.size()});
  }
  if (!listed.empty()) text += path_lines(listed, room);
  for (std::size_t i = events.size() - std::min(events.size(), most_events); i < events.size(); ++i)
    text += events[i];
  return text;
}

std::string top_cause(std::span<const SeenProcess> now, std::size_t number) {
  const std::vector<PathLine> lines = lines_of({}, now);
  const std::vector<TroubleGroup> groups = group_trouble(lines);
  return number < std::min(groups.size(), groups_shown) ? groups[number].cause : std::string();
}

std::string top_json(std::span<const SeenProcess> before, std::span<const SeenProcess> now) {
  const std::vector<PathLine> lines = lines_of(before, now);
  Json all = Json::array();
  for (const SeenProcess& process : now) {
    Json one = {
        {"pid", process.pid},          {"rank", process.identity.rank}, {"size", process.identity.size},
        {"job", process.identity.job}, {"host", process.identity.host}, {"policy", process.identity.policy},
        {"time_ns", process.looked}};
    one["paths"] = Json::array();
    for (const PathLine& line : lines) {
      if (line.process != &process) continue;
      const PathStatus& facts = line.path->facts;
      one["paths"].push_back({{"peer", facts.peer},
                              {"subchannel", facts.subchannel},
                              {"rail", facts.rail},
                              {"path", facts.path},
                              {"engine", facts.engine},
                              {"port", facts.port},
                              {"state", condition_of(facts)},
                              {"generation", facts.connection_generation},
                              {"bytes_per_second", line.rate},
                              {"weight", line.path->bytes_per_second},
                              {"round_trip_ns", line.path->round_trip},
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
