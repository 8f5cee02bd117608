// SimulatedLauncher: the launcher of a simulated job: values, fences, and, if the job survives failures, who
// is killed, who is told, and who goes when ranks cannot reach each other.
#pragma once

#include <cstdint>
#include <deque>
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/event_queue.h"
#include "base/random.h"
#include "launch/unreachable.h"
#include "testbed/simulator/simulation.h"

namespace hawser {

class SimulatedJob;
class SimulatedProcess;

class SimulatedLauncher {
 public:
  SimulatedLauncher(SimulatedJob& job, std::vector<std::int32_t> node_of_rank);
  ~SimulatedLauncher();

  void put(int rank, std::string_view key, std::string_view value);
  // Null: there is none.
  const std::string* find(int rank, std::string_view key) const;
  // All go on when the last one that lives is in, after as many trips as a tree of them has levels. One that
  // waits is parked.
  void enter_fence(SimulatedProcess& process, bool waits);
  // A rank comes to one of the three steps in which ranks close their rails.
  void come_to_leave(SimulatedProcess& process);
  bool all_have_come(int step) const { return comings_[static_cast<std::size_t>(step)] >= living_; }

  bool survives() const { return survival_ != nullptr; }
  // Rank `reporter` cannot reach another.
  void report_unreachable(int reporter, int accused, std::string_view why);
  void note_reached(int witness, int about) { unreachable_.note_reached(witness, about); }
  // Ranks that were killed, in this order.
  const std::vector<int>& killed() const { return killed_; }

 private:
  class Kill;
  class News;
  class Question;

  void carry_out(int rank, const std::string& why);
  void decide(Nanoseconds now);
  Nanoseconds news_delay();
  void release(SimulatedProcess* last);
  bool all_in_fence() const { return in_fence_ > 0 && in_fence_ >= living_; }

  SimulatedJob& job_;
  const SimulatedSurvival* const survival_;  // null: a rank that fails ends the job
  std::map<std::pair<int, std::string>, std::string, std::less<>> values_;  // put, visible
  int living_;
  int in_fence_ = 0;
  std::vector<int> comings_ = {0, 0};  // of living ranks, by step, from 1 on; each session has some
  Random random_;
  Unreachable unreachable_;
  MemberEvent<SimulatedLauncher, &SimulatedLauncher::decide> decision_{*this};
  std::vector<std::unique_ptr<Kill>> kills_;
  std::deque<News> news_;           // on its way
  std::deque<Question> questions_;  // likewise
  std::vector<int> killed_;
  bool begun_ = false;  // all ranks have joined
};

}  // namespace hawser
