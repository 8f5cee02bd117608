#include "channel/machine_waiter.h"

#include <algorithm>
#include <cstring>

namespace hawser {
namespace {

// The longest sleep where neighbours cannot be made to execute a barrier.
constexpr Nanoseconds short_sleep = 1 * millisecond;

constexpr std::uint32_t brisk_passes = 200;

// Longer than the turns of many neighbours that wait themselves, shorter than a turn of the kernel's.
constexpr Nanoseconds long_yield = 1 * millisecond;

enum Sleeping : std::uint32_t { awake = 0, on_futex = 1, on_descriptors = 2 };

}  // namespace

MachineWaiter::MachineWaiter(SharedMemoryChannel* shared_memory, std::int32_t machine_processes,
                             const Knobs& knobs)
    : block_(shared_memory != nullptr ? &shared_memory->own_block() : nullptr),
      load_(shared_memory != nullptr ? &shared_memory->load() : nullptr),
      machine_crowded_(machine_processes > online_cpus()),
      spins_(static_cast<std::uint32_t>(knobs.wait_spins)),
      yields_(static_cast<std::uint32_t>(knobs.wait_yields)),
      sleep_limit_(knobs.wait_sleep),
      membarrier_(knobs.wait_membarrier) {}

Result<> MachineWaiter::watch(int descriptor) {
  watched_ = descriptor;
  if (block_ == nullptr) return {};
  std::string name;
  auto listener = make_wake_listener(name);
  if (!listener) return listener.take_error();
  wakes_ = std::move(listener).value();
  std::memcpy(block_->wake_address, name.c_str(),
              std::min(name.size() + 1, sizeof(block_->wake_address) - 1));
  return {};
}

void MachineWaiter::idle(std::uint32_t idle_passes) {
  if (idle_passes == 0) core_taken_ = false;
  const std::uint32_t spins = crowded() ? 0 : spins_;
  if (idle_passes >= spins + yields_ || core_taken_) [[unlikely]]
    return sleep();
  if (announced_) [[unlikely]] {
    announced_ = false;
    if (block_ != nullptr) block_->sleeping.store(awake, std::memory_order_relaxed);
  }
  if (idle_passes >= spins)
    core_taken_ = yield_cpu() >= long_yield;
  else if (idle_passes >=
           brisk_passes)  // before that, a pause would put off the answer of a running neighbour
    pause_cpu();
}

void MachineWaiter::sleep() {
  if (block_ == nullptr) {
    wait_readable(watched_, -1, sleep_limit_);
    return;
  }
  const std::uint32_t how = watched_ < 0 ? on_futex : on_descriptors;
  if (!announced_ || block_->sleeping.load(std::memory_order_relaxed) == awake) {
    // First time, or woken since: announce (again), then let the caller look once more.
    block_->sleeping.exchange(how, std::memory_order_seq_cst);
    if (!membarrier_ || !remote_barrier()) sleep_limit_ = std::min(sleep_limit_, short_sleep);
    announced_ = true;
    return;
  }
  if (how == on_futex) {
    futex_wait(block_->sleeping, on_futex, sleep_limit_);
  } else {
    wait_readable(watched_, wakes_.get(), sleep_limit_);
    drain_wakes(wakes_);
  }
}

}  // namespace hawser
