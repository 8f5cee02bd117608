// MachineWaiter: how a real process waits. It polls without pause for a while (a message from a running
// neighbour takes a tenth of a microsecond), then yields its core between passes, then sleeps until a
// neighbour or a socket wakes it. With more processes than cores on the node it yields at once.
//
// Going to sleep must not miss a message that is just being written. The sleeper sets its `sleeping` word,
// has a barrier executed in all running neighbours (membarrier), and returns for one more pass that looks at
// everything; only if that moves nothing, the next call sleeps. A neighbour that published before the
// barrier is seen by that pass; one that publishes after it sees the word and wakes the sleeper. So senders
// need no fence. Where the kernel has no such barrier, sleeps are kept short instead.
#pragma once

#include "base/knobs.h"
#include "channel/shared_memory_channel.h"
#include "channel/waiter.h"

namespace hawser {

class MachineWaiter final : public Waiter {
 public:
  // `shared_memory` is null if this process has no neighbours.
  MachineWaiter(SharedMemoryChannel* shared_memory, const Knobs& knobs);

  void idle(std::uint32_t idle_passes) override;

  // From now on sleeps also end when this descriptor (an epoll set) has something to read.
  Result<> watch(int descriptor);

 private:
  void sleep();

  ProcessBlock* block_;
  NodeLoad* load_;
  std::uint32_t spins_;
  std::uint32_t yields_;
  Nanoseconds sleep_limit_;
  bool membarrier_;
  bool announced_ = false;
  int watched_ = -1;
  FileDescriptor wakes_;
};

}  // namespace hawser
