// For the functions that stand in front of the C library's. Each acts for the rank whose fiber runs, and is
// the C library's own where none does: the simulator uses these functions too.
#pragma once

#include "testbed/exec/c_library.h"
#include "testbed/exec/program_rank.h"

#define HAWSER_FRONT extern "C" __attribute__((visibility("default")))
// The function behind `name`.
#define HAWSER_BEHIND(name) hawser::c_library::next<decltype(::name)>(#name)
