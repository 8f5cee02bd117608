// Waits of a team whose ranks share cores. Such a wait costs turns on a core, and passes of progress would
// only make it longer. So for a while a rank takes turns and does nothing else.
#include "channel/core_mates.h"
#include "collective/shared/team.h"

namespace hawser {
namespace {

constexpr int turns_before_progress = 8;
// About as long as a yield in vain would take.
constexpr int looks_of_turn = 60;
constexpr int waits_after_long_yield = 100;

}  // namespace

// For a word that a rank writes. A run waits for nothing: the program may go on.
void SharedTeam::await(const std::atomic<std::uint32_t>& word, std::uint32_t value, int writer,
                       FunctionRef<bool()> done) {
  CoreMates* const mates = run_ == nullptr ? mates_ : nullptr;
  const CoreMates::Wait wait(mates, word, value, places_[static_cast<std::size_t>(writer)]);
  if (mates != nullptr && take_turns([&] { return take_turn(done, [](int) { return false; }); })) return;
  await(done);
}

// `turn` answers whether it is done. If other programs want the core, too, a rank that sleeps gets it back
// sooner than one that yields.
bool SharedTeam::take_turns(FunctionRef<bool()> turn) {
  if (waits_without_turns_ > 0) {
    --waits_without_turns_;
    return false;
  }
  for (int i = 0; i < turns_before_progress && waits_without_turns_ == 0; ++i)
    if (turn()) return true;
  return false;
}

// Yields if others may use the core, and looks if not. Whether it is done.
bool SharedTeam::take_turn(FunctionRef<bool()> done, FunctionRef<bool(int)> waits_in_vain) {
  const bool may_be_used = mates_->may_use_core(waits_in_vain);
  if ((!may_be_used || mates_->is_alone()) && look_with_pauses(looks_of_turn, done)) return true;
  if (may_be_used && yield_cpu() >= long_yield) waits_without_turns_ = waits_after_long_yield;
  return done();
}

void SharedTeam::wait_for_all_in_turns() {
  int missing = 0;
  const auto none_is_missing = [this, &missing] {
    while (missing < ranks_ && (missing == rank_ || has_posted(missing))) ++missing;
    return missing == ranks_;
  };
  const auto has_posted_from = [this](int place) {
    const auto at = static_cast<std::size_t>(place);
    return at < rank_at_.size() && rank_at_[at] >= 0 && has_posted(rank_at_[at]);
  };
  take_turns([&] {
    if (none_is_missing()) return true;
    const CoreMates::Wait wait(mates_, line(missing).posted, step_,
                               places_[static_cast<std::size_t>(missing)]);
    return take_turn(none_is_missing, has_posted_from);
  });
}

// To pause between them would be worse, for the neighbour may not run.
int SharedTeam::looks_if_crowded(int rank) const {
  constexpr int brisk_looks = 100;
  const bool runs = run_ != nullptr && !mates_->on_this_core(places_[static_cast<std::size_t>(rank)]);
  return runs ? brisk_looks : 1;
}

}  // namespace hawser
