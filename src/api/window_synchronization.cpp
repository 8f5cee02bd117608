// Epochs of windows (MPI-5.0 section 12.5).
#include "api/functions.h"
#include "mpi/failure.h"
#include "process/mpi_process.h"
#include "window/window.h"

namespace hawser::mpi {

namespace {

Result<> check_assertions(int given, int allowed) {
  if ((given & ~allowed) == 0) return {};
  return failure(ErrorClass::assertion, "assert is {}, which has bits that this call does not know", given);
}

Result<> check_rank(const Window& win, int rank) {
  if (rank >= 0 && rank < win.size()) return {};
  return failure(ErrorClass::rank, "rank is {}, but the ranks of the window are 0 to {}", rank,
                 win.size() - 1);
}

Result<> check_members(const Window& win, const Group& group) {
  for (int rank = 0; rank < group.size(); ++rank)
    if (!win.group()->contains(group.process_of(rank)))
      return failure(ErrorClass::group, "rank {} of the group is not in the window's group", rank);
  return {};
}

}  // namespace

Result<> win_fence(MpiProcess&, int assert, Window& win) {
  HAWSER_TRY(check_assertions(assert, window_mode::no_store | window_mode::no_put | window_mode::no_precede |
                                          window_mode::no_succeed));
  return win.fence(assert);
}

Result<> win_start(MpiProcess&, Group& group, int assert, Window& win) {
  HAWSER_TRY(check_assertions(assert, window_mode::no_check));
  HAWSER_TRY(check_members(win, group));
  return win.start(group, assert);
}

Result<> win_complete(MpiProcess&, Window& win) { return win.complete(); }

Result<> win_post(MpiProcess&, Group& group, int assert, Window& win) {
  HAWSER_TRY(check_assertions(assert, window_mode::no_check | window_mode::no_store | window_mode::no_put));
  HAWSER_TRY(check_members(win, group));
  return win.post(group, assert);
}

Result<> win_wait(MpiProcess&, Window& win) { return win.wait(); }

Result<> win_test(MpiProcess& process, Window& win, bool& flag) {
  process.poll_for_test();
  return win.test(flag);
}

// Locks of MPI_PROC_NULL allow operations that do nothing.
Result<> win_lock(MpiProcess&, int lock_type, int rank, int assert, Window& win) {
  HAWSER_TRY(check_assertions(assert, window_mode::no_check));
  const LockType type{static_cast<std::uint16_t>(lock_type)};
  if (lock_type < 0 || (type != LockType::exclusive && type != LockType::shared))
    return failure(ErrorClass::locktype, "lock_type is {}, but must be MPI_LOCK_SHARED or MPI_LOCK_EXCLUSIVE",
                   lock_type);
  if (rank == proc_null) return {};
  HAWSER_TRY(check_rank(win, rank));
  return win.lock(type, rank, assert);
}

Result<> win_lock_all(MpiProcess&, int assert, Window& win) {
  HAWSER_TRY(check_assertions(assert, window_mode::no_check));
  return win.lock_all(assert);
}

Result<> win_unlock(MpiProcess& process, int rank, Window& win) {
  process.poll_now_and_then();
  if (rank == proc_null) return {};
  HAWSER_TRY(check_rank(win, rank));
  return win.unlock(rank);
}

Result<> win_unlock_all(MpiProcess& process, Window& win) {
  process.poll_now_and_then();
  return win.unlock_all();
}

Result<> win_flush(MpiProcess& process, int rank, Window& win) {
  process.poll_now_and_then();
  if (rank == proc_null) return {};
  HAWSER_TRY(check_rank(win, rank));
  return win.flush(rank);
}

Result<> win_flush_all(MpiProcess& process, Window& win) {
  process.poll_now_and_then();
  return win.flush_all();
}

Result<> win_flush_local(MpiProcess& process, int rank, Window& win) {
  process.poll_now_and_then();
  if (rank == proc_null) return {};
  HAWSER_TRY(check_rank(win, rank));
  return win.flush_local(rank);
}

Result<> win_flush_local_all(MpiProcess& process, Window& win) {
  process.poll_now_and_then();
  return win.flush_local_all();
}

Result<> win_sync(MpiProcess& process, Window& win) {
  process.poll_now_and_then();
  return win.sync();
}

}  // namespace hawser::mpi
