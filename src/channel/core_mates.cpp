#include "channel/core_mates.h"

#include <algorithm>
#include <utility>

namespace hawser {
namespace {

// The kernel moves processes now and then; nobody tells.
constexpr std::uint32_t asked_between_looks = 256;

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

bool CoreMates::may_use_core() {
  const std::int32_t core = current_cpu();
  if (core != core_ || ++asked_ % asked_between_looks == 0) find(core);
  return mates_.empty() || std::ranges::any_of(mates_, [this](std::int32_t mate) {
           return mate == writer_ || may_go_on(segment_.block(mate));
         });
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
