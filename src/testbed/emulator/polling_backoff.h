// How a process that polls gives way to others. Polling programs never sleep, and there may be more of them
// than cores. A yield serves while everybody yields; to somebody who computes, or polls memory without a
// call, it loses the core until the next tick of the scheduler, milliseconds later. Whoever notices that
// sleeps instead, for a while, until it is told of something: a sleeper that wakes up preempts.
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>

#include "base/time.h"
#include "os/file_descriptor.h"
#include "testbed/emulator/doorbells.h"

namespace hawser::emulator {

// What a daemon and all devices that a process has opened share.
struct WaitPage {
  std::atomic<std::uint32_t> told{0};      // counts up when completions were stored
  std::atomic<std::uint32_t> sleepers{0};  // threads that wait for that
  std::atomic<int> core{-1};               // where the process was seen last
  std::atomic<Nanoseconds> polled{0};      // when it last found nothing, by the monotonic clock
};

// Remembers that yielding cost the core.
class Crowd {
 public:
  bool here(Nanoseconds now) const { return now < until_.load(std::memory_order_relaxed); }
  // Lets others run, and notes whether they gave the core back.
  void yield(Nanoseconds now);

 private:
  std::atomic<Nanoseconds> until_{0};
};

// The scheduler's slice of the calling thread, at least 100 us: on waking up it preempts threads that have
// longer ones. The daemon's is shorter than its clients', and theirs than everybody's (some milliseconds).
// Kernels before 6.12 ignore it.
inline constexpr Nanoseconds daemon_slice = 100 * microsecond, client_slice = 400 * microsecond;
void ask_for_slice(Nanoseconds slice);
// The calling thread's sleeps end when they should; otherwise the kernel may let them be 50 us longer, so
// that several timers end together.
void ask_for_exact_timers();

// One for each process that has devices open.
class PollingBackoff {
 public:
  PollingBackoff();
  bool usable() const { return page_ != nullptr; }
  const FileDescriptor& memory() const { return memory_; }
  void rest(const DaemonPage& daemon);  // a poll has found nothing; any thread
  void show_core();

 private:
  FileDescriptor memory_;
  std::shared_ptr<std::byte> mapped_;
  WaitPage* page_ = nullptr;
  std::atomic<std::uint32_t> seen_{0}, empty_{0}, polls_{0};  // the last: since a yield
  std::atomic<Nanoseconds> since_{0};
  Crowd crowd_;
};

}  // namespace hawser::emulator
