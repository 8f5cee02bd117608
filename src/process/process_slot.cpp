#include "process/process_slot.h"

#include "process/machine_environment.h"

namespace hawser {

namespace {

// Never destroyed: MPI_Finalized may be asked by whatever still runs while the program ends.
union Immortal {
  ProcessSlot slot;
  constexpr Immortal() : slot() {}
  ~Immortal() {}
};
constinit Immortal real;

}  // namespace

namespace detail {
constinit ProcessSlot* current_slot = &real.slot;
}

ProcessSlot* switch_slot(ProcessSlot* slot) {
  ProcessSlot* const former = detail::current_slot;
  detail::current_slot = slot != nullptr ? slot : &real.slot;
  return former;
}

ProcessSlot::~ProcessSlot() = default;

MpiProcess& ProcessSlot::process() {
  if (process_ == nullptr) {
    if (environment == nullptr) {
      own_environment_ = make_machine_environment();
      environment = own_environment_.get();
    }
    process_ = std::make_unique<MpiProcess>(*this, *environment);
  }
  return *process_;
}

}  // namespace hawser
