// Window: memory of a group of processes that the others put into, get from and calculate in (MPI-5.0 chapter
// 12), as one of its processes sees it.
//
// An operation on this process's own memory, or on memory that is mapped here, is a copy and done at once.
// Every other one goes to the target as an active message (window_wire.h). Nothing here waits but
// the calls of synchronization that MPI lets wait.
//
// Errors: what the origin can see it answers at once (rma_range, rma_sync); what only the target can see
// (memory that is not attached) is the result of the next call that completes operations there. A call that
// fails has done nothing, unless it says otherwise.
//
// Threads: none; under the process's lock, like everything.
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "base/function_ref.h"
#include "communicator/attribute.h"
#include "communicator/communicator.h"
#include "communicator/error_handler.h"
#include "communicator/info.h"
#include "communicator/trouble.h"
#include "message/request.h"
#include "message/transfer.h"
#include "window/attached_memory.h"
#include "window/fair_lock.h"
#include "window/members.h"
#include "window/window_peer.h"
#include "window/window_types.h"

namespace hawser {

class WindowEngine;

class Window final : public Counted {
 public:
  // What the user can change.
  std::string name;
  Ref<ErrorHandler> error_handler;  // never null once the program has the window
  Ref<Info> hints;                  // null: none
  AttributeSet attributes;
  std::uint32_t handle = 0;  // number in the process's object table; used by binding/ only

  ~Window() override;

  // A communicator of the window's own, over the group that made it.
  Communicator& communicator() const { return *communicator_; }
  const Ref<Group>& group() const { return communicator_->group(); }
  int rank() const { return communicator_->rank(); }
  // Whether a process of the window has failed: it is of no use any more.
  bool stopped() { return stop_.raised(); }
  int size() const { return communicator_->size(); }
  // This process's part.
  const WindowMemory& memory() const { return memory_; }
  // Of a member: bytes, and what displacements count. (A dynamic window: 0 and 1.)
  std::int64_t size_of(int rank) const { return members_.at(rank).size; }
  std::int64_t displacement_unit_of(int rank) const { return members_.at(rank).unit; }
  // Null: not mapped here. Of size 0: not null, but no memory.
  std::byte* mapped_base_of(int rank) const {
    return memory_.shared == nullptr ? nullptr : memory_.shared->base_of(rank);
  }

  // --- Operations (section 12.3). The rank is one of the window's, types are committed, counts not negative;
  // operators passed Operator::check_accumulate. `request` is null, or gets the request of the R form, which
  // may be complete.
  Result<> put(const OriginData& origin, const TargetData& target, Request** request = nullptr) {
    const std::int64_t bytes = origin.count * origin.type->size;
    std::byte* const place = place_here(target, *origin.type, bytes);
    if (place == nullptr || request != nullptr) return put_slowly(origin, target, request);
    copy_bytes(place, address(origin.buffer, origin.type->true_lower_bound), bytes);
    return {};
  }
  Result<> get(const ResultData& result, const TargetData& target, Request** request = nullptr) {
    const std::int64_t bytes = result.count * result.type->size;
    const std::byte* const place = place_here(target, *result.type, bytes);
    if (place == nullptr || request != nullptr) return get_slowly(result, target, request);
    copy_bytes(address(result.buffer, result.type->true_lower_bound), place, bytes);
    return {};
  }
  Result<> accumulate(const OriginData& origin, const TargetData& target, const Operator& operation,
                      Request** request = nullptr);
  // `origin` is not looked at with MPI_NO_OP.
  Result<> get_accumulate(const OriginData& origin, const ResultData& result, const TargetData& target,
                          const Operator& operation, Request** request = nullptr);
  // One element of a predefined type.
  Result<> fetch_and_op(const void* origin, void* result, const Datatype& type, int rank,
                        std::int64_t displacement, const Operator& operation);
  Result<> compare_and_swap(const void* origin, const void* compared, void* result, const Datatype& type,
                            int rank, std::int64_t displacement);

  // --- Epochs (section 12.5). Assertions are bits of window_mode. An error of an operation that ends here is
  // this call's error.
  Result<> fence(int assertions);
  Result<> start(const Group& group, int assertions);
  Result<> complete();
  Result<> post(const Group& group, int assertions);
  Result<> wait();
  Result<> test(bool& done);
  Result<> lock(LockType type, int rank, int assertions);
  Result<> lock_all(int assertions);
  Result<> unlock(int rank);
  Result<> unlock_all();
  Result<> flush(int rank) {
    // Where the memory is shared, all was done at once.
    if (access_ != Access::locked_all || members_.at(rank).control == nullptr) return flush_slowly(rank);
    std::atomic_thread_fence(std::memory_order_seq_cst);
    return {};
  }
  Result<> flush_all();
  Result<> flush_local(int rank);
  Result<> flush_local_all();
  Result<> sync();

  // --- Dynamic windows: memory of this process.
  Result<> attach(void* base, std::int64_t size);
  Result<> detach(const void* base);

  // Collective. The window is of no more use to anybody; its memory may be freed by who allocated it. Fails
  // with rma_sync, and does nothing, while an epoch is open.
  Result<> free();

 private:
  friend class WindowEngine;
  friend class WindowServer;
  friend class ExposedAnswer;

  // What this process has begun and not ended. A fence both ends an epoch and begins one, which counts as
  // open only when it is used: what follows may as well be a lock or a start.
  enum class Access : std::uint8_t { none, fence_unused, fence, started, locked, locked_all };
  enum class Exposure : std::uint8_t { none, posted };

