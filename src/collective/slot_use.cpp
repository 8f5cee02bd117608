#include "collective/slot_use.h"

namespace hawser {

namespace {

// Longer blocks gain nothing.
constexpr std::int64_t most_room_of_root = 1024;

constexpr std::int64_t most_by_slots = 256;  // before ranks agree again

}  // namespace

void RootSlotUse::note(const BlockUse& all) {
  const bool fits = all.longest <= most_room_of_root;
  seen_ = seen_.joined({fits ? all.longest : 0, all.messages, fits ? 0 : 1});
}

void RootSlotUse::note_slots(bool unfit) {
  ++by_slots_;
  unfit_ += unfit;
  if (are_few(unfit_, by_slots_)) return;
  slots_ = {};
  by_slots_ = unfit_ = 0;
}

void RootSlotUse::agree(const RootBlockUse& all) {
  if (operations_ == 0) return;
  const bool fits = are_few(all.unfit, operations_);
  const Slots now = fits ? slots_for(all.longest, all.messages / operations_) : Slots{};
  between_ = now == slots_ ? std::min(2 * between_, most_by_slots) : first;
  slots_ = now;
  seen_ = {};
  operations_ = by_slots_ = unfit_ = 0;
}

}  // namespace hawser
