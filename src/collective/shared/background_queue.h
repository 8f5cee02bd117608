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
  explicit BackgroundQueue(BackgroundRuns& runs) : runs_(runs) {}

  BackgroundQueue(const BackgroundQueue&) = delete;
  BackgroundQueue& operator=(const BackgroundQueue&) = delete;

  // Operations may take their places before, but none is moved on.
  void open(std::unique_ptr<SharedCollectives> shared) { shared_ = std::move(shared); }
  bool is_open() const { return shared_ != nullptr; }

  bool empty() const { return queue_.empty(); }
  SharedCollectives& shared() { return *shared_; }
  // An operation's turn comes after those of all that are here.
  void add(BackgroundTurn& turn) {
    turn.queue = this;
    queue_.push_back(&turn);
  }
  // Where nothing is under way: begins what writes_at_once(). It is over if all others have written, too, now
  // or in a moment; else it has to be added next, or given up.
  enum class Begun : std::uint8_t { no, written, all_have_written };
  Begun begin_alone(const CollectiveCall& call);
  void forget_written();
  // Moves the operation on if it is its turn. True: it is over, and no longer here.
  bool advance(BackgroundTurn& turn);
  // Nothing is added any more. This rank leaves the team when what is here is over.
  void leave();
  // Gives a place up that is not needed.
  void pass(BackgroundTurn& turn);
  // Gives the operation up, wherever it stands.
  void remove(BackgroundTurn& turn);

 private:
  void begin(BackgroundTurn& turn);
  void end_first();

  std::unique_ptr<SharedCollectives> shared_;
  BackgroundRuns& runs_;
  IntrusiveList<BackgroundTurn, &BackgroundTurn::link> queue_;
  std::unique_ptr<BackgroundRun> run_;  // null: the first has not begun, or needs no stack
  bool written_ = false;                // the first has begun, and ends when all have written
  bool leaves_ = false;                 // when it is empty
};

}  // namespace hawser
