#include "binding/fortran/memory.h"

#include <mpi.h>

#include <cstdio>
#include <cstdlib>

namespace hawser::fortran {

void out_of_memory(const char* function, const std::bad_alloc& error) noexcept {
  int initialized = 0, rank = -1;
  PMPI_Initialized(&initialized);
  if (initialized != 0) PMPI_Comm_rank(MPI_COMM_WORLD, &rank);
  char who[32] = "", wanted[160] = "";
  if (rank >= 0) std::snprintf(who, sizeof who, "rank %d: ", rank);
  if (const auto* known = dynamic_cast<const OutOfMemory*>(&error))
    std::snprintf(wanted, sizeof wanted, " of %lld bytes for %s", static_cast<long long>(known->bytes()),
                  known->what());
  char line[400];
  const int length = std::snprintf(
      line, sizeof line, "hawser: %s%s, called from Fortran: out of memory: an allocation%s failed\n", who,
      function, wanted);
  std::fwrite(line, 1, static_cast<std::size_t>(length), stderr);  // which has no buffer to allocate
  PMPI_Abort(MPI_COMM_WORLD, MPI_ERR_NO_MEM);
  std::abort();  // not reached, but the compiler does not know
}

}  // namespace hawser::fortran
