// Flushes, fences, and MPI_Win_post, start, complete and wait (section 12.5).
#include <algorithm>
#include <atomic>

#include "mpi/failure.h"
#include "window/window.h"
#include "window/window_engine.h"

namespace hawser {

// --- The end of operations ---

void Window::ask_for_flush(WindowPeer& peer) {
  ask_for_native_flush(peer);
  if (peer.asked == peer.sent) return;
  peer.asked = peer.sent;
  WindowHeader packet = WindowEngine::header_to(peer, WindowHeader::Kind::flush);
  packet.number = peer.sent;
  engine_.send_packet(peer, packet);
}

void Window::ask_for_native_flush(WindowPeer& peer) {
  const bool queued = !peer.queue.empty() && peer.native.memory != nullptr;
  if (queued)
    peer.native.flush_wanted = true;
  else if (peer.native.unflushed)
    peer.native.flush(peer.link.process);
}

namespace {

template <class Until>
bool is_over(const WindowPeer& peer, Until until) {
  return until == Until::buffers_free ? peer.in_use == 0 : peer.done_at_target();
}

}  // namespace

Result<> Window::take_failure(WindowPeer& peer) {
  if (peer.failure.error == 0 && peer.native.failure.error == 0) [[likely]]
    return {};
  const FailureOnWire native = std::exchange(peer.native.failure, {});
  const FailureOnWire failure = std::exchange(peer.failure, {});
  return result_of(failure.error != 0 ? failure : native);
}

// Waits until operations on this rank are over, and answers the first error of any.
Result<> Window::finish(int rank, Until until) {
  // Stores to memory that others map are seen by them before what this process does next.
  std::atomic_thread_fence(std::memory_order_seq_cst);
  if (peers_.empty() || peers_[static_cast<std::size_t>(rank)] == nullptr) return {};
  WindowPeer& to = *peers_[static_cast<std::size_t>(rank)];
  if (until == Until::done_at_target) ask_for_flush(to);
  if (!is_over(to, until)) wait_until([&] { return is_over(to, until); });
  return take_failure(to);
}

Result<> Window::finish_all(Until until) {
  std::atomic_thread_fence(std::memory_order_seq_cst);
  if (until == Until::done_at_target) for_each_peer([this](WindowPeer& to) { ask_for_flush(to); });
  std::size_t first = 0;  // that is not over
  wait_until([&] {
    while (first < peers_.size() && (peers_[first] == nullptr || is_over(*peers_[first], until))) ++first;
    return first == peers_.size();
  });
  Result<> result;
  for_each_peer([&](WindowPeer& to) {
    auto failed = take_failure(to);
    if (result) result = std::move(failed);
  });
  return result;
}

Result<> Window::flush_slowly(int rank) {
  HAWSER_TRY(check_locked("MPI_Win_flush", rank));
  return finish(rank, Until::done_at_target);
}
Result<> Window::flush_all() {
  HAWSER_TRY(check_passive("MPI_Win_flush_all"));
  return finish_all(Until::done_at_target);
}
Result<> Window::flush_local(int rank) {
  HAWSER_TRY(check_locked("MPI_Win_flush_local", rank));
  return finish(rank, Until::buffers_free);
}
Result<> Window::flush_local_all() {
  HAWSER_TRY(check_passive("MPI_Win_flush_local_all"));
  return finish_all(Until::buffers_free);
}

Result<> Window::sync() {
  std::atomic_thread_fence(std::memory_order_seq_cst);
  engine_.waiting().make_progress();
  return {};
}

// --- Epochs in which the target takes part ---

// For the calls that begin an access epoch.
Result<> Window::check_free_for(const char* call) const {
  if (access_ == Access::none || access_ == Access::fence_unused) return {};
  return failure(ErrorClass::rma_sync, "{} in an access epoch that {} began and nothing ended", call,
                 access_ == Access::fence     ? "MPI_Win_fence"
                 : access_ == Access::started ? "MPI_Win_start"
                 : access_ == Access::locked  ? "MPI_Win_lock"
                                              : "MPI_Win_lock_all");
}

Result<> Window::barrier() {
  CollectiveCall call{};
  call.kind = Collective::barrier;
  return engine_.collectives().run(*communicator_, call);
}

Result<> Window::fence(int assertions) {
  if (access_ != Access::fence) HAWSER_TRY(check_free_for("MPI_Win_fence"));
  if (exposure_ != Exposure::none)
    return failure(ErrorClass::rma_sync, "MPI_Win_fence in an exposure epoch that MPI_Win_post began");
  Result<> over;
  if ((assertions & window_mode::no_precede) == 0) over = finish_all(Until::done_at_target);
  access_ = (assertions & window_mode::no_succeed) != 0 ? Access::none : Access::fence_unused;
  HAWSER_TRY(barrier());
  engine_.waiting().expect();
  return over;
}

std::vector<int> Window::ranks_of(const Group& named) const {
  std::vector<int> ranks;
  for (int i = 0; i < named.size(); ++i) {
    const int rank = group()->rank_of(named.process_of(i));
    if (rank != undefined) ranks.push_back(rank);
  }
  return ranks;
}

// Tells a member, which may be this process itself.
void Window::signal(int rank, WindowHeader::Kind kind) {
  WindowPeer& to = peer(rank);
  if (to.link.channel != nullptr) return engine_.send_packet(to, WindowEngine::header_to(to, kind));
  ++(kind == WindowHeader::Kind::posted ? to.posts : to.completions);
}

Result<> Window::start(const Group& named, int assertions) {
  HAWSER_TRY(check_free_for("MPI_Win_start"));
  std::vector<int> ranks = ranks_of(named);
  if (static_cast<int>(ranks.size()) != named.size())
    return failure(ErrorClass::group, "MPI_Win_start names a process that is not in the window's group");
  if ((assertions & window_mode::no_check) == 0) {
    std::size_t heard = 0;
    wait_until([&] {
      while (heard < ranks.size() && peer(ranks[heard]).posts > 0) ++heard;
      return heard == ranks.size();
    });
    for (const int rank : ranks) --peer(rank).posts;
  }
  for (const int rank : ranks) peer(rank).started = true;
  started_ = std::move(ranks);
  access_ = Access::started;
  return {};
}

Result<> Window::complete() {
  if (access_ != Access::started)
    return failure(ErrorClass::rma_sync, "MPI_Win_complete without MPI_Win_start");
  access_ = Access::none;
  std::atomic_thread_fence(std::memory_order_seq_cst);
  for (const int rank : started_) ask_for_native_flush(peer(rank));
  // What a get still fetches, the target may change once it has heard that the epoch is over.
  Result<> result;
  for (const int rank : started_) {
    auto failed = finish(rank, Until::buffers_free);
    if (result) result = std::move(failed);
  }
  for (const int rank : started_) {
    WindowPeer& to = peer(rank);
    if (!to.native.done()) wait_until([&] { return to.native.done(); });
    to.started = false;
    signal(rank, WindowHeader::Kind::completed);
  }
  started_.clear();
  return result;
}

Result<> Window::post(const Group& named, int assertions) {
  if (exposure_ != Exposure::none)
    return failure(ErrorClass::rma_sync, "MPI_Win_post in an exposure epoch that MPI_Win_post began");
  if (access_ == Access::fence)
    return failure(ErrorClass::rma_sync, "MPI_Win_post in an epoch that MPI_Win_fence began");
  std::vector<int> ranks = ranks_of(named);
  if (static_cast<int>(ranks.size()) != named.size())
    return failure(ErrorClass::group, "MPI_Win_post names a process that is not in the window's group");
  posted_ = std::move(ranks);
  exposure_ = Exposure::posted;
  if ((assertions & window_mode::no_check) != 0) return {};
  for (const int rank : posted_) signal(rank, WindowHeader::Kind::posted);
  engine_.waiting().expect();
  return {};
}

bool Window::all_completed() {
  return std::all_of(posted_.begin(), posted_.end(), [this](int rank) { return peer(rank).completions > 0; });
}

Result<> Window::wait() {
  if (exposure_ != Exposure::posted)
    return failure(ErrorClass::rma_sync, "MPI_Win_wait without MPI_Win_post");
  wait_until([this] { return all_completed(); });
  end_exposure();
  return {};
}

Result<> Window::test(bool& done) {
  if (exposure_ != Exposure::posted)
    return failure(ErrorClass::rma_sync, "MPI_Win_test without MPI_Win_post");
  engine_.waiting().make_progress();
  done = all_completed();
  if (done) end_exposure();
  return {};
}

void Window::end_exposure() {
  for (const int rank : posted_) --peer(rank).completions;
  posted_.clear();
  exposure_ = Exposure::none;
  std::atomic_thread_fence(std::memory_order_seq_cst);
}

}  // namespace hawser
