#include "channel/core_mates.h"

#include <algorithm>
#include <utility>

namespace hawser {
namespace {

// The kernel moves processes now and then; nobody tells.
constexpr std::uint32_t asked_between_looks = 256;

// What other processes say may be wrong.
constexpr std::size_t max_cpus = 64 * std::size(CpuSet().words);

bool reached(std::uint32_t value, std::uint32_t wanted) {
  return static_cast<std::int32_t>(value - wanted) >= 0;
}

}  // namespace

CoreMates::CoreMates(SharedSegment segment, std::int32_t self) : segment_(std::move(segment)), self_(self) {}

void CoreMates::say(const std::atomic<std::uint32_t>& word, std::uint32_t value, std::int32_t writer) {
  Awaited& awaited = segment_.block(self_).awaited;
  awaited.value.store(value, std::memory_order_relaxed);
  awaited.offset.store(segment_.offset_of(&word), std::memory_order_release);
  writer_ = writer;
}

void CoreMates::say_nothing() {
  segment_.block(self_).awaited.offset.store(0, std::memory_order_relaxed);
  writer_ = -1;
}

void CoreMates::look_around() {
  const std::int32_t core = current_cpu();
  if (core == core_ && ++asked_ % asked_between_looks != 0) return;
  find(core);
  // One at a time.
  if (spreads_ && !mates_.empty() && self_ > mates_.back()) spread();
}

int CoreMates::less_used_core(const std::vector<int>& processes, int core, const CpuSet& usable) {
  const auto count = [&processes](int of) {
    return static_cast<std::size_t>(of) < processes.size() ? processes[static_cast<std::size_t>(of)] : 0;
  };
  int least = core;
  for (int other = 0; other < static_cast<int>(64 * std::size(usable.words)); ++other)
    if (usable.has(other) && count(other) < count(least)) least = other;
  return count(least) + 2 <= count(core) ? least : -1;
}

void CoreMates::spread() {
  std::vector<int> processes;
  for (std::int32_t i = 0; i < segment_.layout().processes; ++i) {
    const std::int32_t core = segment_.block(i).core.load(std::memory_order_relaxed) - 1;
    if (core < 0) return;  // it has not said yet
    const auto at = static_cast<std::size_t>(core) % max_cpus;
    processes.resize(std::max(processes.size(), at + 1));
    ++processes[at];
  }
  const int core = less_used_core(processes, core_, usable_cpus());
  if (core < 0) return;
  move_to_cpu(core);
  find(current_cpu());
}

void CoreMates::find(std::int32_t core) {
  core_ = core;
  segment_.block(self_).core.store(core + 1, std::memory_order_relaxed);
  mates_.clear();
  for (std::int32_t i = 0; i < segment_.layout().processes; ++i) {
    if (i != self_ && segment_.block(i).core.load(std::memory_order_relaxed) == core + 1) mates_.push_back(i);
  }
}

// What the mate says comes from another process: it may be wrong.
bool CoreMates::may_go_on(const ProcessBlock& mate) const {
  const std::int64_t offset = mate.awaited.offset.load(std::memory_order_acquire);
  const std::atomic<std::uint32_t>* const word = segment_.word_at(offset);
  return offset == 0 || word == nullptr ||
         reached(word->load(std::memory_order_relaxed), mate.awaited.value.load(std::memory_order_relaxed));
}

}  // namespace hawser
