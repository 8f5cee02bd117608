// Request: an operation in progress (MPI-5.0 section 3.7). The base of every kind of request, in the
// shape that test and wait need; each kind derives from it beside its own code.
#pragma once

#include <cstdint>

#include "base/counted.h"
#include "message/status.h"

namespace hawser {

class Request {
 public:
  enum class Kind : std::uint8_t {
    message,      // a send, a receive, or both (message_request.h, joint_request.h)
    collective,   // collective/
    generalized,  // MPI_Grequest_start
    partitioned,  // MPI_Psend_init, MPI_Precv_init
    window,       // window/: MPI_Rput and its like
  };

  Kind kind;
  bool complete = false;    // test and wait read only this on their fast path
  bool persistent = false;  // survives completion; becomes inactive
  bool active = true;       // false: a persistent request that was not started
  // MPI_Request_free was called while it was active: destroyed by its own room when complete.
  bool user_freed = false;
  // Constant and always complete: stands for all operations that ended at once, so it is never given back.
  bool shared = false;
  bool valid = true;         // false: in a pool, or freed by the user; its number names nothing
  bool pooled = false;       // its number stays its own while it rests in a pool
  std::uint8_t lane = 0;     // whose lock it is used under, beside or in place of the process's; 0: none's
  std::uint32_t handle = 0;  // number in the RequestTable; 0: none yet
  Status status;
  // The communicator it was made on (or null): kept alive, and its error handler hears of failures. On a
  // lane, the LaneMember that stands for it.
  Ref<Counted> communicator;

  explicit Request(Kind k) : kind(k) {}
  Request(const Request&) = delete;
  Request& operator=(const Request&) = delete;

  // Starts a persistent request again. Others: never called.
  virtual Result<> start();
  // Asks to cancel (section 3.8.4); the outcome shows in status.cancelled after completion.
  virtual Result<> cancel();
  // Called once when a complete (or inactive persistent) request is given up: frees or recycles it.
  virtual void destroy() = 0;
  // Called by test and wait when they find the request complete, before its status is handed out:
  // generalized requests run their query function here.
  virtual Result<> finish() { return {}; }
  // Called once when a complete request is given up, before destroy: generalized requests run their free
  // function here.
  virtual Result<> end() { return {}; }

 protected:
  virtual ~Request() = default;
};

}  // namespace hawser
