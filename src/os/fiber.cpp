#include "os/fiber.h"

#include <cxxabi.h>
#include <sys/mman.h>
#include <unistd.h>

#include <boost/context/detail/fcontext.hpp>
#include <cstring>
#include <new>
#include <utility>

#include "base/assert.h"

#if defined(__SANITIZE_ADDRESS__)
#include <sanitizer/asan_interface.h>
#include <sanitizer/lsan_interface.h>
#endif
#if defined(__SANITIZE_THREAD__)
#include <sanitizer/tsan_interface.h>
#endif

namespace hawser {

namespace context = boost::context::detail;

namespace {
constexpr std::size_t wide_guard = 1 << 20;
}

FiberStack::FiberStack(std::size_t bytes) {
  const auto page = static_cast<std::size_t>(sysconf(_SC_PAGESIZE));
  size_ = (bytes + page - 1) / page * page;
  // Large stacks are for programs that nobody has checked: as wide a gap as the kernel leaves below a stack.
  const std::size_t guard = size_ >= wide_guard ? wide_guard : page;
  mapped_ = size_ + guard;
  void* mapping =
      mmap(nullptr, mapped_, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (mapping == MAP_FAILED) throw std::bad_alloc();
  mapping_ = static_cast<std::byte*>(mapping);
  bottom_ = mapping_ + guard;
  if (mprotect(mapping_, guard, PROT_NONE) != 0) {
    munmap(mapping_, mapped_);
    throw std::bad_alloc();
  }
}

FiberStack::FiberStack(FiberStack&& other) noexcept
    : mapping_(std::exchange(other.mapping_, nullptr)),
      mapped_(other.mapped_),
      bottom_(other.bottom_),
      size_(other.size_) {}

FiberStack::~FiberStack() {
  if (mapping_ == nullptr) return;
#if defined(__SANITIZE_ADDRESS__)
  // Frames that never returned left their red zones; the addresses will be used again.
  __asan_unpoison_memory_region(bottom_, size_);
#endif
  munmap(mapping_, mapped_);
}

void FiberStack::keep_forever() {
#if defined(__SANITIZE_ADDRESS__)
  __lsan_register_root_region(bottom_, size_);
  mapping_ = nullptr;
#endif
}

// The function that a new stack starts in. It is given the fiber, and never returns.
struct FiberEntry {
  static void run(context::transfer_t transfer) noexcept {
    auto* fiber = static_cast<Fiber*>(transfer.data);
    fiber->outside_.context = transfer.fctx;
    Fiber::entry(fiber);
  }
};

Fiber::Fiber(std::function<void()> body, std::size_t stack_bytes)
    : stack_(stack_bytes), body_(std::move(body)) {
  inside_.bottom = stack_.bottom();
  inside_.size = stack_.size();
  inside_.context = context::make_fcontext(stack_.bottom() + stack_.size(), stack_.size(), &FiberEntry::run);
#if defined(__SANITIZE_THREAD__)
  inside_.tsan_fiber = __tsan_create_fiber(0);
#endif
}

Fiber::~Fiber() {
  HAWSER_ASSERT(!running_);
  if (!finished_) stack_.keep_forever();
#if defined(__SANITIZE_THREAD__)
  __tsan_destroy_fiber(inside_.tsan_fiber);
#endif
}

void Fiber::entry(void* fiber) noexcept { static_cast<Fiber*>(fiber)->run_body(); }

void Fiber::run_body() noexcept {
  arrive(inside_, outside_);
  body_();
  body_ = nullptr;
  finished_ = true;
  running_ = false;
  switch_to(inside_, outside_, true);
  HAWSER_UNREACHABLE();
}

void Fiber::resume() {
  HAWSER_ASSERT(!running_ && !finished_);
  running_ = true;
#if defined(__SANITIZE_THREAD__)
  outside_.tsan_fiber = __tsan_get_current_fiber();
#endif
  switch_to(outside_, inside_, false);
}

void Fiber::suspend() {
  HAWSER_ASSERT(running_);
  running_ = false;
  switch_to(inside_, outside_, false);
}

void Fiber::switch_to(StackState& from, StackState& to, bool for_good) {
  leave(from, to, for_good);
  const context::transfer_t back = context::jump_fcontext(to.context, this);
  // Somebody jumped back here; where they stood is where the next jump goes.
  to.context = back.fctx;
  arrive(from, to);
}

void Fiber::leave(StackState& from, StackState& to, bool for_good) {
  abi::__cxa_eh_globals* exceptions = abi::__cxa_get_globals();
  std::memcpy(from.exceptions, exceptions, sizeof(from.exceptions));
  std::memcpy(exceptions, to.exceptions, sizeof(to.exceptions));
#if defined(__SANITIZE_ADDRESS__)
  __sanitizer_start_switch_fiber(for_good ? nullptr : &from.fake_stack, to.bottom, to.size);
#endif
#if defined(__SANITIZE_THREAD__)
  __tsan_switch_to_fiber(to.tsan_fiber, 0);
#endif
  (void)for_good;
}

// `from` is the stack that jumped here; its bounds are learned, which are unknown for a thread's own stack.
void Fiber::arrive(StackState& here, StackState& from) {
#if defined(__SANITIZE_ADDRESS__)
  __sanitizer_finish_switch_fiber(here.fake_stack, &from.bottom, &from.size);
#endif
  (void)here;
  (void)from;
}

}  // namespace hawser
