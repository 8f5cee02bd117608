#include "rails/datapath/poll_schedule.h"

#include <utility>

namespace hawser {
namespace {

// How often a pass looks for datagrams, too; every time for a while after the last one, for answers and the
// next ones come soon.
constexpr Nanoseconds datagram_interval = 2 * microsecond, busy_time = millisecond;
// The same where each look is a system call, and how often their completions are looked at while something is
// under way.
constexpr Nanoseconds costly_interval = 20 * microsecond;
// How often it looks for device events (a system call for each device), and at rails that are costly to poll,
// where others are not, unless something came in over them lately.
constexpr Nanoseconds look_interval = 100 * microsecond;

}  // namespace

bool PollSchedule::to_be_polled(const Rail& rail) const {
  if (rail.queue_pairs.empty() && rail.traffic.outstanding == 0)
    return false;  // a port without a cable, perhaps
  if (!any_cheap_ || !costly(rail) || look_now_) return true;
  const bool busy = rail.polling.found() >= 0 && context_.now - rail.polling.found() < busy_time;
  return busy || context_.now - rail.polling.polled() >=
                     (rail.traffic.outstanding > 0 ? costly_interval : look_interval);
}

void PollSchedule::look() {
  if (std::exchange(datagrams_, false)) datagrams_until_ = context_.now + busy_time;
  next_look_ = context_.now + (!any_cheap_                       ? costly_interval
                               : context_.now < datagrams_until_ ? 0
                                                                 : datagram_interval);
  all_ = look_now_ || context_.now - looked_at_all_ >= look_interval;
  if (!all_) return;
  looked_at_all_ = context_.now;
  look_now_ = false;
}

Nanoseconds PollSchedule::deadline() const {
  return skipped_ ? next_look_ : all_ ? never : looked_at_all_ + look_interval;
}

}  // namespace hawser
