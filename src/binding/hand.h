// For files with entry points, generated or written by hand.
#pragma once

#include "binding/entry.h"

namespace hawser::binding {
// Of entry points that need no process, and so find it only to report.
[[gnu::cold]] int null_output(const char* function, const char* argument);
}  // namespace hawser::binding

// MPI_X is a weak second name of PMPI_X, which a profiling library may replace.
#define HAWSER_ALIAS_OF(name) extern "C" decltype(P##name) name __attribute__((weak, alias("P" #name)))
#define HAWSER_ALIAS(name) HAWSER_ALIAS_OF(MPI_##name)
