#include "testbed/emulator/mapped_memory.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

namespace hawser::emulator {
namespace {

constexpr int sealed = F_SEAL_SHRINK | F_SEAL_GROW;

}  // namespace

FileDescriptor make_memory(std::size_t bytes) {
  FileDescriptor memory(memfd_create("hawser", MFD_CLOEXEC | MFD_ALLOW_SEALING));
  if (!memory.valid() || ftruncate(memory.get(), static_cast<off_t>(bytes)) != 0 ||
      fcntl(memory.get(), F_ADD_SEALS, sealed) != 0)
    memory.close();
  return memory;
}

std::shared_ptr<std::byte> map_memory(const FileDescriptor& memory, std::size_t bytes) {
  struct stat facts {};
  if (fstat(memory.get(), &facts) != 0 || static_cast<std::size_t>(facts.st_size) != bytes || bytes == 0 ||
      (fcntl(memory.get(), F_GET_SEALS) & F_SEAL_SHRINK) == 0)
    return nullptr;
  void* const at = mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_SHARED, memory.get(), 0);
  if (at == MAP_FAILED) return nullptr;
  return {static_cast<std::byte*>(at), [bytes](std::byte* mapped) { munmap(mapped, bytes); }};
}

}  // namespace hawser::emulator
