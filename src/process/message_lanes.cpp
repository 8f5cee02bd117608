#include "process/message_lanes.h"

#include <algorithm>

#include "base/rest.h"
#include "mpi/error_class.h"

namespace hawser {

MessageLanes::MessageLanes(int count, const MessageLane::Place& place, SharedMemoryChannel* shared_memory,
                           const Handles& handles, ProcessLock& lock, Progress& progress)
    : lock_(lock), progress_(progress), shared_memory_(shared_memory), place_(place) {
  for (int number = 1; number <= count; ++number) {
    lanes_.push_back(std::make_unique<MessageLane>(static_cast<std::uint8_t>(number)));
    lanes_.back()->connect(place_, progress);
  }
  for (std::size_t number = 0; number < types_.size(); ++number)
    types_[number] = handles.datatypes.find(number);
  lock_.set_inner(this);
}

MessageLanes::~MessageLanes() { lock_.set_inner(nullptr); }

void MessageLanes::at_bad_packet(const std::function<void(const std::string&)>& end_job) {
  for (const auto& lane : lanes_) lane->at_bad_packet(end_job);
}

void MessageLanes::close() {
  settle_all();
  freed_.clear();
  for (const auto& lane : lanes_) lane->disconnect();
  release();
}

// --- Communicators ---

bool MessageLanes::may_adopt(const Communicator& communicator) {
  return !communicator.lane_member() && !communicator.inter() && !communicator.was_early();
}

std::optional<int> MessageLanes::lanes_of_all(const Communicator& communicator) const {
  int least = count();
  for (int rank = 0; rank < communicator.size(); ++rank) {
    const ProcessIndex process = communicator.process_of(rank);
    if (process == place_.self) continue;
    const int place = shared_memory_ == nullptr ? -1 : shared_memory_->place_of(process);
    if (place < 0) return 0;
    const SharedSegment& segment = shared_memory_->load().segment();
    const std::int32_t said = segment.block(place).lanes.load(std::memory_order_acquire);
    if (said == 0) return {};
    least = std::min(least, said - 1);
  }
  return least;
}

void MessageLanes::adopt(Communicator& communicator) {
  const auto lanes = static_cast<std::uint32_t>(lanes_of_all(communicator).value_or(0));
  if (lanes == 0) return;
  MessageLane& lane = *lanes_[communicator.context() / contexts_per_communicator % lanes];
  if (!lane.opened() && place_.segment != nullptr) {
    hold(lane);
    lane.open(place_);
  }
  communicator.put_on_lane(make_counted<LaneMember>(lane, communicator));
  if (communicator.handle < listed)
    members_[communicator.handle].store(communicator.lane_member().get(), std::memory_order_release);
}

void MessageLanes::leave(Communicator& communicator) {
  if (!communicator.lane_member()) return;
  if (communicator.handle < listed) members_[communicator.handle].store(nullptr, std::memory_order_release);
  hold(communicator.lane_member()->lane);
  if (communicator.lane_member()->references() > 1) freed_.emplace_back(&communicator);
}

void MessageLanes::let_go_of_freed() {
  for (std::size_t i = freed_.size(); i-- > 0;) {
    hold(freed_[i]->lane_member()->lane);
    if (freed_[i]->lane_member()->references() == 1) {
      const Ref<Communicator> last = std::exchange(freed_[i], freed_.back());
      freed_.pop_back();
    }
  }
}

void MessageLanes::revoke(const Communicator& communicator) {
  if (!communicator.lane_member()) return;
  MessageLane& lane = communicator.lane_member()->lane;
  hold(lane);
  const std::uint32_t context = communicator.context();
  lane.messages().close_context(context);
  lane.messages().fail_pending([context](const MessageRequest& request) {
    return request.context == context ? ErrorClass::revoked : ErrorClass::success;
  });
}

void MessageLanes::release_context(std::uint32_t context) {
  for (const auto& lane : lanes_) {
    hold(*lane);
    lane->messages().release_context(context);
  }
}

// --- Locks ---

std::uint32_t MessageLanes::release() {
  const std::uint32_t which = std::exchange(held_, 0);
  for (const auto& lane : lanes_)
    if ((which & bit_of(*lane)) != 0) lane->lock().unlock();
  return which;
}

void MessageLanes::take(std::uint32_t which) {
  for (const auto& lane : lanes_) {
    const std::uint32_t bit = bit_of(*lane);
    if ((which & bit & ~held_) == 0) continue;
    lane->lock().lock();
    held_ |= bit;
    lane->messages().settle();
  }
}

bool MessageLanes::contended() const {
  return std::ranges::any_of(
      lanes_, [this](const auto& lane) { return (held_ & bit_of(*lane)) != 0 && lane->lock().contended(); });
}

// --- Progress ---

bool MessageLanes::progress(bool all) {
  bool moved = false;
  for (const auto& lane : lanes_) {
    const std::uint32_t bit = bit_of(*lane);
    const bool held = (held_ & bit) != 0;
    if (!held && !(all && lane->lock().try_lock())) continue;
    held_ |= bit;
    moved |= lane->progress();
    lane->messages().settle();
    if (held) continue;
    held_ &= ~bit;
    lane->lock().unlock();
  }
  if (all && !freed_.empty()) [[unlikely]]
    let_go_of_freed();
  return moved;
}

void MessageLanes::settle_all() {
  for (const auto& lane : lanes_) hold(*lane);
  if (!freed_.empty()) let_go_of_freed();
}

bool MessageLanes::flushed() {
  settle_all();
  return std::ranges::all_of(lanes_, [](const auto& lane) { return lane->flushed(); });
}

void MessageLanes::wait(MessageLane& lane, FunctionRef<bool()> done) {
  constexpr std::uint32_t passes_elsewhere = 64;
  for (std::uint32_t idle = 0; !done();) {
    if (lane.progress()) {
      idle = 0;
      continue;
    }
    ++idle;
    const bool elsewhere = idle % passes_elsewhere == 0;
    if (idle < rest_that_yields && !elsewhere && !lane.lock().contended()) continue;
    lane.lock().unlock();
    // Nobody else may be left to do what others wait for.
    if (elsewhere && lock_.try_lock("a wait on a lane")) {
      progress_.make_progress();
      lock_.unlock();
    }
    rest(lane.lock().contended() ? std::max(idle, rest_that_yields) : idle);
    lane.lock().lock();
  }
}

Request* MessageLanes::find_request(std::uint64_t number) {
  MessageLane* const found = lane(RequestTable::lane_of(number));
  if (found == nullptr) return nullptr;
  hold(*found);
  return found->requests().find(number);
}

MatchingCounters MessageLanes::counters() {
  MatchingCounters sum;
  for (const auto& lane : lanes_) {
    hold(*lane);
    sum.add(lane->messages().counters());
  }
  return sum;
}

}  // namespace hawser