  Window(WindowEngine& engine, Ref<Communicator> communicator, WindowMemory memory);

  std::uint32_t id() const { return communicator_->context(); }

  // operations.cpp
  bool may_access(int rank) {
    if (access_ == Access::locked_all || access_ == Access::fence) [[likely]]
      return true;
    return begins_access(rank);
  }
  bool begins_access(int rank);
  // With dynamic windows, or MPI_BOTTOM, the displacement is the address, and arithmetic on a null pointer is
  // undefined.
  static std::byte* address(const void* base, std::int64_t displacement) {
    return reinterpret_cast<std::byte*>(reinterpret_cast<std::uintptr_t>(base) +
                                        static_cast<std::uintptr_t>(displacement));
  }
  // The most frequent case: both sides in one piece, and the target's memory can be reached here. Null: it is
  // another one, or an error.
  std::byte* place_here(const TargetData& target, const Datatype& ours, std::int64_t bytes) {
    const Members::Member& member = members_.at(target.rank);
    const Datatype& type = *target.type;
    if (member.mapped == nullptr || !ours.contiguous || !type.contiguous) return nullptr;
    std::int64_t at = 0;
    if (__builtin_mul_overflow(target.displacement, member.unit, &at)) return nullptr;
    if (bytes <= 0 || bytes != target.count * type.size) return nullptr;
    if (__builtin_add_overflow(at, type.true_lower_bound, &at)) return nullptr;
    if (at < 0 || bytes > member.size || at > member.size - bytes || !may_access(target.rank)) return nullptr;
    return member.mapped + at;
  }
  Result<> put_slowly(const OriginData& origin, const TargetData& target, Request** request);
  Result<> get_slowly(const ResultData& result, const TargetData& target, Request** request);
  bool calculate_here(const OriginData* origin, void* result, const TargetData& target,
                      PredefinedOperator operation);
  Result<> aim(WindowCall& call, const TargetData& target);
  Result<> run(WindowCall& call, Request** request);
  Result<bool> run_here(WindowCall& call);
  static void accumulate_here(const WindowCall& call, const ByteSequence& place, WindowControl* control);
  Result<> check_attached(const WindowCall& call) const;
  Result<> accumulate(WindowHeader::Kind kind, const OriginData* origin, const ResultData* result,
                      const TargetData& target, const Operator& operation, Request** request);
  WindowPeer& ready_peer(int rank);

  // window.cpp
  WindowPeer& peer(int rank) {
    if (peers_.empty()) peers_.resize(static_cast<std::size_t>(size()));
    const std::unique_ptr<WindowPeer>& known = peers_[static_cast<std::size_t>(rank)];
    return known != nullptr ? *known : make_peer(rank);
  }
  WindowPeer& make_peer(int rank);
  template <class Do>
  void for_each_peer(Do&& act) {
    for (const std::unique_ptr<WindowPeer>& known : peers_)
      if (known != nullptr) act(*known);
  }
  // Throws Stopped if a process of the window fails before; entry points catch it. The window is of no use
  // any more then.
  void wait_until(FunctionRef<bool()> done);
  const WindowToken* token_for(RemoteMemory* remote);
  void unregister();
  // The engine closes while the program has not freed the window.
  void abandon();

  // synchronization.cpp
  enum class Until : std::uint8_t { buffers_free, done_at_target };
  void ask_for_flush(WindowPeer& peer);
  static void ask_for_native_flush(WindowPeer& peer);
  static Result<> take_failure(WindowPeer& peer);
  Result<> flush_slowly(int rank);
  Result<> finish(int rank, Until until);
  Result<> finish_all(Until until);
  Result<> check_free_for(const char* call) const;
  std::vector<int> ranks_of(const Group& group) const;
  void signal(int rank, WindowHeader::Kind kind);
  Result<> barrier();
  bool all_completed();
  void end_exposure();

  // locks.cpp
  Result<> check_passive(const char* call) const;
  Result<> check_locked(const char* call, int rank);
  void begin_lock(WindowPeer& peer, LockType type, bool unchecked);
  void begin_unlock(WindowPeer& peer);
  bool takes_lock_itself(const WindowPeer& peer) const;
  FairLock lock_of(int rank);
  FairLock::Ticket draw_turn(int rank);
  bool take_turn(int rank, FairLock::Ticket ticket, LockType type);
  void end_turn(int rank, LockType type);
  void wake_next(int rank);

  // This process's memory with a transport that reaches it natively.
  struct Registered {
    RemoteMemory* remote = nullptr;
    bool refused = false;
    WindowToken token;
  };

  WindowEngine& engine_;
  const Ref<Communicator> communicator_;
  StopSign stop_;
  WindowMemory memory_;
  Members members_;
  AttachedMemory attached_;             // dynamic
  std::vector<Registered> registered_;  // when first asked for
  FairLock::Words own_lock_;            // of this process's memory, where that is not shared
  bool turn_drawn_ = false;             // of our own lock, for a process that asked for it
  Access access_ = Access::none;
  Exposure exposure_ = Exposure::none;
  bool freed_ = false;
  bool lock_all_unchecked_ = false;                 // Access::locked_all with MPI_MODE_NOCHECK
  int locks_held_ = 0;                              // Access::locked
  std::int64_t exposed_answers_ = 0;                // that adapters may still read from the memory
  std::vector<int> started_;                        // ranks that MPI_Win_start named
  std::vector<int> posted_;                         // ranks that MPI_Win_post named
  std::vector<std::unique_ptr<WindowPeer>> peers_;  // by rank, made when first needed
};

}  // namespace hawser
