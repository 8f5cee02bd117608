// Progress: how code below MpiProcess makes the library move and waits. MpiProcess implements it; its
// wait_until is the only function that blocks.
#pragma once

#include "base/function_ref.h"

namespace hawser {

class Progress {
 public:
  // One pass over everything that can move; true if anything did.
  virtual bool make_progress() = 0;
  // Returns when `done` answers true; makes progress, then yields, then sleeps meanwhile. `what` names what
  // is waited for in the simulator's deadlock report, e.g. "MPI_Recv source 3 tag 7"; evaluated only then.
  virtual void wait_until(FunctionRef<bool()> done) = 0;

 protected:
  ~Progress() = default;
};

}  // namespace hawser
