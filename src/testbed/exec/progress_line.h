// ProgressLine: how far a long job is, in one line on the terminal.
#pragma once

#include "testbed/simulator/simulation.h"

namespace hawser {

class ProgressLine final : public SimulationObserver {
 public:
  explicit ProgressLine(int ranks);
  void observe(const SimulationView& view) override;

 private:
  void write(const SimulationView& view, double seconds);

  const int ranks_;
  const bool terminal_;
  const std::int64_t begin_;
  std::int64_t shown_;
  bool any_ = false;
};

}  // namespace hawser
