// Task: a piece of a collective operation, written as a coroutine over non-blocking sends and receives.
// Its text reads like the blocking algorithm of the paper; `co_await operation.arrived()` is where it
// pauses until what it started is done, and the same text serves the blocking, non-blocking and persistent
// forms.
//
// Rules, because g++ 12 miscompiles the richer forms: a Task is a free function whose first parameter is
// Operation&; its parameters and everything inside a co_await expression are trivial types; a Task is awaited
// exactly once, at once.
#pragma once

#include <coroutine>
#include <cstddef>
#include <exception>

namespace hawser {

class Operation;

namespace detail {
void* take_frame(Operation& operation, std::size_t size);
void give_back_frame(void* frame) noexcept;
void set_resume_point(Operation& operation, std::coroutine_handle<> point) noexcept;
void set_finished(Operation& operation) noexcept;
}  // namespace detail

class [[nodiscard]] Task {
 public:
  struct promise_type;
  using Coroutine = std::coroutine_handle<promise_type>;

  struct Final {
    bool await_ready() noexcept { return false; }
    std::coroutine_handle<> await_suspend(Coroutine ended) noexcept;
    void await_resume() noexcept {}
  };

  struct promise_type {
    Operation* operation;
    std::coroutine_handle<> awaiting;  // who goes on when this ends; null for the outermost

    template <class... Rest>
    explicit promise_type(Operation& o, Rest&&...) : operation(&o) {}

    template <class... Rest>
    static void* operator new(std::size_t size, Operation& o, Rest&&...) {
      return detail::take_frame(o, size);
    }
    static void operator delete(void* frame) noexcept { detail::give_back_frame(frame); }

    Task get_return_object() noexcept { return Task{Coroutine::from_promise(*this)}; }
    std::suspend_always initial_suspend() noexcept { return {}; }
    Final final_suspend() noexcept { return {}; }
    void return_void() noexcept {}
    void unhandled_exception() { throw; }  // only when memory ends, which ends the job
  };

  struct Awaiter {
    Coroutine part;
    bool await_ready() noexcept { return false; }
    std::coroutine_handle<> await_suspend(Coroutine whole) noexcept {
      part.promise().awaiting = whole;
      detail::set_resume_point(*whole.promise().operation, part);
      return part;
    }
    void await_resume() noexcept { part.destroy(); }
  };

  Awaiter operator co_await() const noexcept { return Awaiter{coroutine}; }

  Coroutine coroutine;
};

inline std::coroutine_handle<> Task::Final::await_suspend(Coroutine ended) noexcept {
  promise_type& promise = ended.promise();
  if (promise.awaiting) {
    detail::set_resume_point(*promise.operation, promise.awaiting);
    return promise.awaiting;
  }
  detail::set_finished(*promise.operation);
  return std::noop_coroutine();
}

}  // namespace hawser
