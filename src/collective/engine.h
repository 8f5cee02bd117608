// CollectiveEngine: runs the collective operations of one process. Blocking ones go from start to end in
// run(); non-blocking ones are moved on by progress(), which MpiProcess calls in every pass.
//
// It also hands out context ids and takes them back, because both are collective over the communicator
// concerned (context_ids.h, construction.h).
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "base/function_ref.h"
#include "base/intrusive_list.h"
#include "base/knobs.h"
#include "collective/algorithm.h"
#include "collective/frame_pool.h"
#include "collective/operation.h"
#include "communicator/communicator.h"
#include "communicator/context_ids.h"
#include "message/point_to_point.h"
#include "message/progress.h"

namespace hawser {

class SharedAreas;
class SharedCollectives;
class SharedMemoryChannel;
struct NodeLayout;

class CollectiveEngine {
 public:
  CollectiveEngine(PointToPoint& messages, Progress& progress);
  ~CollectiveEngine();

  // Before the first communicator is adopted: this process's number and how many there are, and the knobs.
  // `shared_memory` may be null.
  // `node_of_process`: equal for processes that share a node; empty: not known.
  Result<> open(ProcessIndex self, int processes, const Knobs& knobs, SharedMemoryChannel* shared_memory,
                std::vector<std::int32_t> node_of_process = {});
  // The same with areas from elsewhere, for tests; after open.
  void use_areas(std::unique_ptr<SharedAreas> areas);
  // Abandons what is still going on. No message may come any more; communicators may die later.
  void close();
  bool is_open() const { return open_; }

  // Every communicator passes here once before its first operation. `area`: the area that its rank 0 has
  // chosen for it, or no_area.
  static constexpr int no_area = -1;
  void adopt(Communicator& communicator, int area);
  // MPI_COMM_WORLD and MPI_COMM_SELF need no choice.
  void adopt_predefined(Communicator& communicator);
  // Chooses an area for a communicator over this group; called by its rank 0.
  int choose_area(const Group& group);
  void discard_area(int area);

  // The collective operations.
  Result<> run(Communicator& communicator, const CollectiveCall& call);
  Result<> start(Communicator& communicator, const CollectiveCall& call, Request*& request);
  Result<> prepare(Communicator& communicator, const CollectiveCall& call, Request*& request);

  // Runs a task over the communicator to its end; over other participants; or in the background, as
  // the request that is returned; who does not want it sets user_freed, or destroys it if it is complete.
  // `within`: what Operation::switch_groups() switches to, if anything.
  Result<> run_task(Communicator& communicator, FunctionRef<Task(Operation&)> task);
  Result<> run_task(Participants participants, FunctionRef<Task(Operation&)> task);
  Operation& start_task(Participants participants, Ref<Counted> communicator,
                        FunctionRef<Task(Operation&)> task, Participants within = {});
  Participants participants_of(Communicator& communicator);

  // One pass over the operations in the background; true if one came to its end.
  bool progress() {
    const bool moved = !active_.empty() && advance_active();
    return (!retiring_.empty() && advance_retiring()) || moved;
  }

  ContextIds& context_ids() { return context_ids_; }
  PointToPoint& point_to_point() { return messages_; }
  Progress& waiting() { return progress_; }
  FramePool& frames() { return frames_; }
  AlgorithmChoice& choice() { return choice_; }

  // For operations.
  void start_again(Operation& operation);
  void give_back(Operation& operation);
  // For CollectiveRecord.
  void retire(Ref<Group> group, int rank, std::uint32_t context, int area);
  std::unique_ptr<NodeLayout> layout_of(const Communicator& communicator) const;
  std::unique_ptr<SharedCollectives> share(const Communicator& communicator, int area);
  // For the task that ends a communicator, at its rank 0.
  void reuse(std::uint32_t context, int area);

 private:
  bool can_share(const Group& group) const;
  Operation& take();
  void begin(Operation& operation, Communicator& communicator);
  void launch(Operation& operation);
  void launch_in_background(Operation& operation);
  void complete(Operation& operation);
  bool advance_active();
  bool advance_retiring();
  Result<> wait_for(Operation& operation);

  PointToPoint& messages_;
  Progress& progress_;
  FramePool frames_;  // before the operations, whose frames it owns
  AlgorithmChoice choice_;
  ContextIds context_ids_;
  std::unique_ptr<SharedAreas> areas_;  // null: no shared memory, or not wanted
  std::vector<int> place_of_;           // of each process in this node; -1: elsewhere
  std::vector<std::int32_t> node_of_;   // each process's; empty: not known
  bool open_ = false;
  std::vector<std::unique_ptr<Operation>> operations_;
  std::vector<Operation*> free_;
  IntrusiveList<Operation, &Operation::active_link> active_;
  // Ends of communicators, for which nobody waits. A process may be thousands of them ahead of its slowest
  // peer.
  IntrusiveList<Operation, &Operation::active_link> retiring_;
  std::int64_t retirements_ = 0;  // in retiring_
};

}  // namespace hawser
