// BackgroundQueue: the operations of one team that go straight through shared memory while others go on: the
// non-blocking ones of a communicator on one node, and the node's parts of others. One is under way at a
// time, because a team takes one step after the other; all ranks add them in the same order.
#pragma once

#include <memory>
#include <utility>

#include "base/intrusive_list.h"
#include "collective/operation.h"
#include "collective/shared/background_run.h"
#include "collective/shared/collectives.h"

namespace hawser {

class BackgroundQueue {
 public:
  BackgroundQueue(std::unique_ptr<SharedCollectives> shared, BackgroundRuns& runs)
      : shared_(std::move(shared)), runs_(runs) {}

  BackgroundQueue(const BackgroundQueue&) = delete;
  BackgroundQueue& operator=(const BackgroundQueue&) = delete;

  bool empty() const { return queue_.empty(); }
  SharedCollectives& shared() { return *shared_; }
  void add(Operation& operation) { queue_.push_back(&operation); }
  // Moves it on if it is its turn. True: it is over, and no longer here.
  bool advance(Operation& operation);
  // Nothing is added any more. This rank leaves the team when what is here is over.
  void leave();
  // Gives it up, wherever it stands.
  void remove(Operation& operation);

 private:
  void end_first();

  std::unique_ptr<SharedCollectives> shared_;
  BackgroundRuns& runs_;
  IntrusiveList<Operation, &Operation::queue_link> queue_;
  std::unique_ptr<BackgroundRun> run_;  // null: the first has not begun
  bool leaves_ = false;                 // when it is empty
};

}  // namespace hawser
