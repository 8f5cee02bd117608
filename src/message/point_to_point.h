// PointToPoint: sends and receives of one process (MPI-5.0 chapter 3): matching, the eager and
// rendezvous protocols, and the requests that follow them. Sits on the channels; knows processes and
// context ids, not communicators.
#pragma once

#include <cstdint>

#include "channel/channel.h"
#include "datatype/datatype.h"
#include "message/request.h"

namespace hawser {

enum class SendMode : std::uint8_t { standard, synchronous, buffered, ready };

// Where a message goes: the communicator's context id, the sender's rank in it, and the process behind
// the destination rank.
struct SendTarget {
  ProcessIndex process;
  std::uint32_t context;
  std::int32_t source_rank;
  std::int32_t tag;
};

// What a receive accepts. source_rank may be any_source, tag any_tag.
struct ReceivePattern {
  std::uint32_t context;
  std::int32_t source_rank;
  std::int32_t tag;
};

}  // namespace hawser
