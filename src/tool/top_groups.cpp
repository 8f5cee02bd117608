#include "tool/top_groups.h"

#include <fmt/core.h>

#include <algorithm>
#include <array>
#include <compare>
#include <map>
#include <tuple>
#include <utility>

#include "base/assert.h"
#include "rails/status/status_table.h"

namespace hawser {
namespace {

// What the paths of a group may have in common. Where several explain the same paths, the first is named:
// between two hosts nobody can tell whose port it is.
enum class CauseKind { link, hosts, port, host, process, route, network };

// A node's number, or for processes whose node is not known a number of their own below 0.
using Place = std::int32_t;

struct Cause {
  std::size_t job;  // number
  CauseKind kind;
  std::int32_t a = -1, b = -1, rail = -1;  // places; of a process its rank, of a route the path
  auto operator<=>(const Cause&) const = default;
};

// How well a cause explains what is seen.
struct Suspicion {
  std::size_t paths = 0;     // in use that depend on it
  std::size_t bad = 0;       // of these, in trouble
  std::size_t left = 0;      // of these, not explained yet
  std::size_t evidence = 0;  // of these, whose own end says that the fault is there
  std::vector<std::size_t> lines;
};

bool in_use(const PathStatus& facts) {
  return in_trouble(facts) || static_cast<PathCondition>(facts.state) == PathCondition::ready;
}

Place place(std::uint16_t node, std::int32_t rank) {
  return node != unknown_node ? node : -2 - std::max(rank, 0);
}
Place here(const PathLine& line) { return place(line.process->identity.node, line.process->identity.rank); }
Place there(const PathLine& line) { return place(line.path->facts.peer_node, line.path->facts.peer); }

// Whether this end's own adapter or port is to blame.
bool blames_itself(const PathLine& line) {
  const auto reason = static_cast<PathReason>(line.path->facts.last_reason);
  return reason == PathReason::port_down || reason == PathReason::device_fatal;
}

// All that the path depends on; of ports, hosts and processes this end's is before the other's.
std::array<Cause, 10> causes_of(const PathLine& line, std::size_t job) {
  const PathStatus& facts = line.path->facts;
  const Place a = here(line), b = there(line), low = std::min(a, b), high = std::max(a, b);
  const std::int32_t rail = facts.rail;
  return {{{job, CauseKind::link, low, high, rail},
           {job, CauseKind::hosts, low, high, -1},
           {job, CauseKind::port, a, -1, rail},
           {job, CauseKind::host, a, -1, -1},
           {job, CauseKind::process, line.process->identity.rank, -1, -1},
           {job, CauseKind::port, b, -1, rail},
           {job, CauseKind::host, b, -1, -1},
           {job, CauseKind::process, facts.peer, -1, -1},
           {job, CauseKind::route, facts.path, -1, rail},
           {job, CauseKind::network, -1, -1, rail}}};
}
// The port and the host of this end.
constexpr std::size_t own_causes[] = {2, 3};

class Grouping {
 public:
  explicit Grouping(std::span<const PathLine> lines) : lines_(lines), explained_(lines.size()) {
    for (std::size_t i = 0; i < lines.size(); ++i) add(i);
  }

  std::vector<TroubleGroup> run() {
    std::vector<TroubleGroup> groups;
    while (const auto* best = find_best()) groups.push_back(take(best->first, best->second));
    std::map<std::pair<std::size_t, std::int32_t>, TroubleGroup> rest;
    for (std::size_t i = 0; i < lines_.size(); ++i) {
      if (explained_[i] || !in_trouble(lines_[i].path->facts)) continue;
      const std::int32_t rail = lines_[i].path->facts.rail;
      TroubleGroup& group = rest[{job_of(lines_[i]), rail}];
      group.cause = fmt::format("rail {}, here and there", rail);
      group.lines.push_back(lines_[i]);
    }
    for (auto& [key, group] : rest) groups.push_back(std::move(group));
    std::stable_sort(groups.begin(), groups.end(), [](const TroubleGroup& a, const TroubleGroup& b) {
      return a.lines.size() > b.lines.size();
    });
    return groups;
  }

 private:
  using Suspicions = std::map<Cause, Suspicion>;

