// RankProcesses: where a simulation runs its ranks, if not all in its own process.
#pragma once

#include <optional>

#include "base/function_ref.h"

namespace hawser {

namespace fabric {
class DmaPort;
}

class RankProcesses {
 public:
  // Runs `run` in the process of this rank, which is made the first time, and returns when it has returned
  // there. If the process has ended instead: its status, as of waitpid.
  virtual std::optional<int> resume(int rank, FunctionRef<void()> run) = 0;
  // The ranks' memory; a space is a rank.
  virtual fabric::DmaPort& memory() = 0;

 protected:
  ~RankProcesses() = default;
};

}  // namespace hawser
