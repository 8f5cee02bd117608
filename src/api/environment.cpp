// Inquiries about the process and its host, and memory (MPI-5.0 sections 9.1, 9.2 and 11.6).
#include <cstdlib>

#include "api/functions.h"
#include "mpi/failure.h"
#include "process/mpi_process.h"

namespace hawser::mpi {

Result<> query_thread(MpiProcess& process, int& provided) {
  provided = process.thread_level();
  return {};
}

Result<> is_thread_main(MpiProcess& process, bool& flag) {
  flag = process.on_main_thread();
  return {};
}

Result<> get_version(MpiProcess&, int& version, int& subversion) {
  version = 5;
  subversion = 0;
  return {};
}

Result<> get_library_version(MpiProcess&, std::string& version) {
  version = "Hawser 0.1.0, MPI 5.0";
  return {};
}

Result<> get_processor_name(MpiProcess& process, std::string& name) {
  name = process.environment().host->processor_name();
  return {};
}

Result<> alloc_mem(MpiProcess&, std::int64_t size, Info*, void*& baseptr) {
  if (size < 0) return failure(ErrorClass::arg, "size is {}, which is negative", size);
  // Whole cache lines, so that no two processes ever share one of them in shared memory.
  constexpr std::size_t alignment = 64;
  const std::size_t rounded = (static_cast<std::size_t>(size) + alignment) & ~(alignment - 1);
  baseptr = std::aligned_alloc(alignment, rounded);
  if (baseptr == nullptr) return failure(ErrorClass::no_mem, "cannot allocate {} bytes", size);
  return {};
}

Result<> free_mem(MpiProcess&, void* base) {
  std::free(base);
  return {};
}

}  // namespace hawser::mpi
