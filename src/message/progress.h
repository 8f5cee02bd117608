// Progress: how code below MpiProcess makes the library move and waits. MpiProcess implements it; its
// wait_until is the only function that blocks.
#pragma once

#include <new>

#include "base/function_ref.h"

namespace hawser {

class Progress {
 public:
  // Something began that shall go on while the program computes, as far as that can be had.
  virtual void expect() {}
  // The same of something small: so much the less worth if interrupts were in vain.
  virtual void expect_small() {}
  // One pass over everything that can move; true if anything did.
  virtual bool make_progress() = 0;
  // Returns when `done` answers true; makes progress, then yields, then sleeps meanwhile. `what` names what
  // is waited for in the simulator's deadlock report, e.g. "MPI_Recv source 3 tag 7"; evaluated only then.
  virtual void wait_until(FunctionRef<bool()> done) = 0;
  // Returns when others need not wait for this process's next call: what it sent is with the network.
  virtual void hand_over() {}
  // Called from within the handler of that exception: memory ended where nobody can go on. Does not return.
  virtual void out_of_memory(const std::bad_alloc&) { throw; }

 protected:
  ~Progress() = default;
};

}  // namespace hawser
