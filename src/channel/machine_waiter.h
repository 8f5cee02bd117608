// MachineWaiter: how a real process waits. It polls without pause for a while (a message from a running
// neighbour takes a tenth of a microsecond), then yields its core between passes, then sleeps until a
// neighbour, a socket or an adapter wakes it, or a channel has something to do by itself. With more processes
// than cores on the node it yields at once. A yield after which the core stays away for long went to somebody
// who computes: then it sleeps at once too, since who is woken gets the core back sooner than who yields.
//
// Going to sleep must not miss a message that is just being written. The sleeper sets its `sleeping` word,
// has a barrier executed in all running neighbours (membarrier), and returns for one more pass that looks at
// everything; only if that moves nothing, the next call sleeps. A neighbour that published before the
// barrier is seen by that pass; one that publishes after it sees the word and wakes the sleeper. So senders
// need no fence. Where the kernel has no such barrier, sleeps are kept short instead. Channels that must be
// asked to wake somebody (adapters) are armed before that pass, too.
#pragma once

#include <vector>

#include "base/knobs.h"
#include "channel/shared_memory_channel.h"
#include "channel/waiter.h"
#include "os/ready_set.h"

namespace hawser {

class MachineWaiter final : public Waiter {
 public:
  // `shared_memory` is null if this process has no neighbours. `machine_crowded`: the processes that
  // share this machine's cores, as far as known, outnumber them: the job's, whatever virtual nodes they are
  // on, and the daemon of a virtual fabric. `clock` is the one that channels' deadlines are of.
  MachineWaiter(SharedMemoryChannel* shared_memory, bool machine_crowded, const Knobs& knobs, Clock& clock);

  void idle(std::uint32_t idle_passes) override;

  // From now on sleeps also end when something of this channel arrives, and at its deadline.
  Result<> watch(Transport& channel);
  // The same of a descriptor that is readable when somebody has to look; who looks, reads it.
  Result<> watch(int descriptor);

 private:
  Result<> watch_descriptors();
  bool crowded() { return machine_crowded_ || (load_ != nullptr && load_->crowded()); }
  bool keeps_core();
  void sleep();
  void note_pause(std::uint32_t idle_passes);
  bool prepare(std::uint32_t how);
  Nanoseconds time_to_sleep() const;

  ProcessBlock* block_;
  CoreMates* mates_;  // null: all yields are worthwhile
  NodeLoad* load_;
  bool machine_crowded_;
  std::uint32_t spins_;
  std::uint32_t yields_;
  Nanoseconds sleep_limit_;
  bool membarrier_;
  bool announced_ = false;
  bool core_taken_ = false;  // a yield in this wait gave the core to somebody who computes
  std::uint32_t kept_ = 0;   // passes of this wait after which it did not yield
  std::uint32_t kept_in_a_row_ = 0;
  Nanoseconds last_idle_ = 0;
  bool armed_ = false;  // the channels, since one of them woke this process last
  Clock& clock_;
  std::vector<Transport*> channels_;
  bool watches_ = false;
  ReadySet watched_;  // of the channels' descriptors and others; made with the first
  FileDescriptor wakes_;
};

}  // namespace hawser
