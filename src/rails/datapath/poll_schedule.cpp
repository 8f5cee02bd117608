#include "rails/datapath/poll_schedule.h"

namespace hawser {
namespace {

// A pass that finds nothing looks for datagrams and events, too, but not oftener than that.
constexpr Nanoseconds look_interval = 20 * microsecond;
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

bool PollSchedule::begin_look() {
  skipped_ = !look_now_ && context_.now - looked_ < look_interval;
  if (skipped_) return false;
  looked_ = context_.now;
  poll_in_round_ = look_now_ ? 0 : (poll_in_round_ + 1) % looks_per_costly_one;
  look_now_ = false;
  return true;
}

Nanoseconds PollSchedule::deadline() const { return skipped_ ? looked_ + look_interval : never; }

}  // namespace hawser
