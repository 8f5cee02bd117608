// What the drawings of the campaign have in common. What a seed means is the order in which they draw: a
// change of it makes other scenarios of all seeds.
#pragma once

#include <fmt/format.h>

#include <cmath>
#include <cstdint>
#include <initializer_list>

#include "base/random.h"
#include "testbed/campaign/scenario.h"

namespace hawser {

class Drawing {
 protected:
  explicit Drawing(Random& random) : random_(random) {}

  template <class T>
  T one_of(std::initializer_list<T> choices) {
    return choices.begin()[random_.below(choices.size())];
  }
  int number(int from, int to) {  // both included
    return from + static_cast<int>(random_.below(static_cast<std::uint64_t>(to - from + 1)));
  }
  // Between the two, every order of magnitude equally likely.
  double between(double from, double to) { return from * std::pow(to / from, random_.uniform()); }

  Random& random_;
};

// Of one scenario, of as many ranks as are wished, or as the seed says.
class ScenarioDrawing : protected Drawing {
 public:
  ScenarioDrawing(std::uint64_t seed, const ScenarioWishes& wishes, Random& random)
      : Drawing(random), wishes_(wishes) {
    scenario_.seed = seed;
    scenario_.simulation.seed = seed;
    scenario_.simulation.fabric.emplace();
  }

 protected:
  FabricOptions& fabric() { return *scenario_.simulation.fabric; }
  int ranks() const { return scenario_.simulation.ranks; }
  int random_rank() { return number(0, ranks() - 1); }
  template <class T>
  void knob(const char* name, const T& value) {
    scenario_.simulation.knobs.emplace_back(name, fmt::format("{}", value));
  }

  const ScenarioWishes& wishes_;
  Scenario scenario_;
};

}  // namespace hawser
