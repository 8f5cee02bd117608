// Fiber: a function with a stack of its own that runs until it suspends, and goes on where it was when it is
// resumed. The switch is boost.context's; this adds a guarded stack, the notes that the address and thread
// sanitizers need, and the C++ run-time's exception state, which belongs to a stack, not to a thread.
//
// Threads: a fiber is resumed by one thread only. It refuses to unwind: a fiber that is abandoned (its
// simulated job ended) leaves what its stack owns behind, because the frames of MPI functions are noexcept
// and must not be left by an exception.
#pragma once

#include <cstddef>
#include <functional>

namespace hawser {

// A piece of memory for a stack with inaccessible memory below it, so that an overflow is a fault and not
// a corruption.
class FiberStack {
 public:
  explicit FiberStack(std::size_t bytes);
  FiberStack(FiberStack&& other) noexcept;
  FiberStack& operator=(FiberStack&&) = delete;
  ~FiberStack();

  std::byte* bottom() const { return bottom_; }  // lowest usable address
  std::size_t size() const { return size_; }
  // What lies on the stack stays there for good, and what it points to does not count as leaked.
  void keep_forever();

 private:
  std::byte* mapping_ = nullptr;
  std::size_t mapped_ = 0;
  std::byte* bottom_ = nullptr;
  std::size_t size_ = 0;
};

class Fiber {
 public:
  static constexpr std::size_t default_stack_bytes = 256 * 1024;

  // `body` must not let an exception out.
  Fiber(std::function<void()> body, std::size_t stack_bytes = default_stack_bytes);
  Fiber(const Fiber&) = delete;
  Fiber& operator=(const Fiber&) = delete;
  ~Fiber();  // an unfinished fiber is abandoned

  // From outside: runs the body until it suspends or ends.
  void resume();
  // From inside the body: returns from resume(); goes on at the next resume().
  void suspend();

  bool finished() const { return finished_; }
  bool running() const { return running_; }

 private:
  // What a stack owns besides its bytes, kept while another stack runs.
  struct StackState {
    void* context = nullptr;     // where to jump to
    void* fake_stack = nullptr;  // address sanitizer
    void* tsan_fiber = nullptr;  // thread sanitizer
    const void* bottom = nullptr;
    std::size_t size = 0;
    void* exceptions[2] = {};  // __cxa_eh_globals
  };
  static void entry(void* fiber) noexcept;
  void run_body() noexcept;
  static void leave(StackState& from, StackState& to, bool for_good);
  static void arrive(StackState& here, StackState& from);
  void switch_to(StackState& from, StackState& to, bool for_good);

  FiberStack stack_;
  std::function<void()> body_;
  StackState inside_;
  StackState outside_;
  bool running_ = false;
  bool finished_ = false;

  friend struct FiberEntry;
};

}  // namespace hawser
