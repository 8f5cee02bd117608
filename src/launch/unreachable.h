// Unreachable: which processes must go when some cannot reach others. A network that is cut in two is seen
// from both halves, and each takes the other for lost; whoever hears all of them (the launcher) decides, once
// and for everyone. Pure state: `now` in, decisions out.
//
// Reports are collected for a while, because the halves do not notice at the same time, and often one pair
// alone does: whoever is on other nodes is asked whom of the two it reaches. Then the node goes that is at
// odds with most others, whoever reported whom, and is reached by the fewest; of it, those processes that
// were reported or reported others. That is repeated until no report is left of two that both live.
#pragma once

#include <compare>
#include <cstddef>
#include <cstdint>
#include <set>
#include <string>
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
  // Whom to ask whether it reaches whom. Once: they are forgotten.
  struct Question {
    int witness, about;
    auto operator<=>(const Question&) const = default;
  };
  std::vector<Question> take_questions() { return std::exchange(questions_, {}); }
  void note_reached(int witness, int about);
  // When decide() must be called; never: nothing is to be decided.
  Nanoseconds deadline() const { return reports_.empty() ? never : decide_at_; }
  // Who must go. Once: they are forgotten.
  std::vector<Condemned> decide();

 private:
  struct Report {
    int reporter, accused;
    std::string why;
  };
  struct Badness {
    std::size_t at_odds = 0;     // with so many other nodes
    std::ptrdiff_t reached = 0;  // by so many, negative
    std::size_t reported = 0;    // by so many: it may stand still
    std::int32_t node = 0;       // the first node stays
    auto operator<=>(const Badness&) const = default;
  };

  std::int32_t node(int rank) const { return node_of_rank_[static_cast<std::size_t>(rank)]; }
  void ask_witnesses(const Report& report);
  Badness badness(std::int32_t node) const;
  std::int32_t worst_node() const;

  const std::vector<std::int32_t> node_of_rank_;
  const Nanoseconds patience_;
  std::vector<Report> reports_;  // of living ranks, each pair once
  std::set<int> gone_;
  std::vector<Question> questions_;
  std::set<Question> asked_;  // since the first of the reports
  std::set<std::pair<std::int32_t, std::int32_t>>
      reached_;  // nodes of a witness and of whom it reached, likewise
  Nanoseconds decide_at_ = never, latest_ = never;
};

}  // namespace hawser
