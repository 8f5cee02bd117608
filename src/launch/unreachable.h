// Unreachable: which processes must go when some cannot reach others. A network that is cut in two is seen
// from both halves, and each takes the other for lost; whoever hears all of them (the launcher) decides, once
// and for everyone. Pure state: `now` in, decisions out.
//
// Reports are collected for a while, because the halves do not notice at the same time. Whoever reports may
// be cut off itself. So the node goes that reaches the fewest other nodes, or is reached by them; of it,
// those processes that were reported or reported others. That is repeated until no report is left of two that
// both live. Where one pair alone was at odds, that is remembered for a while: a node that loses one
// neighbour after the other is the one that is cut off.
#pragma once

#include <cstdint>
#include <set>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "base/time.h"

namespace hawser {

class Unreachable {
 public:
  struct Condemned {
    int rank = 0;
    std::string why;
  };

  // `patience`: from a report to the decision, if no other comes; from the first at most four times as long.
  Unreachable(std::vector<std::int32_t> node_of_rank, Nanoseconds patience)
      : node_of_rank_(std::move(node_of_rank)), patience_(patience) {}

  // Rank `reporter` says why it cannot reach rank `accused`. Both must be ranks of the job.
  void report(int reporter, int accused, std::string why, Nanoseconds now);
  // The rank has gone: what it said, and what was said of it, counts no more.
  void forget(int rank);
  // When decide() must be called; never: nothing is to be decided.
  Nanoseconds deadline() const { return reports_.empty() ? never : decide_at_; }
  // Who must go. Once: they are forgotten.
  std::vector<Condemned> decide();

 private:
  struct Report {
    int reporter, accused;
    std::string why;
  };
  using Pair = std::pair<std::int32_t, std::int32_t>;  // nodes of a reporter and of whom it cannot reach

  std::int32_t node(int rank) const { return node_of_rank_[static_cast<std::size_t>(rank)]; }
  Pair nodes(const Report& report) const { return {node(report.reporter), node(report.accused)}; }
  // How bad a node is: with how many others it is at odds, how many say they cannot reach it, its number.
  std::tuple<std::size_t, std::size_t, std::int32_t> badness(std::int32_t node) const;
  std::int32_t worst_node() const;
  void settle(std::int32_t worst);

  const std::vector<std::int32_t> node_of_rank_;
  const Nanoseconds patience_;
  std::vector<Report> reports_;  // of living ranks, each pair once
  std::set<Pair> settled_;       // that were decided upon without knowing whose fault it was
  Nanoseconds decide_at_ = never, latest_ = never, settled_until_ = 0;
};

}  // namespace hawser
