// The ABI that this translation unit is compiled for: its mpi.h (found through the include path), its
// handles, statuses and constants. The generated entry points and the rest of binding/ are the same text for
// both ABIs.
#pragma once

#include <mpi.h>

#ifdef HAWSER_ABI_OF_MPICH
#include "binding/abi_mpich.h"
#else
#include "binding/abi_standard.h"
#endif

#include "binding/translate.h"  // generated, of this ABI
