// The environment of a real process: knobs from its environment variables, its launcher, its channels, its
// clock. Made when the first MPI call needs it.
#pragma once

#include <memory>

#include "process/environment.h"

namespace hawser {

// Ends the process with a message on a malformed knob: it names the variable and the nearest known one.
std::unique_ptr<Environment> make_machine_environment();

}  // namespace hawser
