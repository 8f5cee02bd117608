// Operation: one collective operation of one process in progress. It gives its Task messages, scratch
// memory and a place to wait, and it is the request that the program holds of a non-blocking or persistent
// one.
//
// Messages of different operations on one communicator never meet, because each operation has a tag of its
// own, counted in step on all ranks.
#pragma once

#include <coroutine>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <memory>
#include <vector>

#include "base/intrusive_list.h"
#include "channel/channel_set.h"
#include "collective/call.h"
#include "collective/node_part.h"
#include "collective/scratch_pool.h"
#include "collective/slot_use.h"
#include "collective/task.h"
#include "communicator/group.h"
#include "datatype/type_packer.h"
#include "message/message_request.h"

namespace hawser {

class BackgroundQueue;
class CollectiveEngine;
class MulticastGroup;
class SharedCollectives;
struct NodeLanes;
struct NodeLayout;
struct NodeTeam;
struct PersistentPart;

// Who takes part, and the context and tag of their messages.
struct Participants {
  Ref<Group> group;
  int rank = 0;
  std::uint32_t context = 0;
  std::int32_t tag = 0;
};

// An operation's place among those that go through shared memory.
struct BackgroundTurn {
  Operation* operation = nullptr;
  BackgroundQueue* queue = nullptr;  // null: it has none
  ListLink link;
};

class Operation final : public Request {
 public:
  explicit Operation(CollectiveEngine& engine);
  ~Operation() override;

  // --- For tasks. Ranks are those of the participants.
  int rank() const { return rank_; }
  int size() const { return size_; }
  Plan plan;
  // Null if all ranks are on one node, or the nodes are unknown.
  const NodeLayout* nodes() const { return nodes_; }
  // Whether that rank is known to be on another node.
  bool is_far(int rank) const;
  // Null if there is no multicast here.
  MulticastGroup* multicast() const { return multicast_; }
  // Null if the node's part goes by messages.
  NodeTeam* node_team() const { return node_team_; }
  // Of the node's ranks, for an operation in the background. Persistent ones have their own: ranks may start
  // them in different order.
  NodeLanes& lanes() const;

  // From here on only some ranks take part: participant ranks[i] becomes rank i of `count`, and this process
  // becomes rank `own`. `ranks` must stay valid until among_all(). No message may be in flight.
  void among(const int* ranks, int count, int own);
  void among_all();

  // Start a message, also of zero bytes. The bytes of a send must not change until arrived().
  void send(int to, const std::byte* data, std::int64_t bytes);
  void receive(int from, std::byte* data, std::int64_t bytes);
  // `count` elements of a datatype, from or to memory in its layout.
  void send_elements(int to, const std::byte* data, std::int64_t count, const Datatype& type);
  void receive_elements(int from, std::byte* data, std::int64_t count, const Datatype& type);

  struct Arrived {
    Operation* operation;
    bool await_ready() noexcept { return operation->may_go_on() && !operation->ended_early_; }
    void await_suspend(std::coroutine_handle<> task) noexcept { operation->resume_point_ = task; }
    void await_resume() noexcept {}
  };
  // co_await arrived() waits until all messages started so far are complete.
  Arrived arrived() { return Arrived{this}; }
  // Ends as soon as `other` is true, which something in progress sets, or messages that were started are
  // complete. Messages may be left over.
  Arrived arrived_or(const bool& other) {
    other_ = &other;
    other_only_ = started_.empty();
    return Arrived{this};
  }
  // co_await together(...) does this with the node's ranks straight in shared memory. No message may be in
  // flight. A non-blocking operation waits for its turn, which it has taken when it began.
  using TeamWork = void (*)(Operation&, SharedCollectives&);
  Arrived together(NodePart part, TeamWork work);
  void take_turn(NodePart part);
  // Gives it up, if it has one.
  void pass_turn(NodePart part);
  void pass_turns() {
    for (const NodePart part : {NodePart::up, NodePart::down}) pass_turn(part);
  }
  bool has_turn(NodePart part) const { return turn(part).queue != nullptr; }
  // How far rails are, alike in all ranks.
  const RailDistances& distances() const { return distances_; }
  void use_distances(const RailDistances& distances) { distances_ = distances; }
  // Of v forms, as all ranks know them. Those of blocking ones, which all ranks begin in the same order, may
  // change.
  Slots slots() const {
    return slot_use_ != nullptr        ? slot_use_->slots()
           : root_slot_use_ != nullptr ? root_slot_use_->slots()
                                       : Slots{};
  }
  SlotUse* slot_use() const { return slot_use_; }
  RootSlotUse* root_slot_use() const { return root_slot_use_; }
  void use_slots(SlotUse& use) { slot_use_ = &use; }
  void use_slots(RootSlotUse& use) { root_slot_use_ = &use; }
  void note_slots(const BlockUse& all) {
    if (slot_use_ != nullptr) slot_use_->note_all(all, size_);
  }
  void note_root_slots(bool unfit) {
    if (root_slot_use_ != nullptr) root_slot_use_->note_slots(unfit);
  }
  // Of a blocking operation, which takes no turns before it comes to a part.
  void choose_areas(NodeAreas areas) { areas_ = areas; }
  NodeAreas areas() const { return areas_; }
  // Whether a message from this rank has not arrived whole.
  bool awaits(int from) const;
  // Withdraws the receives that wait, of all ranks or of one; await arrived() afterwards, for those that
  // could not be. Answers how many were.
  std::size_t withdraw(int from = any_source);

  // Intercommunicators: messages go to the remote group at first, to our own group after this call, and to
  // the remote group again after the next. No message may be in flight. A task must end in the state in which
  // it began.
  void switch_groups();

