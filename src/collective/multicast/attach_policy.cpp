#include "collective/multicast/attach_policy.h"

#include <algorithm>

namespace hawser {

void AttachPolicy::on_wait(Nanoseconds waited) {
  mean_ += (std::min(waited, most_counted) - mean_) / 8;
  if (++judged_ < needed_ || mean_ < long_wait) return;
  attached_ = true;
  was_late_ = false;
  begun_ = in_time_ = 0;
}

void AttachPolicy::on_in_time(bool trial) {
  in_time_ += trial ? trial_every : 1;
  if (in_time_ < detach_after) return;
  attached_ = false;
  needed_ = was_late_ ? least_judged : std::min(2 * needed_, most_judged);
  judged_ = 0;
  mean_ = 0;
}

void AttachPolicy::on_late() {
  in_time_ = 0;
  was_late_ = true;
}

}  // namespace hawser
