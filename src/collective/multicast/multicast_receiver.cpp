#include "collective/multicast/multicast_receiver.h"

#include <algorithm>
#include <utility>

#include "base/assert.h"

namespace hawser {

MulticastReceiver::Take MulticastReceiver::take(std::uint32_t packet, bool held, Way way, Nanoseconds now) {
  const std::uint32_t ahead = packet - base_;
  const bool before = ahead >= std::uint32_t{1} << 31;
  if (!before && ahead >= window) return Take::beyond;
  if (before || (received_ >> ahead & 1) != 0) {
    // Or the network doubled it.
    if (way == Way::repair || repaired_[packet % window] == packet + 1) {
      ++duplicates_;
      repaired_[packet % window] = 0;
      if (!std::exchange(waited_in_time_, true)) patience_ = std::min(2 * patience_, most_patience);
    }
    return Take::duplicate;
  }
  if (way == Way::repair) repaired_[packet % window] = packet + 1;
  const std::uint64_t bit = std::uint64_t{1} << ahead;
  received_ |= bit;
  if (held) held_ |= bit;
  advance();
  if (way == Way::multicast) waits_ = false;
  if (waiting_ > 0 && !waits_) {
    timer_begins_ = false;
    due_ = now + (gap() ? reordering : patience_);
  }
  return Take::fresh;
}

void MulticastReceiver::advance() {
  while ((received_ & ~held_ & 1) != 0) {
    received_ >>= 1;
    held_ >>= 1;
    ++base_;
  }
}

void MulticastReceiver::release(std::uint32_t packet) {
  const std::uint32_t ahead = packet - base_;
  HAWSER_ASSERT(ahead < window && (held_ >> ahead & 1) != 0);
  held_ &= ~(std::uint64_t{1} << ahead);
  advance();
}

void MulticastReceiver::begin_wait() {
  ++waiting_;
  if (!waits_) timer_begins_ = true;
  due_ = std::min<Nanoseconds>(due_, 0);
}

void MulticastReceiver::end_wait() {
  HAWSER_ASSERT(waiting_ > 0);
  const bool first = !std::exchange(ended_one_, true);
  if (!waits_) patience_ = std::max(least_patience, patience_ - patience_ / 16);
  if (--waiting_ > 0) {
    // Nobody could be told until now that the others wait, so their time did not run.
    if (first) {
      timer_begins_ = true;
      due_ = 0;
    }
    return;
  }
  waits_ = timer_begins_ = false;
  due_ = never;
}

void MulticastReceiver::look(Nanoseconds now) {
  if (now < due_) return;
  if (waiting_ == 0 || waits_ || !ended_one_) {
    timer_begins_ = false;
    due_ = never;
  } else if (timer_begins_) {
    timer_begins_ = false;
    due_ = now + patience_;
  } else {
    waits_ = true;
    waited_in_time_ = false;
    ++all_waits_;
    due_ = never;
  }
}

bool MulticastReceiver::wants_to_tell() const {
  if (!ended_one_) return false;
  return waits_ != told_waits_ || base_ - told_base_ >= acknowledge_at_ || rails_ != told_rails_ ||
         duplicates_ - told_duplicates_ >= duplicates_told;
}

LeaderStatus MulticastReceiver::status() const {
  return {base_, duplicates_, received_, rails_, static_cast<std::uint32_t>(waits_)};
}

void MulticastReceiver::on_told() {
  if (base_ - told_base_ >= acknowledge_at_) acknowledge_at_ = acknowledge_every;
  told_base_ = base_;
  told_waits_ = waits_;
  told_rails_ = rails_;
  told_duplicates_ = duplicates_;
}

}  // namespace hawser
