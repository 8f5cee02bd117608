// Session: one instance of MPI, opened by MPI_Session_init (MPI-5.0 section 11.3). It isolates nothing below:
// all sessions of a process share its channels and its progress. What is its own: an error handler, hints,
// and a buffer for buffered sends over the communicators that come from its process sets.
#pragma once

#include <cstdint>

#include "base/counted.h"
#include "communicator/error_handler.h"
#include "communicator/info.h"
#include "message/send_buffer.h"

namespace hawser {

class Session final : public Counted {
 public:
  Session(Ref<ErrorHandler> handler, Ref<Info> info)
      : error_handler(std::move(handler)), hints(std::move(info)) {}

  Ref<ErrorHandler> error_handler;
  Ref<Info> hints;  // as MPI_Session_get_info gives them
  SendBuffer buffer;
  std::uint32_t handle = 0;  // number in the process's object table; used by binding/ only
};

}  // namespace hawser
