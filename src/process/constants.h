// Values with a meaning in the arguments of core functions; they live in base/ because the rooms below use
// them too.
#pragma once

#include "mpi/arguments.h"
