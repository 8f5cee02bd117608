#include "channel/node_load.h"

namespace hawser {

void NodeLoad::know_mates() {
  constexpr std::int32_t most = 64;  // looked at one by one
  if (segment_.layout().processes <= most) mates_.emplace(segment_, self_);
}

void NodeLoad::evaluate() {
  const std::int32_t processes = segment_.layout().processes;
  const CpuSet& own = segment_.block(self_).cpus;
  CpuSet all;
  std::int32_t confined = 0;  // processes that may run only where this one may
  known_ = true;
  for (std::int32_t i = 0; i < processes; ++i) {
    const ProcessBlock& block = segment_.block(i);
    if (block.present.load(std::memory_order_acquire) == 0) {
      // Not started yet: take it to be bound somewhere else, and look again.
      known_ = false;
      continue;
    }
    all.add(block.cpus);
    if (own.contains(block.cpus)) ++confined;
  }
  if (!known_ && online_cpus_ == 0) online_cpus_ = online_cpus();
  const std::int32_t cores = known_ ? all.count() : online_cpus_;
  crowded_ = processes > cores || confined > own.count();
}

}  // namespace hawser
