// Passive target: locks of a member's memory (section 12.5.3). Where the memory is shared, so is the lock,
// and who wants it waits for its turn. Otherwise the member's process takes turns for who asks it, and
// operations wait in the peer's queue until the lock is given, so that MPI_Win_lock itself returns at once.
#include <atomic>

#include "mpi/failure.h"
#include "window/window.h"
#include "window/window_engine.h"

namespace hawser {

Result<> Window::check_passive(const char* call) const {
  if (access_ == Access::locked || access_ == Access::locked_all) return {};
  return failure(ErrorClass::rma_sync, "{} outside of an epoch of MPI_Win_lock or MPI_Win_lock_all", call);
}

Result<> Window::check_locked(const char* call, int rank) {
  if (access_ == Access::locked_all) return {};
  if (access_ == Access::locked && peer(rank).lock != WindowPeer::Lock::none) return {};
  return failure(ErrorClass::rma_sync, "{} of rank {}, which MPI_Win_lock has not locked", call, rank);
}

FairLock Window::lock_of(int rank) {
  WindowControl* const control = members_.at(rank).control;
  return FairLock(control != nullptr ? control->lock : own_lock_);
}

FairLock::Ticket Window::draw_turn(int rank) {
  WindowControl* const control = members_.at(rank).control;
  const FairLock::Ticket ticket = lock_of(rank).draw();
  if (control != nullptr)
    control->waiting[ticket % WindowControl::places(members_.shared())].store(engine_.place() + 1);
  return ticket;
}

bool Window::take_turn(int rank, FairLock::Ticket ticket, LockType type) {
  if (!lock_of(rank).try_enter(ticket, type)) return false;
  if (type == LockType::shared) wake_next(rank);
  return true;
}

void Window::end_turn(int rank, LockType type) {
  lock_of(rank).leave(type);
  wake_next(rank);
}

void Window::wake_next(int rank) {
  WindowControl* const control = members_.at(rank).control;
  if (control == nullptr) return;
  control->wake_next(WindowControl::places(members_.shared()), [this](int place) { engine_.wake(place); });
}

// Takes the lock, where this process can by itself, or asks for it.
void Window::begin_lock(WindowPeer& to, LockType type, bool unchecked) {
  to.lock_type = type;
  to.lock_unchecked = unchecked;
  to.lock = WindowPeer::Lock::held;
  if (unchecked) return;
  if (!takes_lock_itself(to)) {
    to.lock = WindowPeer::Lock::wanted;
    WindowHeader packet = WindowEngine::header_to(to, WindowHeader::Kind::lock);
    if (type == LockType::shared) packet.flags = WindowHeader::shared;
    return engine_.send_packet(to, packet);
  }
  const FairLock::Ticket ticket = draw_turn(to.rank);
  if (!take_turn(to.rank, ticket, type)) wait_until([&] { return take_turn(to.rank, ticket, type); });
}

bool Window::takes_lock_itself(const WindowPeer& to) const {
  return to.link.channel == nullptr || members_.at(to.rank).control != nullptr;
}

// Gives it back behind all operations.
void Window::begin_unlock(WindowPeer& to) {
  to.lock = WindowPeer::Lock::none;
  if (to.lock_unchecked) return ask_for_flush(to);
  if (takes_lock_itself(to)) return end_turn(to.rank, to.lock_type);
  to.asked = ++to.sent;
  WindowHeader packet = WindowEngine::header_to(to, WindowHeader::Kind::unlock);
  packet.number = to.sent;
  engine_.send_packet(to, packet);
}

Result<> Window::lock(LockType type, int rank, int assertions) {
  if (access_ != Access::locked) HAWSER_TRY(check_free_for("MPI_Win_lock"));
  WindowPeer& to = peer(rank);
  if (to.lock != WindowPeer::Lock::none)
    return failure(ErrorClass::rma_sync, "MPI_Win_lock of rank {}, which this process has locked", rank);
  access_ = Access::locked;
  ++locks_held_;
  begin_lock(to, type, (assertions & window_mode::no_check) != 0);
  return {};
}

Result<> Window::unlock(int rank) {
  if (access_ != Access::locked || peer(rank).lock == WindowPeer::Lock::none)
    return failure(ErrorClass::rma_sync, "MPI_Win_unlock of rank {}, which MPI_Win_lock has not locked",
                   rank);
  WindowPeer& to = peer(rank);
  std::atomic_thread_fence(std::memory_order_seq_cst);
  if (to.lock != WindowPeer::Lock::held) wait_until([&] { return to.lock == WindowPeer::Lock::held; });
  // What the transport does by itself is not in order with packets.
  ask_for_native_flush(to);
  if (!to.native.done()) wait_until([&] { return to.native.done(); });
  // Nobody need wait for the target if there is nothing that it has to do.
  const bool idle = to.done_at_target();
  begin_unlock(to);
  if (--locks_held_ == 0) access_ = Access::none;
  return idle ? take_failure(to) : finish(rank, Until::done_at_target);
}

Result<> Window::lock_all(int assertions) {
  HAWSER_TRY(check_free_for("MPI_Win_lock_all"));
  access_ = Access::locked_all;
  lock_all_unchecked_ = (assertions & window_mode::no_check) != 0;
  // The program may read and write what is mapped; other locks are asked for with the first operation.
  ready_peer(rank());
  if (members_.shared() == 0) return {};
  for (int member = 0; member < size(); ++member)
    if (members_.at(member).control != nullptr) ready_peer(member);
  return {};
}

// The peer that an operation goes to. In an epoch of MPI_Win_lock_all its lock is asked for now.
WindowPeer& Window::ready_peer(int rank) {
  WindowPeer& to = peer(rank);
  if (access_ == Access::locked_all && to.lock == WindowPeer::Lock::none)
    begin_lock(to, LockType::shared, lock_all_unchecked_);
  return to;
}

Result<> Window::unlock_all() {
  if (access_ != Access::locked_all)
    return failure(ErrorClass::rma_sync, "MPI_Win_unlock_all without MPI_Win_lock_all");
  for_each_peer([](WindowPeer& to) { ask_for_native_flush(to); });
  wait_until([this] {
    bool waits = false;
    for_each_peer([&](const WindowPeer& to) {
      waits |= (to.lock != WindowPeer::Lock::none && to.lock != WindowPeer::Lock::held) || !to.native.done();
    });
    return !waits;
  });
  std::atomic_thread_fence(std::memory_order_seq_cst);
  for_each_peer([this](WindowPeer& to) {
    if (to.lock != WindowPeer::Lock::none) begin_unlock(to);
  });
  access_ = Access::none;
  return finish_all(Until::done_at_target);
}

}  // namespace hawser
