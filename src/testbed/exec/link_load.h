// LinkLoad: how many bytes each link of the fabric carried, over the time of the job.
#pragma once

#include <string>
#include <vector>

#include "fabric/fabric.h"
#include "testbed/simulator/simulation.h"

namespace hawser {

class LinkLoad final : public SimulationObserver {
 public:
  LinkLoad() { next_time = 0; }
  void observe(const SimulationView& view) override;

  // One direction of a cable.
  struct Link {
    std::string name;  // from -> to
    double rate = 0;   // bytes per second; 0: unlimited
    std::uint64_t packets = 0, bytes = 0, dropped = 0;
    std::vector<std::uint64_t> samples;  // bytes until each sample
  };
  // The busiest first; those that carried nothing are left out. Once the job is over.
  std::vector<Link> links() const;
  // The busiest links, a row each, and time from left to right: the darker, the more of its rate a link
  // carried, or of what the busiest one did where there are no rates.
  std::string draw() const;

 private:
  static constexpr std::size_t most_samples = 256;

  void find_links(const fabric::Fabric& fabric);
  void halve();

  std::vector<fabric::PortName> ports_;
  std::vector<Link> links_;
  std::vector<Nanoseconds> times_;
  Nanoseconds interval_ = 1000;
};

}  // namespace hawser