  void add(std::size_t index) {
    const PathLine& line = lines_[index];
    const SeenProcess& process = *line.process;
    const PathStatus& facts = line.path->facts;
    const std::size_t job = jobs_.try_emplace(process.identity.job, jobs_.size()).first->second;
    if (process.identity.host[0] != '\0') hosts_[{job, here(line)}] = process.identity.host;
    ports_[{job, here(line), facts.rail}] = facts.port;
    if (!in_use(facts)) return;
    const bool bad = in_trouble(facts);
    const auto causes = causes_of(line, job);
    for (std::size_t i = 0; i < causes.size(); ++i) {
      Suspicion& suspicion = suspicions_[causes[i]];
      ++suspicion.paths;
      if (!bad) continue;
      ++suspicion.bad;
      ++suspicion.left;
      suspicion.lines.push_back(index);
    }
    if (bad && blames_itself(line))
      for (const std::size_t own : own_causes) ++suspicions_[causes[own]].evidence;
  }

  // A cause is one if hardly any path that depends on it works.
  const Suspicions::value_type* find_best() const {
    const Suspicions::value_type* best = nullptr;
    for (const auto& entry : suspicions_) {
      const Suspicion& suspicion = entry.second;
      if (suspicion.left == 0 || 10 * suspicion.bad < 9 * suspicion.paths) continue;
      if (best == nullptr || better(entry, *best)) best = &entry;
    }
    return best;
  }

  static bool better(const Suspicions::value_type& a, const Suspicions::value_type& b) {
    if (a.second.left != b.second.left) return a.second.left > b.second.left;
    if (a.second.evidence != b.second.evidence) return a.second.evidence > b.second.evidence;
    return a.first.kind < b.first.kind;
  }

  TroubleGroup take(const Cause& cause, const Suspicion& suspicion) {
    TroubleGroup group{describe(cause), {}, suspicion.paths};
    for (const std::size_t index : suspicion.lines) {
      if (explained_[index]) continue;
      explained_[index] = true;
      group.lines.push_back(lines_[index]);
      const auto causes = causes_of(lines_[index], cause.job);
      for (const Cause& other : causes) --suspicions_[other].left;
      if (blames_itself(lines_[index]))
        for (const std::size_t own : own_causes) --suspicions_[causes[own]].evidence;
    }
    return group;
  }

  std::size_t job_of(const PathLine& line) const { return jobs_.find(line.process->identity.job)->second; }

  std::string host(std::size_t job, Place place) const {
    if (const auto found = hosts_.find({job, place}); found != hosts_.end()) return "host " + found->second;
    return place >= 0 ? fmt::format("node {}", place) : fmt::format("the host of rank {}", -2 - place);
  }

  std::string describe(const Cause& cause) const {
    switch (cause.kind) {
      case CauseKind::link:
        return fmt::format("rail {} between {} and {}", cause.rail, host(cause.job, cause.a),
                           host(cause.job, cause.b));
      case CauseKind::hosts:
        return fmt::format("all rails between {} and {}", host(cause.job, cause.a), host(cause.job, cause.b));
      case CauseKind::port:
        if (const auto port = ports_.find({cause.job, cause.a, cause.rail}); port != ports_.end())
          return fmt::format("port {} of {}", port->second, host(cause.job, cause.a));
        return fmt::format("rail {} of {}", cause.rail, host(cause.job, cause.a));
      case CauseKind::host:
        return host(cause.job, cause.a);
      case CauseKind::process:
        return fmt::format("rank {}", cause.a);
      case CauseKind::route:
        return fmt::format("path {} through the network of rail {}", cause.a, cause.rail);
      case CauseKind::network:
        return fmt::format("the network of rail {} (a switch?)", cause.rail);
    }
    HAWSER_UNREACHABLE();
  }

  std::span<const PathLine> lines_;
  std::vector<bool> explained_;
  Suspicions suspicions_;
  std::map<std::string, std::size_t> jobs_;
  std::map<std::pair<std::size_t, Place>, std::string> hosts_;
  std::map<std::tuple<std::size_t, Place, std::int32_t>, std::string> ports_;
};

}  // namespace

bool in_trouble(const PathStatus& facts) {
  const auto condition = static_cast<PathCondition>(facts.state);
  if (condition == PathCondition::connecting) return facts.failures > 0;
  return condition != PathCondition::ready && condition != PathCondition::closed;
}

std::vector<TroubleGroup> group_trouble(std::span<const PathLine> lines) { return Grouping(lines).run(); }

}  // namespace hawser
