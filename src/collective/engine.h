// CollectiveEngine: runs the collective operations of one process. Blocking ones go from start to end in
// run(); non-blocking ones are moved on by progress(), which MpiProcess calls in every pass.
//
// It also hands out context ids and takes them back, because both are collective over the communicator
// concerned (context_ids.h, construction.h).
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <unordered_map>
#include <utility>
#include <vector>

#include "base/function_ref.h"
#include "base/intrusive_list.h"
#include "base/knobs.h"
#include "channel/process_table.h"
#include "collective/algorithm_choice.h"
#include "collective/frame_pool.h"
#include "collective/multicast/multicast_engine.h"
#include "collective/operation.h"
#include "collective/scratch_pool.h"
#include "collective/shared/area_pool.h"
#include "collective/shared/background_run.h"
#include "collective/shared/measured_ways.h"
#include "communicator/communicator.h"
#include "communicator/context_ids.h"
#include "communicator/trouble.h"
#include "message/point_to_point.h"
#include "message/progress.h"

namespace hawser {

class BackgroundQueue;
class PersistentAreas;
class PersistentParts;
class SharedCollectives;

struct NodeLanes;
struct NodeLayout;
struct NodeTeam;
struct PersistentPart;

class CollectiveEngine {
 public:
  CollectiveEngine(PointToPoint& messages, Progress& progress);
  ~CollectiveEngine();

  // Call before the first communicator is adopted. `self` is this process's number. `processes` must outlive
  // the engine and may grow. `areas` is null where there is no shared memory.
  Result<> open(ProcessIndex self, const ProcessTable& processes, const Knobs& knobs, SharedAreas* areas);
  // How large an area is on every node with several processes; 0: some have none. The same in all processes.
  // Call before the first communicator is adopted.
  void expect_areas(std::int64_t bytes_everywhere) { area_bytes_everywhere_ = bytes_everywhere; }
  // Replaces the shared areas, for tests. Call after open.
  void use_areas(SharedAreas& areas);
  // Broadcasts may go by multicast, where the knob wants it. Call after open.
  void use_multicast(Lane& lane, ChannelSet& channels);
  // Asks these channels for the rates between nodes, and now and then how far rails are. Call after open.
  void use_links(ChannelSet& channels);
  // Abandons operations in progress. No message may arrive any more; communicators may be destroyed later.
  void close();
  bool is_open() const { return open_; }

  // Must be called once for every communicator before its first operation. `area` is the shared area that its
  // rank 0 chose, or no_area.
  static constexpr int no_area = AreaPool::no_area;
  // `generation`: of the context id, which its rank 0 chose, too.
  void adopt(Communicator& communicator, int area, std::uint32_t generation = 0);
  // Called with a communicator that another process revoked before it was adopted here.
  void at_made_revoked(std::function<void(const Communicator&)> call) { made_revoked_ = std::move(call); }
  // Called with a context id that is given up, before another communicator gets it.
  void at_context_release(std::function<void(std::uint32_t)> call) { context_released_ = std::move(call); }
  // For MPI_COMM_WORLD and MPI_COMM_SELF, whose areas are fixed.
  void adopt_predefined(Communicator& communicator);
  // Chooses an area for a communicator over this group, without waiting for one; called by its rank 0.
  int choose_area(const Group& group);
  // Whether all processes of the group can share an area of the first one.
  bool can_share(const Group& group) const;
  // Another one for every communicator whose context id this process chooses; 0: predefined ones.
  std::uint32_t next_generation() { return ++generations_; }

  // The collective operations.
  Result<> run(Communicator& communicator, const CollectiveCall& call);
  Result<> start(Communicator& communicator, const CollectiveCall& call, Request*& request);
  Result<> prepare(Communicator& communicator, const CollectiveCall& call, Request*& request);

  // Runs a task to its end, over a communicator or over other participants. start_task runs it in the
  // background and returns the request; a caller that does not want the request sets user_freed, or destroys
  // it if it is complete. `within` is what Operation::switch_groups() switches to.
  Result<> run_task(Communicator& communicator, FunctionRef<Task(Operation&)> task);
  Result<> run_task(Participants participants, FunctionRef<Task(Operation&)> task);
  Operation& start_task(Participants participants, Ref<Counted> communicator,
                        FunctionRef<Task(Operation&)> task, Participants within = {});
  // A task that goes on in the background though nobody waits for it, as the end of a communicator does.
  void start_aside(Participants participants, Ref<Counted> communicator, FunctionRef<Task(Operation&)> task,
                   const NodeLayout* nodes = nullptr, NodeTeam* node_team = nullptr);
  Participants participants_of(Communicator& communicator);

