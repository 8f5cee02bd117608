// How the processes of a node come to map one segment, without a name in any file system.
#pragma once

#include <optional>

#include "base/knobs.h"
#include "channel/exchange.h"
#include "channel/shared_segment.h"

namespace hawser {

class NodeSegment {
 public:
  // Who of the job is on this process's node, in ascending order.
  explicit NodeSegment(const JobPlace& place);

  const std::vector<ProcessIndex>& processes() const { return processes_; }
  std::int32_t self() const { return self_; }
  // Before the fence: the lowest rank of the node makes the memory and tells the others where it is.
  Result<> offer(AddressExchange& exchange);
  // After the fence; contains another one unless the segment was given.
  Result<SharedSegment> open(AddressExchange& exchange, const Knobs& knobs);

 private:
  Result<FileDescriptor> open_offered(AddressExchange& exchange, bool by_proc);

  const JobPlace& place_;
  std::vector<ProcessIndex> processes_;
  std::int32_t self_ = 0;
  FileDescriptor made_;
  std::optional<DescriptorPasser> passer_;
};

}  // namespace hawser
