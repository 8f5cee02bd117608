#include "fabric/topology/load_bound.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <utility>

namespace hawser::fabric {
namespace {

constexpr int most_rounds = 20'000;
constexpr double close_enough = 0.005;

struct Way {
  std::vector<std::size_t> links;
  double part = 0;  // of its demand
};
using Demand = std::vector<Way>;

struct Problem {
  std::vector<Demand> demands;
  std::size_t links = 0;
};

Problem problem_of(const Topology& topology, const RoutingTables& tables, const std::vector<Flow>& flows) {
  std::map<std::pair<std::int32_t, std::int32_t>, std::size_t> numbers;
  std::map<std::pair<std::int32_t, std::int32_t>, Demand> demands;
  for (const Flow& flow : flows) {
    const auto lid = static_cast<Lid>(tables.address(flow.to).base + flow.lid_offset);
    const Path path = trace_path(topology, tables, flow.from, lid);
    if (!path.complete) continue;
    Way way;
    for (const Hop& hop : path.hops)
      way.links.push_back(numbers.try_emplace({hop.out.node, hop.out.port}, numbers.size()).first->second);
    demands[{topology.node(flow.from.node).host, topology.node(flow.to.node).host}].push_back(std::move(way));
  }
  Problem problem;
  problem.links = numbers.size();
  for (auto& [ends, demand] : demands) {
    for (Way& way : demand) way.part = 1.0 / static_cast<double>(demand.size());
    problem.demands.push_back(std::move(demand));
  }
  return problem;
}

std::vector<double> loads_of(const Problem& problem) {
  std::vector<double> loads(problem.links);
  for (const Demand& demand : problem.demands)
    for (const Way& way : demand)
      for (const std::size_t link : way.links) loads[link] += way.part;
  return loads;
}

// Each demand moves the part `step` of what it sends to the way that is cheapest at these prices, whose sum
// is 1. Returns what all pay on their cheapest ways: no division has a smaller largest load.
double move_to_cheapest(Problem& problem, const std::vector<double>& prices, double step) {
  double paid = 0;
  for (Demand& demand : problem.demands) {
    Way* best = nullptr;
    double least = INFINITY;
    for (Way& way : demand) {
      double price = 0;
      for (const std::size_t link : way.links) price += prices[link];
      way.part *= 1 - step;
      if (price < least) {
        least = price;
        best = &way;
      }
    }
    best->part += step;
    paid += least;
  }
  return paid;
}

}  // namespace

LoadBound divide_flows(const Topology& topology, const RoutingTables& tables,
                       const std::vector<Flow>& flows) {
  Problem problem = problem_of(topology, tables, flows);
  LoadBound bound;
  if (problem.demands.empty()) return bound;
  bound.reached = INFINITY;
  std::vector<double> prices(problem.links);
  for (int round = 0; round < most_rounds; ++round) {
    const std::vector<double> loads = loads_of(problem);
    const double most = *std::max_element(loads.begin(), loads.end());
    bound.reached = std::min(bound.reached, most);
    if (bound.at_least >= bound.reached * (1 - close_enough)) break;
    // Steeper as the division gets better.
    const double steepness = 20 + 2 * std::sqrt(static_cast<double>(round));
    double sum = 0;
    for (std::size_t link = 0; link < prices.size(); ++link)
      sum += prices[link] = std::exp(steepness * (loads[link] / most - 1));
    for (double& price : prices) price /= sum;
    bound.at_least = std::max(bound.at_least, move_to_cheapest(problem, prices, 2.0 / (round + 10.0)));
  }
  return bound;
}

}  // namespace hawser::fabric
