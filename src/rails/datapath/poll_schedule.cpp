#include "rails/datapath/poll_schedule.h"

#include <utility>

namespace hawser {
namespace {

// A pass that finds nothing looks for datagrams and events, too, but not oftener than that; for datagrams
// every time for a while after the last one, for answers and the next ones come soon.
constexpr Nanoseconds look_interval = 20 * microsecond, datagram_interval = 2 * microsecond;
// The same of rails that are costly to poll, where others are not, unless something came in over them lately;
// they are looked at every so many looks.
constexpr Nanoseconds costly_interval = 100 * microsecond, busy_time = millisecond;
constexpr std::uint32_t looks_per_costly_one = costly_interval / look_interval;

}  // namespace

bool PollSchedule::to_be_polled(const Rail& rail) const {
  if (rail.queue_pairs.empty() && rail.traffic.outstanding == 0)
    return false;  // a port without a cable, perhaps
  if (!any_cheap_ || !costly(rail) || look_now_) return true;
  const bool busy = rail.polling.found() >= 0 && context_.now - rail.polling.found() < busy_time;
  return busy || context_.now - rail.polling.polled() >=
                     (rail.traffic.outstanding > 0 ? look_interval : costly_interval);
}

void PollSchedule::look() {
  if (std::exchange(datagrams_, false)) datagrams_until_ = context_.now + busy_time;
  next_look_ = context_.now + (!any_cheap_                       ? look_interval
                               : context_.now < datagrams_until_ ? 0
                                                                 : datagram_interval);
  all_ = look_now_ || context_.now - looked_at_all_ >= look_interval;
  if (!all_) return;
  looked_at_all_ = context_.now;
  poll_in_round_ = look_now_ ? 0 : (poll_in_round_ + 1) % looks_per_costly_one;
  look_now_ = false;
}

Nanoseconds PollSchedule::deadline() const {
  return skipped_ ? next_look_ : all_ ? never : looked_at_all_ + look_interval;
}

}  // namespace hawser
