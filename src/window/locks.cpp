// Passive target: locks of a member's memory (section 12.5.3). The lock of a member is its own process's:
// others ask for it, and operations wait in the peer's queue until it is given, so MPI_Win_lock itself
// returns at once, but where the program may read and write the memory itself.
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

// Asks for the lock of a member; our own is waited for.
void Window::begin_lock(WindowPeer& to, LockType type, bool unchecked) {
  to.lock_type = type;
  to.lock_unchecked = unchecked;
  if (!unchecked && to.link.channel != nullptr) {
    to.lock = WindowPeer::Lock::wanted;
    WindowHeader packet = WindowEngine::header_to(to, WindowHeader::Kind::lock);
    if (type == LockType::shared) packet.flags = WindowHeader::shared;
    return engine_.send_packet(to, packet);
  }
  if (!unchecked) {
    const FairLock::Ticket ticket = lock_.draw();
    wait_until([&] { return lock_.try_enter(ticket, type); });
  }
  to.lock = WindowPeer::Lock::held;
}

// Gives it back behind all operations.
void Window::begin_unlock(WindowPeer& to) {
  to.lock = WindowPeer::Lock::none;
  if (to.lock_unchecked) return ask_for_flush(to);
  if (to.link.channel == nullptr) return lock_.leave(to.lock_type);
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
  if (members_.at(rank).mapped != nullptr) wait_until([&] { return to.lock == WindowPeer::Lock::held; });
  return {};
}

Result<> Window::unlock(int rank) {
  if (access_ != Access::locked || peer(rank).lock == WindowPeer::Lock::none)
    return failure(ErrorClass::rma_sync, "MPI_Win_unlock of rank {}, which MPI_Win_lock has not locked",
                   rank);
  WindowPeer& to = peer(rank);
  wait_until([&] { return to.lock == WindowPeer::Lock::held; });
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
  for (int member = 0; member < size(); ++member)
    if (members_.at(member).mapped != nullptr) ready_peer(member);
  wait_until([this] {
    bool waits = false;
    for_each_peer([&](const WindowPeer& to) { waits |= to.lock == WindowPeer::Lock::wanted; });
    return !waits;
  });
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
  wait_until([this] {
    bool waits = false;
    for_each_peer([&](const WindowPeer& to) { waits |= to.lock == WindowPeer::Lock::wanted; });
    return !waits;
  });
  for_each_peer([this](WindowPeer& to) {
    if (to.lock != WindowPeer::Lock::none) begin_unlock(to);
  });
  access_ = Access::none;
  return finish_all(Until::done_at_target);
}

}  // namespace hawser
