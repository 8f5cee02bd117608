// ErrorHandler: what happens when an MPI call on an object fails (MPI-5.0 section 9.3). The binding
// turns an Error into a code and acts by `kind`; user functions are called in the ABI of their program.
#pragma once

#include <cstdint>

#include "base/counted.h"
#include "mpi/arguments.h"

namespace hawser {

class ErrorHandler final : public Counted {
 public:
  enum class Kind : std::uint8_t {
    are_fatal,  // MPI_ERRORS_ARE_FATAL: the whole job ends
    abort,      // MPI_ERRORS_ABORT: the processes of the communicator end
    returns,    // MPI_ERRORS_RETURN
    user,
  };
  // What a user's handler may be attached to; predefined ones fit all.
  enum class For : std::uint8_t { any, communicator, window, file, session };

  Kind kind;
  For for_what = For::any;
  AbiFunction function = nullptr;  // user only
  std::uint32_t handle = 0;        // number in the process's object table; used by binding/ only

  explicit ErrorHandler(Kind k) : kind(k) {}
  ErrorHandler(For what, AbiFunction user_function)
      : kind(Kind::user), for_what(what), function(user_function) {}
};

}  // namespace hawser