  // Memory until the end of the operation, aligned to a cache line.
  std::byte* scratch(std::int64_t bytes);
  std::int64_t* scratch_numbers(std::int64_t count) {
    return reinterpret_cast<std::int64_t*>(scratch(count * static_cast<std::int64_t>(sizeof(std::int64_t))));
  }
  // Memory for `count` elements of a datatype, shifted so that its lower bound may be negative.
  std::byte* scratch_elements(std::int64_t count, const Datatype& type);

  // What algorithms move within this rank's memory. Nothing for no bytes.
  void copy(std::byte* to, const std::byte* from, std::int64_t bytes);

  // Keeps the first error as the operation's result. Messages continue, so that other ranks do not hang.
  void fail(Error error);
  bool failed() const { return static_cast<bool>(error_); }

  // --- For the engine, and for code that starts operations.
  CollectiveEngine& engine() { return engine_; }
  const Participants& participants() const { return participants_; }
  const Participants& other_participants() const { return other_participants_; }
  void begin(Participants participants, const NodeLayout* nodes = nullptr,
             MulticastGroup* multicast = nullptr, NodeTeam* node_team = nullptr);
  // For an intercommunicator: across the groups, and within our own.
  void begin(Participants across, Participants within);
  void begin_again();
  bool between_groups() const { return other_participants_.group.get() != nullptr; }
  // Runs the task until its first wait. It lives until the operation ends.
  void run(Task task);
  // Goes through shared memory, in its turn, from begin to end.
  void run_in(BackgroundQueue& queue);
  void run_in_shared_memory();  // for the queue
  // What is done there if that is the whole operation; null: it is a part.
  const CollectiveCall* whole_call() const { return work_ == nullptr ? &call : nullptr; }
  void run_in_shared_memory(SharedCollectives& shared, TeamWork work);
  // Marks the operation as finished: there is nothing to run.
  void skip() { finished_ = true; }
  bool finished() const { return finished_; }
  // Resumes the task if what it waits for is complete. True when the operation is over.
  bool advance();
  // Gives its messages up, and ends in error when they are over. The task goes no further.
  void end_early(Error error, ErrorClass why);
  // Frees the task and the scratch memory. Returns the operation's error, if any.
  Result<> conclude();
  // Sets the result that wait and test will return.
  void keep_outcome(Result<> outcome);

  // The arguments that a non-blocking or persistent operation keeps.
  CollectiveCall call{};
  bool background = false;  // ranks may compute before it is over
  bool planned = false;     // made from `call`, with a plan; otherwise only a task
  // Of a persistent one that goes through shared memory, or whose node's part does.
  PersistentPart* part = nullptr;
  void use_part_of_node(PersistentPart& of, NodeTeam& team) {
    part = &of;
    node_team_ = &team;
  }
  // Copies the arrays of the call, which have these lengths.
  void keep_arguments(int send_blocks, int receive_blocks);
  ListLink active_link;

  // Request
  Result<> start() override;
  void destroy() override;
  Result<> finish() override;

  // Drops everything in whatever state it is; for CollectiveEngine::close and the destructor.
  void abandon();

 private:
  friend void* detail::take_frame(Operation&, std::size_t);
  friend void detail::set_resume_point(Operation&, std::coroutine_handle<>) noexcept;
  friend void detail::set_finished(Operation&) noexcept;

  // Removes the complete messages from started_. True when none is left.
  bool collect();
  bool may_go_on();
  void keep_arrays(int send_blocks, int receive_blocks);
  void drop_frames();
  void give_scratch_back();
  BackgroundTurn& turn(NodePart part) { return turns_[static_cast<std::size_t>(part)]; }
  const BackgroundTurn& turn(NodePart part) const { return turns_[static_cast<std::size_t>(part)]; }
  void track(MessageRequest& request);
  int participant(int rank) const { return among_ == nullptr ? rank : among_[rank]; }
  SendTarget target(int to) const;
  ReceivePattern pattern(int from) const;

  CollectiveEngine& engine_;
  Participants participants_;
  Participants other_participants_;  // see switch_groups; no group: there is only one
  const NodeLayout* nodes_ = nullptr;
  MulticastGroup* multicast_ = nullptr;
  NodeTeam* node_team_ = nullptr;
  NodeAreas areas_;
  RailDistances distances_;
  SlotUse* slot_use_ = nullptr;           // of an alltoallv or alltoallw
  RootSlotUse* root_slot_use_ = nullptr;  // of a gatherv or scatterv
  BackgroundTurn turns_[2];               // of parts; without parts, and of blocking operations, the first
  BackgroundTurn* awaited_ = nullptr;     // that has to come and to end before it goes on; null: none
  TeamWork work_ = nullptr;               // of a task, then; null: `call` is all there is
  const bool* other_ = nullptr;           // see arrived_or; null: only messages count
  bool other_only_ = false;               // and no messages
  const int* among_ = nullptr;            // null: all
  int rank_ = 0;
  int size_ = 0;
  bool finished_ = false;
  bool ended_early_ = false;
  std::coroutine_handle<> resume_point_;
  std::coroutine_handle<> outermost_;
  std::vector<MessageRequest*> started_;
  std::deque<TypePacker> packers_;
  std::vector<ScratchPool::Block> scratch_blocks_;
  std::unique_ptr<Error> error_;

  // keep_arguments
  std::vector<std::int64_t> kept_numbers_;
  std::vector<Datatype*> kept_type_pointers_;
  std::vector<Ref<Counted>> kept_objects_;
};

// Of an operation whose ranks were told different amounts, where that is noticed.
Error other_amount();

}  // namespace hawser
