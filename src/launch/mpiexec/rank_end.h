// What a rank's end means for the job: a pure function, and the sentence that tells the user.
#pragma once

#include <optional>
#include <string>

#include "launch/mpiexec/pmi_server.h"
#include "os/child_process.h"

namespace hawser {

struct Verdict {
  enum class Kind {
    fine,          // exit code 0, nothing missing
    late_failure,  // a non-zero exit code after MPI_Finalize: the others may end in peace
    failure,       // the job must be ended
  };
  Kind kind = Kind::fine;
  int exit_code = 0;
  std::string reason;  // goes behind "rank 3 on host n1 (pid 17) "
};

// `others_active`: some rank is between MPI_Init and MPI_Finalize.
Verdict judge(const ChildEnd& end, PmiServer::Phase phase, bool others_active);

// "SIGSEGV, Segmentation fault"
std::string signal_description(int signal);
// What a shell sees of an exit code given to MPI_Abort: never success.
int visible_exit_code(int code);

}  // namespace hawser
