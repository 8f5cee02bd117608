// AttachPolicy: whether a rank that is not its node's leader attaches to the multicast group, because it
// waits for its leader (M06, section 4.2). A pure machine, one for each communicator: it is given by how long
// the rank waited for the message with the broadcast since it began.
//
// Who waits may wait for the root, and not for its leader: M06's leaders tell the others which of both it is.
// Here a rank tries. Attached, it has the packets, and every now and then waits a little longer to learn
// whether its leader was in time. If it was, again and again, the rank detaches, and if it always was,
// the rank was wrong: then it takes twice as many broadcasts to be convinced again.
#pragma once

#include <cstdint>

#include "base/time.h"

namespace hawser {

class AttachPolicy {
 public:
  // It attaches if its mean wait is so long, an exponential mean in which a broadcast counts an eighth, and
  // if it was given so many broadcasts. M06 compares the mean with what attaching takes, 250 us for each rank
  // of a node. But a rank attaches once and waits each time: 16 waits of 50 us are longer than that.
  static constexpr Nanoseconds long_wait = 50 * microsecond;
  static constexpr std::uint32_t least_judged = 16, most_judged = 4096;
  // A longer wait counts as so long, because a single one is no habit.
  static constexpr Nanoseconds most_counted = 4 * long_wait;
  // One broadcast in so many is a trial: the leader is in time if its message comes so soon after the
  // packets.
  static constexpr std::uint32_t trial_every = 16;
  static constexpr Nanoseconds in_time = 20 * microsecond;
  // It detaches after so many broadcasts in a row that were in time. A trial counts for those before it, too.
  static constexpr std::uint32_t detach_after = 64;

  bool attached() const { return attached_; }
  // Not attached: a broadcast came, and this rank had waited for it so long.
  void on_wait(Nanoseconds waited);
  // Attached, and a broadcast begins: whether it is a trial.
  bool begin_trial() { return ++begun_ % trial_every == 0; }
  // Attached, and a broadcast is over: the leader's message was first, or in time in a trial.
  void on_in_time(bool trial);
  // Attached, and a trial is over: the leader was late.
  void on_late();

 private:
  bool attached_ = false;
  bool was_late_ = false;  // since it attached
  Nanoseconds mean_ = 0;
  std::uint32_t judged_ = 0, needed_ = least_judged;  // broadcasts since it detached
  std::uint32_t begun_ = 0, in_time_ = 0;             // broadcasts since it attached
};

}  // namespace hawser
