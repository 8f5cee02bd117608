#include "channel/machine_waiter.h"

#include <algorithm>
#include <cstring>
#include <utility>

#include "os/shared_memory.h"

namespace hawser {
namespace {

// The longest sleep where neighbours cannot be made to execute a barrier.
constexpr Nanoseconds short_sleep = 1 * millisecond;

constexpr std::uint32_t brisk_passes = 200;
constexpr std::uint32_t passes_per_yield = 60;  // about 3 us

enum Sleeping : std::uint32_t { awake = 0, on_futex = 1, on_descriptors = 2 };

}  // namespace

MachineWaiter::MachineWaiter(SharedMemoryChannel* shared_memory, bool machine_crowded, const Knobs& knobs,
                             Clock& clock)
    : block_(shared_memory != nullptr ? &shared_memory->load().own_block() : nullptr),
      mates_(shared_memory != nullptr ? shared_memory->mates() : nullptr),
      load_(shared_memory != nullptr ? &shared_memory->load() : nullptr),
      machine_crowded_(machine_crowded),
      spins_(static_cast<std::uint32_t>(knobs.wait_spins)),
      yields_(static_cast<std::uint32_t>(knobs.wait_yields)),
      sleep_limit_(knobs.wait_sleep),
      membarrier_(knobs.wait_membarrier),
      clock_(clock) {}

Result<> MachineWaiter::watch(Transport& channel) {
  HAWSER_TRY(watch_descriptors());
  channels_.push_back(&channel);
  for (const int descriptor : channel.descriptors()) HAWSER_TRY(watched_.add(descriptor, 0, true, false));
  return {};
}

Result<> MachineWaiter::watch(int descriptor) {
  HAWSER_TRY(watch_descriptors());
  return watched_.add(descriptor, 0, true, false);
}

// From now on sleeps are on descriptors.
Result<> MachineWaiter::watch_descriptors() {
  if (!std::exchange(watches_, true)) {
    auto made = ReadySet::make();
    if (!made) return made.take_error();
    watched_ = std::move(made).value();
  }
  if (block_ == nullptr || wakes_.valid()) return {};
  std::string name;
  auto listener = make_wake_listener(name);
  if (!listener) return listener.take_error();
  wakes_ = std::move(listener).value();
  std::memcpy(block_->wake_address, name.c_str(),
              std::min(name.size() + 1, sizeof(block_->wake_address) - 1));
  return {};
}

void MachineWaiter::idle(std::uint32_t idle_passes) {
  if (idle_passes == 0) {
    core_taken_ = armed_ = false;
    kept_ = kept_in_a_row_ = 0;
  }
  if (!channels_.empty()) note_pause(idle_passes);
  const std::uint32_t spins = crowded() ? 0 : spins_;
  if (idle_passes - kept_ >= spins + yields_ || core_taken_) [[unlikely]]
    return sleep();
  if (announced_) [[unlikely]] {
    announced_ = false;
    if (block_ != nullptr) block_->sleeping.store(awake, std::memory_order_relaxed);
  }
  if (block_ != nullptr && block_->attentive.load(std::memory_order_relaxed) == 0 && idle_passes > 0)
    block_->attentive.store(1, std::memory_order_relaxed);
  if (idle_passes >= spins) {
    if (!keeps_core()) core_taken_ = yield_cpu() >= long_yield;
  } else if (idle_passes >= brisk_passes) {
    pause_cpu();  // before that, it would put off the answer of a running neighbour
  }
}

// Where nobody on this core could go on; but not for longer than a yield in vain would take, since others
// than the job's processes may want the core.
bool MachineWaiter::keeps_core() {
  if (mates_ == nullptr) return false;
  if (kept_in_a_row_ == passes_per_yield || mates_->may_use_core()) {
    kept_in_a_row_ = 0;
    return false;
  }
  ++kept_in_a_row_;
  ++kept_;
  return true;
}

// Polling an adapter may give the core away, too: one that is emulated by a process needs cores.
void MachineWaiter::note_pause(std::uint32_t idle_passes) {
  const Nanoseconds now = clock_.now();
  if (idle_passes > 0 && now - last_idle_ >= long_yield) core_taken_ = true;
  last_idle_ = now;
}

void MachineWaiter::sleep() {
  const std::uint32_t how = watches_ ? on_descriptors : on_futex;
  if (!prepare(how)) return;
  const Nanoseconds time = time_to_sleep();
  if (time <= 0) return;
  if (how == on_futex) {
    futex_wait(block_->sleeping, on_futex, time);
    return;
  }
  if (wait_readable(watched_.descriptor(), wakes_.get(), time)) armed_ = false;
  if (wakes_.valid()) drain_wakes(wakes_);
}

// False: the caller is to look at everything once more before it may sleep.
bool MachineWaiter::prepare(std::uint32_t how) {
  bool ready = true;
  if (block_ != nullptr && (!announced_ || block_->sleeping.load(std::memory_order_relaxed) == awake)) {
    // First time, or woken since: announce (again).
    block_->attentive.store(0, std::memory_order_relaxed);
    block_->sleeping.exchange(how, std::memory_order_seq_cst);
    if (!membarrier_ || !remote_barrier()) sleep_limit_ = std::min(sleep_limit_, short_sleep);
    announced_ = true;
    ready = false;
  }
  if (!armed_ && !channels_.empty()) {
    for (Transport* const channel : channels_)
      if (!channel->arm(Wake::anything))
        sleep_limit_ = std::min(sleep_limit_, short_sleep);  // it cannot wake anybody
    armed_ = true;
    ready = false;
  }
  return ready;
}

Nanoseconds MachineWaiter::time_to_sleep() const {
  Nanoseconds deadline = never;
  for (const Transport* const channel : channels_) deadline = std::min(deadline, channel->deadline());
  return deadline == never ? sleep_limit_ : std::min(sleep_limit_, deadline - clock_.now());
}

}  // namespace hawser
