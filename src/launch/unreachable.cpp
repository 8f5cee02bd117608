#include "launch/unreachable.h"

#include <fmt/core.h>

#include <algorithm>
#include <map>
#include <utility>

namespace hawser {

void Unreachable::report(int reporter, int accused, std::string why, Nanoseconds now) {
  if (reporter == accused) return;
  const auto known = [&](const Report& each) { return each.reporter == reporter && each.accused == accused; };
  if (std::ranges::any_of(reports_, known)) return;
  if (reports_.empty()) {
    latest_ = now + 4 * patience_;
    asked_.clear();
    reached_.clear();
  }
  decide_at_ = std::min(now + patience_, latest_);
  reports_.push_back({reporter, accused, std::move(why)});
  ask_witnesses(reports_.back());
}

// A rank of each of some other nodes, whichever they are.
void Unreachable::ask_witnesses(const Report& report) {
  constexpr std::size_t most_witnesses = 8;
  std::set<std::int32_t> asked{node(report.reporter), node(report.accused)};
  if (asked.size() < 2) return;
  const auto ranks = static_cast<int>(node_of_rank_.size());
  for (int i = 1; i < ranks && asked.size() < most_witnesses + 2; ++i) {
    const int witness = (report.reporter + i) % ranks;
    if (gone_.contains(witness) || !asked.insert(node(witness)).second) continue;
    for (const int about : {report.reporter, report.accused})
      if (asked_.insert({witness, about}).second) questions_.push_back({witness, about});
  }
}

void Unreachable::note_reached(int witness, int about) { reached_.insert({node(witness), node(about)}); }

void Unreachable::forget(int rank) {
  gone_.insert(rank);
  std::erase_if(reports_, [&](const Report& each) { return each.reporter == rank || each.accused == rank; });
}

Unreachable::Badness Unreachable::badness(std::int32_t candidate) const {
  std::set<std::int32_t> reporters, others;
  for (const Report& each : reports_) {
    const std::int32_t from = node(each.reporter), to = node(each.accused);
    if (from == candidate) others.insert(to);
    if (to == candidate) reporters.insert(from);
  }
  others.insert(reporters.begin(), reporters.end());
  const auto reached = std::ranges::count(reached_, candidate, [](const auto& pair) { return pair.second; });
  return {others.size(), -reached, reporters.size(), candidate};
}

std::int32_t Unreachable::worst_node() const {
  Badness worst{.node = -1};
  for (const Report& each : reports_)
    for (const std::int32_t candidate : {node(each.reporter), node(each.accused)})
      if (const Badness other = badness(candidate); worst.node < 0 || other > worst) worst = other;
  return worst.node;
}

std::vector<Unreachable::Condemned> Unreachable::decide() {
  std::vector<Condemned> condemned;
  while (!reports_.empty()) {
    const std::int32_t worst = worst_node();
    // Where processes of one node do not reach each other, only who is reported goes.
    std::map<int, std::string> going;
    for (const Report& each : reports_) {
      if (node(each.accused) == worst)
        going.try_emplace(each.accused, fmt::format("rank {} says: {}", each.reporter, each.why));
    }
    for (const Report& each : reports_) {
      if (node(each.reporter) == worst && node(each.accused) != worst)
        going.try_emplace(each.reporter, fmt::format("it says itself: {}", each.why));
    }
    for (auto& [rank, why] : going) {
      forget(rank);
      condemned.push_back({rank, std::move(why)});
    }
  }
  return condemned;
}

}  // namespace hawser
