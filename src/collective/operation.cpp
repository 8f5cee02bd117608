#include "collective/operation.h"

#include <algorithm>
#include <utility>

#include "base/copy_memory.h"
#include "collective/engine.h"
#include "collective/node_layout.h"
#include "collective/node_team.h"
#include "collective/shared/persistent_parts.h"
#include "mpi/failure.h"

namespace hawser {

namespace detail {

void* take_frame(Operation& operation, std::size_t size) { return operation.engine_.frames().take(size); }
void give_back_frame(void* frame) noexcept { FramePool::give_back(frame); }
void set_resume_point(Operation& operation, std::coroutine_handle<> point) noexcept {
  operation.resume_point_ = point;
}
void set_finished(Operation& operation) noexcept { operation.finished_ = true; }

}  // namespace detail

Operation::Operation(CollectiveEngine& engine) : Request(Kind::collective), engine_(engine) {
  for (BackgroundTurn& turn : turns_) turn.operation = this;
}

Operation::~Operation() { abandon(); }

// From the innermost frame outwards.
void Operation::drop_frames() {
  if (outermost_ && !finished_) {
    for (auto frame = Task::Coroutine::from_address(resume_point_.address()); frame;) {
      const std::coroutine_handle<> outer = frame.promise().awaiting;
      frame.destroy();
      frame = outer ? Task::Coroutine::from_address(outer.address()) : Task::Coroutine();
    }
  } else if (outermost_) {
    outermost_.destroy();
  }
  outermost_ = nullptr;
  other_ = nullptr;
  finished_ = true;
}

void Operation::abandon() {
  awaited_ = nullptr;
  for (BackgroundTurn& turn : turns_)
    if (turn.queue != nullptr) turn.queue->remove(turn);
  drop_frames();
  for (MessageRequest* request : started_) engine_.point_to_point().release(*request);
  started_.clear();
  packers_.clear();
  give_scratch_back();
  kept_objects_.clear();
  error_ = nullptr;
}

void Operation::begin(Participants participants, const NodeLayout* nodes, MulticastGroup* multicast,
                      NodeTeam* node_team) {
  participants_ = std::move(participants);
  other_participants_ = {};
  nodes_ = nodes;
  multicast_ = multicast;
  node_team_ = node_team;
  areas_ = {};
  distances_ = {};
  slot_use_ = nullptr;
  root_slot_use_ = nullptr;
  among_all();
  begin_again();
}

void Operation::begin(Participants across, Participants within) {
  begin(std::move(across));
  other_participants_ = std::move(within);
}

void Operation::switch_groups() {
  HAWSER_ASSERT(started_.empty() && between_groups());
  std::swap(participants_, other_participants_);
  among_all();
}

void Operation::among(const int* ranks, int count, int own) {
  HAWSER_ASSERT(started_.empty() && ranks[own] == participants_.rank);
  among_ = ranks;
  rank_ = own;
  size_ = count;
}

void Operation::among_all() {
  among_ = nullptr;
  rank_ = participants_.rank;
  size_ = participants_.group->size();
}

bool Operation::is_far(int rank) const {
  return nodes_ != nullptr &&
         nodes_->node_of[static_cast<std::size_t>(participant(rank))] != nodes_->own_node;
}

void Operation::begin_again() {
  ended_early_ = false;
  finished_ = false;
  complete = false;
  status = Status::empty();
}

void Operation::run(Task task) {
  outermost_ = task.coroutine;
  task.coroutine.resume();
}

void Operation::run_in(BackgroundQueue& queue) {
  awaited_ = &turns_[0];
  work_ = nullptr;
  queue.add(*awaited_);
  advance();
}

Operation::Arrived Operation::together(NodePart part, TeamWork work) {
  HAWSER_ASSERT(started_.empty());
  awaited_ = &turn(part);
  work_ = work;
  if (awaited_->queue == nullptr) node_team_->in_node->add(*awaited_);
  return Arrived{this};
}

NodeLanes& Operation::lanes() const { return part != nullptr ? part->teams : engine_.lanes_of(*node_team_); }

void Operation::take_turn(NodePart part) { lanes().of(part).add(turn(part)); }

void Operation::pass_turn(NodePart part) {
  BackgroundTurn& given = turn(part);
  if (given.queue != nullptr) given.queue->pass(given);
}

void Operation::run_in_shared_memory() { run_in_shared_memory(awaited_->queue->shared(), work_); }

void Operation::run_in_shared_memory(SharedCollectives& shared, TeamWork work) {
  Result<> result = engine_.run_until_stopped(
      shared, [&](SharedCollectives& of) { work != nullptr ? work(*this, of) : of.run(call); });
  if (result) {
    // As with messages, the others get what there is.
    if (shared.amounts_differed()) [[unlikely]]
      fail(other_amount());
    return;
  }
  // Nothing that follows in a task would be right.
  ended_early_ = true;
  planned = false;
  const ErrorClass why = error_class_of(result.error());
  for (MessageRequest* request : started_) engine_.point_to_point().fail(*request, why);
  fail(result.take_error());
}

bool Operation::advance() {
  if (finished_ || !may_go_on()) return finished_;
  if (!outermost_) {
    finished_ = true;  // it is no task
  } else if (ended_early_) [[unlikely]] {
    drop_frames();
  } else {
    resume_point_.resume();
  }
  return finished_;
}

bool Operation::may_go_on() {
  if (awaited_ != nullptr) {
    if (!awaited_->queue->advance(*awaited_)) return false;
    awaited_ = nullptr;
  }
  if (other_ == nullptr) return collect();
  if (!*other_ && (other_only_ || !collect())) return false;
  other_ = nullptr;
  return true;
}

void Operation::end_early(Error error, ErrorClass why) {
  if (finished_ || ended_early_ || awaited_ != nullptr) return;  // the team is told by its stop sign
  pass_turns();
  fail(std::move(error));
  ended_early_ = true;
  planned = false;
  other_ = nullptr;
  for (MessageRequest* request : started_) engine_.point_to_point().fail(*request, why);
}

Result<> Operation::conclude() {
  HAWSER_ASSERT(finished_ && started_.empty());
  if (outermost_) outermost_.destroy();
  outermost_ = nullptr;
  pass_turns();
  packers_.clear();
  give_scratch_back();
  if (error_ == nullptr) return {};
  Error error = std::move(*error_);
  error_ = nullptr;
  return error;
}

void Operation::track(MessageRequest& request) { started_.push_back(&request); }

bool Operation::collect() {
  PointToPoint& messages = engine_.point_to_point();
  while (!started_.empty()) {
    MessageRequest& request = *started_.back();
    if (!request.complete) return false;
    const bool whole =
        request.direction != MessageRequest::Direction::receive || request.status.bytes == request.bytes.size;
    if (request.status.error != ErrorClass::success || !whole) [[unlikely]] {
      const ErrorClass why = request.status.error;
      // To go on would be to pass nonsense on to others, whose operations would succeed.
      if (why == ErrorClass::proc_failed)
        end_early(failure(why, "a process of the communicator failed during the operation"), why);
      else
        fail(failure(why == ErrorClass::success ? ErrorClass::truncate : why,
                     "a message of the collective operation failed; do all ranks pass the same root and "
                     "matching counts?"));
    }
    messages.release(request);
    started_.pop_back();
  }
  return true;
}

bool Operation::awaits(int from) const {
  return std::any_of(started_.begin(), started_.end(), [&](const MessageRequest* request) {
    return !request->complete && request->direction == MessageRequest::Direction::receive &&
           request->source_rank == participant(from);
  });
}

std::size_t Operation::withdraw(int from) {
  PointToPoint& messages = engine_.point_to_point();
  return std::erase_if(started_, [&](MessageRequest* request) {
    if (request->complete || request->direction != MessageRequest::Direction::receive ||
        (from != any_source && request->source_rank != participant(from)))
      return false;
    messages.cancel(*request);
    if (!request->complete) return false;
    messages.release(*request);
    return true;
  });
}

// Messages bear the ranks of all participants, also among a few, so that they meet only their own.
SendTarget Operation::target(int to) const {
  return {participants_.group->process_of(participant(to)),
          participants_.context,
          participants_.rank,
          participants_.tag,
          TrafficClass::collective,
          background};
}

ReceivePattern Operation::pattern(int from) const {
  return {participants_.context, participant(from), participants_.tag};
}

void Operation::send(int to, const std::byte* data, std::int64_t bytes) {
  const ByteSequence sequence{const_cast<std::byte*>(data), bytes, nullptr};
  PointToPoint& messages = engine_.point_to_point();
  if (messages.send_now(target(to), sequence)) return;
  track(messages.isend(SendMode::standard, target(to), sequence));
}

void Operation::receive(int from, std::byte* data, std::int64_t bytes) {
  track(engine_.point_to_point().ireceive(pattern(from), ByteSequence{data, bytes, nullptr}));
}

void Operation::send_elements(int to, const std::byte* data, std::int64_t count, const Datatype& type) {
  if (type.contiguous) {
    send(to, data + type.true_lower_bound, count * type.size);
    return;
  }
  const ByteSequence sequence = describe(data, count, type, packers_.emplace_back());
  track(engine_.point_to_point().isend(SendMode::standard, target(to), sequence));
}

void Operation::receive_elements(int from, std::byte* data, std::int64_t count, const Datatype& type) {
  if (type.contiguous) {
    receive(from, data + type.true_lower_bound, count * type.size);
    return;
  }
  const ByteSequence sequence = describe(data, count, type, packers_.emplace_back());
  track(engine_.point_to_point().ireceive(pattern(from), sequence));
}

std::byte* Operation::scratch(std::int64_t bytes) {
  scratch_blocks_.push_back(engine_.scratch_pool().take(bytes));
  return scratch_blocks_.back().data;
}

void Operation::give_scratch_back() {
  for (const ScratchPool::Block& block : scratch_blocks_) engine_.scratch_pool().give_back(block);
  scratch_blocks_.clear();
}

std::byte* Operation::scratch_elements(std::int64_t count, const Datatype& type) {
  if (count == 0) return scratch(0);
  const std::int64_t span = type.true_extent + (count - 1) * (type.extent < 0 ? -type.extent : type.extent);
  std::byte* memory = scratch(span);
  // With a negative extent the last element lies first.
  if (type.extent < 0) memory -= (count - 1) * type.extent;
  return memory - type.true_lower_bound;
}

void Operation::copy(std::byte* to, const std::byte* from, std::int64_t bytes) {
  if (bytes == 0) return;
  copy_memory(to, from, static_cast<std::size_t>(bytes));
  engine_.note_copied(bytes);
}

void Operation::fail(Error error) {
  if (error_ == nullptr) error_ = std::make_unique<Error>(std::move(error));
}

void Operation::keep_arguments(int send_blocks, int receive_blocks) {
  kept_objects_.clear();
  for (CallSide* side : {&call.send, &call.receive})
    if (side->type != nullptr && !side->type->predefined) kept_objects_.emplace_back(side->type);
  if (call.op != nullptr && !call.op->predefined()) kept_objects_.emplace_back(call.op);
  if (call.send.counts || call.receive.counts) keep_arrays(send_blocks, receive_blocks);
}

void Operation::keep_arrays(int send_blocks, int receive_blocks) {
  const auto total = static_cast<std::size_t>(send_blocks) + static_cast<std::size_t>(receive_blocks);
  kept_numbers_.resize(2 * total);
  kept_type_pointers_.clear();
  kept_type_pointers_.reserve(total);
  std::int64_t* numbers = kept_numbers_.data();
  const auto keep_side = [&](CallSide& side, std::size_t n) {
    for (IntegerArray* array : {&side.counts, &side.displacements}) {
      if (*array) {
        for (std::size_t i = 0; i < n; ++i) numbers[i] = (*array)[i];
        *array = IntegerArray(numbers);
      }
      numbers += n;
    }
    if (side.types == nullptr) return;
    Datatype* const* types = side.types;
    side.types = kept_type_pointers_.data() + kept_type_pointers_.size();
    for (std::size_t i = 0; i < n; ++i) {
      kept_type_pointers_.push_back(types[i]);
      if (types[i] != nullptr) kept_objects_.emplace_back(types[i]);
    }
  };
  keep_side(call.send, static_cast<std::size_t>(send_blocks));
  keep_side(call.receive, static_cast<std::size_t>(receive_blocks));
}

Result<> Operation::start() {
  active = true;
  engine_.start_again(*this);
  return {};
}

void Operation::keep_outcome(Result<> outcome) {
  if (outcome) return;
  status.error = error_class_of(outcome.error());
  error_ = std::make_unique<Error>(outcome.take_error());
}

Result<> Operation::finish() {
  if (error_ == nullptr) return {};
  Error error = std::move(*error_);
  error_ = nullptr;
  return error;
}

void Operation::destroy() { engine_.give_back(*this); }

Error other_amount() {
  return failure(ErrorClass::truncate,
                 "another rank sends a different amount of data than this rank expects");
}

}  // namespace hawser
