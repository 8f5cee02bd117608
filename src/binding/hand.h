// For files with entry points, generated or written by hand.
#pragma once

#include "binding/entry.h"

// MPI_X is a weak second name of PMPI_X, which a profiling library may replace.
#define HAWSER_ALIAS(name) \
  extern "C" decltype(PMPI_##name) MPI_##name __attribute__((weak, alias("PMPI_" #name)))
