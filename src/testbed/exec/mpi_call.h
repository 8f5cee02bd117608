// MpiCall: while it lives, a rank is in a function of MPI.
#pragma once

#include "testbed/exec/program_rank.h"

namespace hawser {

class MpiCall {
 public:
  explicit MpiCall(int function) : rank_(current_rank()) {
    if (rank_ != nullptr) rank_->begin_call(function);
  }
  ~MpiCall() {
    if (rank_ != nullptr) rank_->end_call();
  }
  MpiCall(const MpiCall&) = delete;

 private:
  ProgramRank* const rank_;
};

}  // namespace hawser