  // One pass over the operations in the background. True if one of them finished. Without `user_functions`,
  // reductions by functions of the program stay as they are.
  bool progress(bool user_functions = true) {
    bool moved = area_pool_.progress();
    moved |= !active_.empty() && advance_active(user_functions);
    return (!aside_.empty() && advance_aside()) || moved;
  }

  // What others of the node wait for, as the process leaves: goes on with tasks that nobody waits for here
  // and that have a part in an area. True: none is left.
  bool end_area_parts();

  // The packets of broadcasts by multicast, also while the process leaves, because others may lack some of
  // its own: at the begin of a pass, and before progress().
  bool wants_time() const { return multicast_ != nullptr && multicast_->wants_time(); }
  void begin_pass(Nanoseconds now) {
    if (multicast_ != nullptr) multicast_->begin_pass(now);
  }
  void lose_in_multicast(ProcessIndex process) {
    if (multicast_ != nullptr) multicast_->lose(process);
  }
  bool progress_multicast() { return multicast_ != nullptr && multicast_->progress(); }

  // What stops operations: survival/ keeps it, and calls end_stopped() when it has learned something.
  Trouble& trouble() { return trouble_; }
  const Trouble& trouble() const { return trouble_; }
  void end_stopped();
  // Why nothing can be done on the communicator any more, as an error; none: it can.
  Result<> check(const Communicator& communicator) const {
    return trouble_.any() ? check_slowly(communicator) : Result<>();
  }
  // Those that live, by the first of their context ids; null: none has it.
  Communicator* find(std::uint32_t context) const;
  void forget(std::uint32_t context) { living_.erase(context); }

  // Whether there are such operations; with `large`, such that move much.
  bool under_way(bool large) const;

  ContextIds& context_ids() { return context_ids_; }
  const MulticastEngine* multicast() const { return multicast_.get(); }  // null: there is none
  PointToPoint& point_to_point() { return messages_; }
  Progress& waiting() { return progress_; }
  FramePool& frames() { return frames_; }
  ScratchPool& scratch_pool() { return scratch_pool_; }
  BackgroundRuns& background_runs() { return background_runs_; }
  AlgorithmChoice& choice() { return choice_; }

  // For operations.
  Result<> run_shared(SharedCollectives& shared, FunctionRef<void(SharedCollectives&)> work);
  // Without asking whether amounts differed.
  Result<> run_until_stopped(SharedCollectives& shared, FunctionRef<void(SharedCollectives&)> work);
  // How often operations within nodes were measured, and how often one was done by another way than an area.
  struct WayCounters {
    std::uint64_t measured = 0, by_messages = 0, otherwise = 0;
  };
  const WayCounters& way_counters() const { return way_counters_; }
  // Of messages that were reduced.
  void note_reduced(std::int64_t bytes) {
    if (time_ != nullptr) [[unlikely]]
      time_->reduced(bytes);
  }
  // Of data that a rank moves within its memory.
  void note_copied(std::int64_t bytes) {
    if (time_ != nullptr) [[unlikely]]
      time_->copied(bytes);
  }
  AreaPool& area_pool() { return area_pool_; }
  int place_of(ProcessIndex process) const { return areas_->place_of(process); }
  NodeLanes& lanes_of(NodeTeam& team);
  void use_area(NodeTeam& team, int area);
  void use_lanes(NodeTeam& team, int area);
  void start_again(Operation& operation);
  void give_back(Operation& operation);
  // For CollectiveRecord.
  void retire(Ref<Group> group, int rank, std::uint32_t context);
  std::unique_ptr<NodeLayout> layout_of(const Communicator& communicator) const;
  std::unique_ptr<MulticastGroup> multicast_of(const Communicator& communicator, std::uint32_t generation);
  std::unique_ptr<BackgroundQueue> share(const Communicator& communicator, int area);
  std::unique_ptr<NodeTeam> node_team_of(const Communicator& communicator, const NodeLayout* nodes) const;
  // This rank begins nothing more together with the team, whose first rank has the place and the area.
  void leave(BackgroundQueue& in_node, int place, int area, StopSign stop);
  // Nor a persistent operation.
  void leave(PersistentParts& parts, int place, int rank, StopSign stop);
  // Nor with those of its node.
  void leave(NodeTeam& team, const StopSign& stop);
  // Makes an id available again. Called at rank 0 by the task that ends a communicator.
  void reuse(std::uint32_t context) { context_ids_.give_back(context); }

