// BackgroundQueue: the operations of one team that go straight through shared memory while others go on: the
// non-blocking ones of a communicator on one node, and the node's parts of others. One is under way at a
// time, because a team takes one step after the other; all ranks add them in the same order. Only what all
// write in a step of one line each may be written while those before it are under way.
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
  void add(BackgroundTurn& turn);
  // Where nothing is under way: whether the operation goes to its end now, because nobody has to be waited
  // for. Otherwise it has to be added next, or given up, for it may have written.
  bool ends_alone(const CollectiveCall& call);
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
  int looks();
  bool begins(BackgroundTurn& turn);
  void write_ahead(BackgroundTurn* turn);
  void take_out(BackgroundTurn& turn);
  void end_first();

  std::unique_ptr<SharedCollectives> shared_;
  BackgroundRuns& runs_;
  IntrusiveList<BackgroundTurn, &BackgroundTurn::link> queue_;
  int size_ = 0;
  std::unique_ptr<BackgroundRun> run_;  // null: the first has not begun, or needs no stack
  int written_ = 0;      // of the first, so many have written, and end when all others have, too
  bool leaves_ = false;  // when it is empty
  bool asked_ = false;   // ends_alone() has found that the first needs a stack
  static constexpr int most_often = 15, most_seldom = 240;  // operations to the next that looks once
  int looks_once_ = 0;                                      // so many of the next that begin
  int until_single_look_ = most_often, next_single_look_ = most_often;
};

}  // namespace hawser
