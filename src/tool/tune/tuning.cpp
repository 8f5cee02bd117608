#include "tool/tune/tuning.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <sstream>

#include "collective/tuned_table.h"

namespace hawser::tune {
namespace {

// What the program can call.
constexpr Collective measured[] = {
    Collective::barrier, Collective::broadcast, Collective::gather,
    Collective::scatter, Collective::allgather, Collective::alltoall,
    Collective::reduce,  Collective::allreduce, Collective::reduce_scatter_block};

std::vector<const Algorithm*> algorithms_of(Collective kind) {
  std::vector<const Algorithm*> found;
  for (const Algorithm& algorithm : algorithm_table())
    if (algorithm.kind == kind && std::string_view(algorithm.name) != "multicast")
      found.push_back(&algorithm);
  return found;
}

double median(std::vector<double> values) {
  std::sort(values.begin(), values.end());
  return values[values.size() / 2];
}

}  // namespace

std::vector<Setting> settings_of(int nodes) {
  std::vector<Setting> settings(1);
  for (const Collective kind : measured) settings[0].operations.emplace_back(name_of(kind));
  const std::pair<std::string, std::string> no_areas{"HAWSER_COLLECTIVE_SHARED", "off"};
  if (nodes == 1) {
    Setting& messages = settings.emplace_back(settings[0]);
    messages.environment = {no_areas};
    for (const std::string& operation : messages.operations) messages.algorithms[operation] = "messages";
  }
  for (std::size_t turn = 0;; ++turn) {
    Setting setting;
    std::string forced;
    for (const Collective kind : measured) {
      const auto algorithms = algorithms_of(kind);
      if (turn >= algorithms.size()) continue;
      const std::string operation = name_of(kind), name = algorithms[turn]->name;
      setting.operations.push_back(operation);
      setting.algorithms[operation] = name;
      forced += fmt::format("{}{}={}", forced.empty() ? "" : ",", operation, name);
    }
    if (setting.operations.empty()) return settings;
    setting.environment = {no_areas, {"HAWSER_COLLECTIVE_ALGORITHM", forced}};
    settings.push_back(std::move(setting));
  }
}

Result<Times> read_times(std::string_view text) {
  Times times;
  std::istringstream lines{std::string(text)};
  std::string line;
  while (std::getline(lines, line)) {
    std::istringstream words(line);
    std::string operation, nodes;
    std::int64_t bytes = 0;
    double microseconds = 0;
    if (line.starts_with("ranks ") && words >> operation >> times.ranks >> nodes >> times.nodes) continue;
    words = std::istringstream(line);
    if (!(words >> operation >> bytes >> microseconds) || bytes < 0 || !(microseconds >= 0))
      return Error{ErrorKind::other, fmt::format("the program printed '{}'", line)};
    times.cells[{operation, bytes}] = microseconds;
  }
  if (times.ranks < 1 || times.nodes < 1 || times.nodes > times.ranks || times.cells.empty())
    return Error{ErrorKind::other, "the program printed no times"};
  return times;
}

void Measured::add(const Setting& setting, const Times& times) {
  for (const auto& [cell, microseconds] : times.cells) {
    const auto algorithm = setting.algorithms.find(cell.first);
    const std::string name = algorithm == setting.algorithms.end() ? "default" : algorithm->second;
    if (const Algorithm* const forced = find_algorithm(cell.first, name)) {
      Shape shape;
      shape.ranks = ranks_;
      shape.nodes = nodes_;
      shape.most_on_node = (ranks_ + nodes_ - 1) / nodes_;
      shape.bytes = cell.second;
      shape.elements = cell.second / static_cast<std::int64_t>(sizeof(int));
      if (!forced->fits(shape)) continue;  // something else was measured
    }
    rounds_[cell][name].push_back(microseconds);
  }
}

Measured::Best Measured::best(const std::string& operation, std::int64_t bytes) const {
  Best best;
  const auto cell = rounds_.find({operation, bytes});
  if (cell == rounds_.end()) return best;
  const auto by_default = cell->second.find("default");
  if (by_default == cell->second.end()) return best;
  best.by_default = *std::min_element(by_default->second.begin(), by_default->second.end());
  best.microseconds = best.by_default;
  double least = (1 - worth) * best.by_default;
  for (const auto& [name, rounds] : cell->second) {
    if (name == "default" || median(rounds) > least) continue;
    least = median(rounds);
    best.algorithm = name;
    best.microseconds = least;
  }
  return best;
}

std::vector<Line> Measured::lines() const {
  std::vector<Line> lines;
  std::string operation, last;
  for (const auto& [cell, rounds] : rounds_) {
    if (cell.first != operation) last = "default";
    operation = cell.first;
    const Best found = best(cell.first, cell.second);
    if (found.algorithm == last) continue;
    last = found.algorithm;
    lines.push_back({cell.first, cell.second, found.algorithm, found.microseconds, found.by_default});
  }
  return lines;
}

double Measured::gain() const {
  double sum = 0;
  int count = 0;
  for (const auto& [cell, rounds] : rounds_) {
    const Best found = best(cell.first, cell.second);
    if (found.algorithm == "default") continue;
    sum += std::log(found.microseconds / found.by_default);
    ++count;
  }
  return count == 0 ? 1 : std::exp(sum / count);
}

std::string Measured::text() const {
  std::string text = fmt::format("ranks {} nodes {}\n", ranks_, nodes_);
  for (const Line& line : lines()) {
    text += fmt::format("{} {} {}", line.operation, line.from, line.algorithm);
    if (line.algorithm != "default")
      text += fmt::format("    # {:.1f} us, default {:.1f}", line.microseconds, line.by_default);
    text += "\n";
  }
  return text;
}

Result<std::string> with_part(std::string_view table, std::string_view name, const Measured& part) {
  if (const auto parsed = TunedTable::parse(table, name); !parsed) return parsed.error();
  std::string kept;
  bool replaced = false;
  std::istringstream lines{std::string(table)};
  std::string line;
  while (std::getline(lines, line)) {
    std::istringstream words(line);
    std::string first, second;
    int ranks = 0, nodes = 0;
    if (words >> first && first == "ranks" && words >> ranks >> second >> nodes)
      replaced = ranks == part.ranks() && nodes == part.nodes();
    if (!replaced) kept += line + "\n";
  }
  return kept + part.text();
}

}  // namespace hawser::tune
