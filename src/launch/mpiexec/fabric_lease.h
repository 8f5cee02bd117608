// A virtual fabric for the time of a job: one that is up, or one that is brought up for it and goes with it.
#pragma once

#include <string>
#include <string_view>

#include "base/result.h"
#include "launch/mpiexec/fabric_plan.h"

namespace hawser {

class FabricLease {
 public:
  // `words` is the value of --fabric: a fabric's name, or what `hawser fabric up` takes. The `hawser` command
  // beside mpiexec finds out, and says on standard error what is wrong.
  static Result<FabricLease> take(std::string_view words);
  FabricLease(FabricLease&& other) noexcept;
  FabricLease& operator=(FabricLease&&) = delete;
  // Brings down what was brought up, and waits until it is gone. Should mpiexec be killed, the kernel closes
  // the lifeline for it, and the fabric goes as well.
  ~FabricLease();

  const FabricPlan& plan() const { return plan_; }
  // At its end (the daemon writes nothing) when the fabric has gone.
  int lifeline() const { return lifeline_; }

 private:
  FabricLease(FabricPlan plan, int lifeline) : plan_(std::move(plan)), lifeline_(lifeline) {}

  FabricPlan plan_;
  int lifeline_ = -1;
  bool brought_up_ = true;
};

}  // namespace hawser
