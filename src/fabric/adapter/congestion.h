// CongestionControl: how a queue pair slows down when the network says that it is in the way of others, after
// InfiniBand's annex A10. A switch marks packets that find too much waiting for their output (ecn-threshold);
// the receiver sends the mark back in an acknowledgement, at once; each one that comes back raises the queue
// pair's index into the table of delays, and a timer lowers it again. The table is linear: at index i, i /
// divisor packet times pass between the end of a packet and the beginning of the next, so that the share of
// the link is divisor / (divisor + i).
//
// Only what requesters of reliable connections send is slowed down: not answers to reads, not datagrams.
#pragma once

#include <algorithm>

#include "base/time.h"
#include "fabric/parameters.h"

namespace hawser::fabric {

class CongestionControl {
 public:
  // The index now; it has gone down by one for every ccti-timer since it last went up from zero or was
  // lowered.
  int index(const Parameters& parameters, Nanoseconds now) {
    const Nanoseconds ticks = (now - since_) / parameters.ccti_timer;
    index_ = static_cast<int>(std::max<Nanoseconds>(0, index_ - ticks));
    since_ += ticks * parameters.ccti_timer;
    return index_;
  }
  // A mark came back.
  void notify(const Parameters& parameters, Nanoseconds now) {
    index_ = std::min(index(parameters, now) + parameters.ccti_increase, parameters.ccti_limit);
  }
  // A packet that occupies the link for `duration` goes out.
  void sent(const Parameters& parameters, Nanoseconds now, Nanoseconds duration) {
    const int at = index(parameters, now);
    if (at == 0) return;
    not_before_ = std::max(now, not_before_) + duration + duration * at / parameters.cct_divisor;
  }
  // When the next packet may go out.
  Nanoseconds not_before() const { return not_before_; }
  void reset() { *this = {}; }

 private:
  int index_ = 0;
  Nanoseconds since_ = 0;
  Nanoseconds not_before_ = 0;
};

}  // namespace hawser::fabric
