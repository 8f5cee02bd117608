#include "collective/multicast/multicast_sender.h"

#include <algorithm>
#include <utility>

#include "base/assert.h"
#include "base/planted_bug.h"

namespace hawser {
namespace {

// Of packets sent, before the rest is judged: so many of them sent again, and one in so many.
constexpr std::uint32_t repairs_forgiven = 4, packets_for_a_repair = 16;
// After so many packets without such a judgement the past is forgotten.
constexpr std::uint32_t packets_judged = 512;

constexpr Nanoseconds look_for_room = 10 * microsecond;

std::uint64_t bits_below(std::uint32_t count) {
  return count >= 64 ? ~std::uint64_t{0} : (std::uint64_t{1} << count) - 1;
}

}  // namespace

void MulticastSender::count_repair(std::uint32_t packet) {
  ++repairs_;
  ++all_repairs_;
  if (std::exchange(repaired_[packet % window], packet + 1) != packet + 1) ++packets_repaired_;
}

// Leaders do not say of which packets they had two, so these count as if they were of all alike.
bool MulticastSender::many_repairs() const {
  const std::uint64_t repairs = std::max(repairs_, 1u), needed = repairs_ - std::min(in_vain_, repairs_);
  const std::uint64_t packets = (packets_repaired_ * needed + repairs - 1) / repairs;
  return packets > repairs_forgiven + sent_ / packets_for_a_repair;
}

bool MulticastSender::chooses_multicast(std::uint32_t own_rails, Nanoseconds now) {
  if ((own_rails & rails_) == 0 || now < suspended_until_) return false;
  flight_ = std::max(shortest_flight, flight_ - flight_ / 16);
  if (many_repairs()) {
    suspended_until_ = now + pause_;
    pause_ = std::min(2 * pause_, longest_pause);
    ++suspensions_;
    sent_ = packets_repaired_ = repairs_ = in_vain_ = 0;
    return false;
  }
  if (sent_ >= packets_judged) {
    pause_ = first_pause;
    sent_ = packets_repaired_ = repairs_ = in_vain_ = 0;
  }
  return true;
}

void MulticastSender::on_sent() {
  HAWSER_ASSERT(admits());
  ++next_;
  ++sent_;
  if (waiting_ > 0) due_ = 0;
}

void MulticastSender::note_time(Nanoseconds now) {
  if (timed_ == next_) return;
  for (; timed_ != next_; ++timed_) sent_at_[timed_ % window] = now;
  for (Leader& leader : leaders_)
    if (leader.waits) leader.due = std::min(leader.due, now + flight_);
  find_due();
}

void MulticastSender::on_no_way(Nanoseconds now) {
  HAWSER_ASSERT(admits());
  note_time(now - flight_);
  sent_at_[next_ % window] = now - flight_;
  timed_ = ++next_;
  // Others must not take this way.
  packets_repaired_ += repairs_forgiven + 1;
  repairs_ += repairs_forgiven + 1;
  for (Leader& leader : leaders_) {
    if (!leader.waits) ++waiting_;
    leader.waits = true;
    leader.due = now;
  }
  due_ = now;
}

bool MulticastSender::on_status(int number, const LeaderStatus& status, Nanoseconds now) {
  Leader& leader = leaders_[static_cast<std::size_t>(number)];
  std::uint32_t advance = status.expected - leader.acknowledged;
  const std::uint32_t under_way = next_ - leader.acknowledged;
  if (advance > under_way || (status.received & ~bits_below(under_way - advance)) != 0) return false;
  if (planted(PlantedBug::acknowledged_twice)) advance = std::min(2 * advance, under_way);
  const bool was_lowest = advance > 0 && leader.acknowledged == lowest_;
  leader.acknowledged += advance;
  leader.has = advance >= 64 ? 0 : leader.has >> advance;
  leader.has |= status.received;
  // What came twice was not lost: packets take longer than was thought.
  const std::uint32_t in_vain = status.duplicates - leader.duplicates;
  leader.duplicates = status.duplicates;
  if (in_vain > 0) {
    in_vain_ += in_vain;
    // Once for what all leaders have to say of it.
    if (now - flight_since_ >= flight_) {
      flight_ = std::min(2 * flight_, longest_flight);
      flight_since_ = now;
    }
  }
  if (leader.rails != status.rails) {
    leader.rails = status.rails;
    rails_ = ~0u;
    for (const Leader& each : leaders_) rails_ &= each.rails;
  }
  waiting_ += static_cast<int>(status.waits != 0) - static_cast<int>(leader.waits);
  leader.waits = status.waits != 0;
  leader.put_off = false;
  leader.due = leader.waits && leader.acknowledged != next_ ? now : never;
  if (was_lowest) find_lowest();
  find_due();
  return true;
}

void MulticastSender::find_lowest() {
  std::uint32_t behind = 0;
  for (const Leader& leader : leaders_) behind = std::max(behind, next_ - leader.acknowledged);
  lowest_ = next_ - behind;
}

void MulticastSender::find_due() {
  due_ = never;
  if (waiting_ == 0) return;
  for (const Leader& leader : leaders_) due_ = std::min(due_, leader.due);
}

void MulticastSender::repair(Nanoseconds now, FunctionRef<bool(int, std::uint32_t)> again) {
  note_time(now);
  if (now < due_) return;
  bool room = true;
  for (std::size_t i = 0; i < leaders_.size() && room; ++i) {
    Leader& leader = leaders_[i];
    if (leader.due > now) continue;
    if (now < all_read_ && !std::exchange(leader.put_off, true)) {
      leader.due = all_read_;
      continue;
    }
    leader.due = never;
    for (std::uint32_t bit = 0; room && bit != next_ - leader.acknowledged; ++bit) {
      if ((leader.has >> bit & 1) != 0) continue;
      const std::uint32_t packet = leader.acknowledged + bit;
      const Nanoseconds lands = sent_at_[packet % window] + flight_;
      if (lands > now) {
        leader.due = std::min(leader.due, lands);
        continue;
      }
      room = again(static_cast<int>(i), packet);
      if (!room) {
        leader.due = now + look_for_room;
        break;
      }
      leader.has |= std::uint64_t{1} << bit;
      count_repair(packet);
    }
  }
  find_due();
}

}  // namespace hawser