 private:
  std::unique_ptr<SharedCollectives> share(MemoryBlock area, const Communicator& communicator);
  std::unique_ptr<SharedCollectives> share(MemoryBlock area, const Communicator& communicator,
                                           std::vector<int> places, int own, bool of_node = false);
  Operation& take();
  void begin(Operation& operation, Communicator& communicator);
  void launch(Operation& operation);
  Result<> run_by_messages(Communicator& communicator, const CollectiveCall& call);
  Result<> agree_on_facts(Communicator& communicator);
  Result<> run_in_node(Communicator& communicator, const CollectiveCall& call);
  Result<> run_turn(MeasuredWays::Turn turn, Communicator& communicator, const CollectiveCall& call);
  Result<> run_by(Way way, Communicator& communicator, const CollectiveCall& call);
  Result<> run_timed(Way way, Communicator& communicator, const CollectiveCall& call);
  inline bool serves(const Communicator& communicator, const CollectiveCall& call,
                     const SharedCollectives& shared) const;
  bool shares(Communicator& communicator, const CollectiveCall& call) const;
  bool tuned_to_messages(const Communicator& communicator, const CollectiveCall& call) const;
  void launch_in_background(Operation& operation);
  void go_on_in_background(Operation& operation);
  Result<> run_vector_form(Communicator& communicator, const CollectiveCall& call);
  Request& end_with_other_amount(Communicator& communicator, const CollectiveCall& call);
  Request& begin_in_background(Communicator& communicator, const CollectiveCall& call, Way way);
  void start_shared(Operation& operation, Communicator& communicator, BackgroundQueue& queue);
  inline Way possible_way(const Communicator& communicator, const CollectiveCall& call,
                          SharedCollectives& shared) const;
  Way possible_way_in_background(Communicator& communicator, const CollectiveCall& call) const;
  std::unique_ptr<PersistentParts> take_area_for_parts(Communicator& communicator, int part);
  std::uint64_t agree_on_parts(Communicator& communicator, std::uint64_t free);
  PersistentPart* take_part(Communicator& communicator, const CollectiveCall& call);
  std::uint64_t free_parts_of_node(const Operation& operation, const PersistentAreas& areas);
  void take_part_of_node(Communicator& communicator, Operation& operation);
  static void keep_call(Operation& operation, const Communicator& communicator);
  void complete(Operation& operation);
  bool advance_active(bool user_functions);
  bool advance_aside();
  void end_aside(Operation& operation);
  Result<> wait_for(Operation& operation);
  static Error stopped(ErrorClass why);
  ErrorClass why_stopped(const Operation& operation) const;
  bool never_begins(Operation& operation);
  Result<> check_slowly(const Communicator& communicator) const;

  PointToPoint& messages_;
  Progress& progress_;
  ScratchPool scratch_pool_;  // before the operations, which give it back
  FramePool frames_;          // before the operations, whose frames it owns
  BackgroundRuns background_runs_;
  AlgorithmChoice choice_;
  ContextIds context_ids_;
  std::uint32_t generations_ = 0;
  std::shared_ptr<MulticastEngine> multicast_;  // null: not wanted; groups keep it, too
  bool multicast_wanted_ = false;
  Trouble trouble_;
  std::function<void(const Communicator&)> made_revoked_;
  std::function<void(std::uint32_t)> context_released_;
  std::unordered_map<std::uint32_t, Communicator*> living_;
  SharedAreas* areas_ = nullptr;  // null: no shared memory, or not wanted
  AreaTime* time_ = nullptr;      // null where time is real; also where no areas are wanted
  std::int64_t area_bytes_everywhere_ = 0;
  TeamWays::Policy way_policy_ = TeamWays::Policy::measure;
  WayCounters way_counters_;
  AreaPool area_pool_;  // of areas_
  const ProcessTable* processes_ = nullptr;
  ChannelSet* links_ = nullptr;  // null: there are no rails
  bool open_ = false;
  std::vector<std::unique_ptr<Operation>> operations_;
  std::vector<Operation*> free_;
  IntrusiveList<Operation, &Operation::active_link> active_;
  IntrusiveList<Operation, &Operation::active_link> awaited_;  // by the calls that began them
  // Tasks for which nobody waits, most of which end communicators; a process may be thousands of them ahead
  // of its slowest peer.
  IntrusiveList<Operation, &Operation::active_link> aside_;
  std::int64_t tasks_aside_ = 0;
};

}  // namespace hawser
