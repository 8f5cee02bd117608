#include "collective/algorithm_choice.h"

#include <string>

#include "base/assert.h"
#include "collective/link_costs.h"
#include "mpi/failure.h"

namespace hawser {

namespace {

// What is wrong with an item that names no algorithm.
Error no_such_algorithm(std::string_view knob, std::string_view item) {
  const std::string_view operation = item.substr(0, item.find('='));
  std::string operations, names;
  const auto add = [](std::string& list, std::string_view name) {
    if ((", " + list + ",").find(fmt::format(", {},", name)) != std::string::npos) return;
    list += fmt::format("{}{}", list.empty() ? "" : ", ", name);
  };
  for (const Algorithm& algorithm : algorithm_table()) {
    add(operations, name_of(algorithm.kind));
    if (operation == name_of(algorithm.kind)) add(names, algorithm.name);
  }
  if (names.empty())
    return failure(
        ErrorClass::arg,
        "HAWSER_COLLECTIVE_ALGORITHM={}: '{}' must have the form operation=algorithm; operations are {}",
        knob, item, operations);
  return failure(ErrorClass::arg, "HAWSER_COLLECTIVE_ALGORITHM={}: '{}' must be {}= one of {}", knob, item,
                 operation, names);
}

}  // namespace

Result<> AlgorithmChoice::parse(std::string_view knob) {
  const std::string_view all = knob;
  chosen_ = {};
  while (!knob.empty()) {
    const std::size_t comma = knob.find(',');
    const std::string_view item = knob.substr(0, comma);
    knob = comma == std::string_view::npos ? std::string_view{} : knob.substr(comma + 1);
    const std::size_t equals = item.find('=');
    const std::string_view operation = item.substr(0, equals);
    const std::string_view name =
        equals == std::string_view::npos ? std::string_view{} : item.substr(equals + 1);
    const Algorithm* const algorithm = find_algorithm(operation, name);
    if (algorithm == nullptr) return no_such_algorithm(all, item);
    forced_[static_cast<std::size_t>(algorithm->kind)] = algorithm;
  }
  return {};
}

const Algorithm& AlgorithmChoice::choose(Collective kind, const Shape& shape) {
  const Chosen& chosen = look_up(kind, shape);
  ++counters_.asked;
  counters_.by_table += chosen.by_table;
  return *chosen.algorithm;
}

const AlgorithmChoice::Chosen& AlgorithmChoice::look_up(Collective kind, const Shape& shape) {
  const std::uint64_t mixed =
      (static_cast<std::uint64_t>(shape.bytes) * 64 + static_cast<std::uint64_t>(shape.ranks) * 16 +
       static_cast<std::uint64_t>(kind)) *
      0x9E3779B97F4A7C15u;
  Chosen& last = chosen_[(mixed >> 32) % kept];
  if (last.algorithm == nullptr || last.algorithm->kind != kind || last.shape != shape) {
    const TransferCosts costs = over_distances(model_, shape.distances);
    last = choose_anew(kind, shape, costs);
    last.areas = link_costs::areas_of_node(kind, shape, costs);
  }
  return last;
}

AlgorithmChoice::Chosen AlgorithmChoice::choose_anew(Collective kind, const Shape& shape,
                                                     const TransferCosts& costs) const {
  const Algorithm* const forced = forced_[static_cast<std::size_t>(kind)];
  if (forced != nullptr && forced->fits(shape)) return {shape, forced};
  const Algorithm* const tuned = table_.find(kind, shape).algorithm;
  if (tuned != nullptr && tuned->fits(shape)) return {shape, tuned, true};
  const Algorithm* best = nullptr;
  double best_cost = 0;
  for (const Algorithm& algorithm : algorithm_table()) {
    if (algorithm.kind != kind || !algorithm.fits(shape)) continue;
    const double cost = algorithm.cost(shape, costs);
    if (best == nullptr || cost < best_cost) {
      best = &algorithm;
      best_cost = cost;
    }
  }
  HAWSER_ASSERT(best != nullptr);
  return {shape, best};
}

}  // namespace hawser
