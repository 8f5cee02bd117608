#include "launch/unreachable.h"

#include <fmt/core.h>

#include <algorithm>
#include <map>
#include <tuple>
#include <utility>

namespace hawser {

void Unreachable::report(int reporter, int accused, std::string why, Nanoseconds now) {
  if (reporter == accused) return;
  const auto known = [&](const Report& each) { return each.reporter == reporter && each.accused == accused; };
  if (std::ranges::any_of(reports_, known)) return;
  if (reports_.empty()) {
    latest_ = now + 4 * patience_;
    if (now > settled_until_) settled_.clear();
  }
  decide_at_ = std::min(now + patience_, latest_);
  reports_.push_back({reporter, accused, std::move(why)});
}

void Unreachable::forget(int rank) {
  std::erase_if(reports_, [&](const Report& each) { return each.reporter == rank || each.accused == rank; });
}

// Who says that they cannot reach it counts second: it may stand still. The number last: the first node
// stays.
std::tuple<std::size_t, std::size_t, std::int32_t> Unreachable::badness(std::int32_t node) const {
  std::set<Pair> pairs = settled_;
  for (const Report& each : reports_) pairs.insert(nodes(each));
  std::set<std::int32_t> others;
  std::size_t reported = 0;
  for (const auto& [reporter, accused] : pairs) {
    if (reporter == node) others.insert(accused);
    if (accused != node) continue;
    others.insert(reporter);
    ++reported;
  }
  return {others.size(), reported, node};
}

std::int32_t Unreachable::worst_node() const {
  std::set<std::int32_t> candidates;
  for (const Report& each : reports_) candidates.insert({node(each.reporter), node(each.accused)});
  return *std::ranges::max_element(candidates, {}, [this](std::int32_t each) { return badness(each); });
}

// Of a node that several others cannot reach, it is clear that the fault is its own.
void Unreachable::settle(std::int32_t worst) {
  const auto touches = [worst](const Pair& pair) { return pair.first == worst || pair.second == worst; };
  if (std::get<0>(badness(worst)) > 1) {
    std::erase_if(settled_, touches);
    return;
  }
  for (const Report& each : reports_)
    if (touches(nodes(each))) settled_.insert(nodes(each));
  settled_until_ = decide_at_ + 60 * patience_;
}

std::vector<Unreachable::Condemned> Unreachable::decide() {
  std::vector<Condemned> condemned;
  while (!reports_.empty()) {
    const std::int32_t worst = worst_node();
    settle(worst);
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
