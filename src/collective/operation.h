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
#include "collective/call.h"
#include "collective/task.h"
#include "communicator/group.h"
#include "datatype/type_packer.h"
#include "message/message_request.h"

namespace hawser {

class CollectiveEngine;
struct NodeLayout;

// Who takes part, and where their messages are told from others'.
struct Participants {
  Ref<Group> group;
  int rank = 0;
  std::uint32_t context = 0;
  std::int32_t tag = 0;
};

class Operation final : public Request {
 public:
  explicit Operation(CollectiveEngine& engine);
  ~Operation() override;

  // --- For tasks. Ranks are those of the participants.
  int rank() const { return rank_; }
  int size() const { return size_; }
  Plan plan;
  // Null: all on one node, or each on its own, or not known.
  const NodeLayout* nodes() const { return nodes_; }

  // From here on only some take part: participant ranks[i] as rank i of `count`; this one is `own`. The
  // numbers stay where they are until among_all(). No message may be under way.
  void among(const int* ranks, int count, int own);
  void among_all();

  // Start a message. Zero bytes are sent too. A send's bytes must not change until arrived().
  void send(int to, const std::byte* data, std::int64_t bytes);
  void receive(int from, std::byte* data, std::int64_t bytes);
  // `count` elements of a datatype, from or to memory in its layout.
  void send_elements(int to, const std::byte* data, std::int64_t count, const Datatype& type);
  void receive_elements(int from, std::byte* data, std::int64_t count, const Datatype& type);

  struct Arrived {
    Operation* operation;
    bool await_ready() noexcept { return operation->collect(); }
    void await_suspend(std::coroutine_handle<> task) noexcept { operation->resume_point_ = task; }
    void await_resume() noexcept {}
  };
  // co_await: until all messages started so far are complete.
  Arrived arrived() { return Arrived{this}; }

  // Intercommunicators: from here on messages go to and come from our own group, and after the next call the
  // other one, as at first. No message may be under way. Tasks end as they began.
  void switch_groups();

  // Memory until the end of the operation, aligned to a cache line.
  std::byte* scratch(std::int64_t bytes);
  std::int64_t* scratch_numbers(std::int64_t count) {
    return reinterpret_cast<std::int64_t*>(scratch(count * static_cast<std::int64_t>(sizeof(std::int64_t))));
  }
  // Memory for `count` elements of a datatype, shifted so that its lower bound may be negative.
  std::byte* scratch_elements(std::int64_t count, const Datatype& type);

  // The first error is the operation's; the messages go on, so that other ranks do not hang.
  void fail(Error error);
  bool failed() const { return static_cast<bool>(error_); }

  // --- For the engine and who starts operations.
  CollectiveEngine& engine() { return engine_; }
  const Participants& participants() const { return participants_; }
  void begin(Participants participants, const NodeLayout* nodes = nullptr);
  // Between two groups: with the other one, and within our own.
  void begin(Participants across, Participants within);
  void begin_again();
  bool between_groups() const { return other_participants_.group.get() != nullptr; }
  // Runs the task until its first wait. It lives until the operation ends.
  void run(Task task);
  // There is nothing to run.
  void skip() { finished_ = true; }
  bool finished() const { return finished_; }
  // Goes on if what it waits for has come; true when the operation is over.
  bool advance();
  // Frees the task and the scratch memory, and gives the operation's error, if any.
  Result<> conclude();
  // The error that wait and test will give.
  void keep_outcome(Result<> outcome);

  // What a non-blocking or persistent operation keeps of its call.
  CollectiveCall call{};
  bool planned = false;  // it is one of `call`, with a plan; otherwise just a task
  // The arrays of the sides have these lengths.
  void keep_arguments(int send_blocks, int receive_blocks);
  ListLink active_link;

  // Request
  Result<> start() override;
  void destroy() override;
  Result<> finish() override;

  // Drops everything, wherever it is; for CollectiveEngine::close and the destructor.
  void abandon();

 private:
  friend void* detail::take_frame(Operation&, std::size_t);
  friend void detail::set_resume_point(Operation&, std::coroutine_handle<>) noexcept;
  friend void detail::set_finished(Operation&) noexcept;

  // Takes the complete ones out of the started messages; true when none is left.
  bool collect();
  void track(MessageRequest& request);
  int participant(int rank) const { return among_ == nullptr ? rank : among_[rank]; }
  SendTarget target(int to) const;
  ReceivePattern pattern(int from) const;

  CollectiveEngine& engine_;
  Participants participants_;
  Participants other_participants_;  // see switch_groups; no group: there is only one
  const NodeLayout* nodes_ = nullptr;
  const int* among_ = nullptr;  // null: all
  int rank_ = 0;
  int size_ = 0;
  bool finished_ = false;
  std::coroutine_handle<> resume_point_;
  std::coroutine_handle<> outermost_;
  std::vector<MessageRequest*> started_;
  std::deque<TypePacker> packers_;
  std::vector<std::pair<std::byte*, std::int64_t>> scratch_blocks_;
  std::byte* spare_block_ = nullptr;  // one scratch block is kept for the next operation
  std::int64_t spare_bytes_ = 0;
  std::unique_ptr<Error> error_;

  // keep_arguments
  std::vector<std::int64_t> kept_numbers_;
  std::vector<Datatype*> kept_type_pointers_;
  std::vector<Ref<Counted>> kept_objects_;
};

}  // namespace hawser
