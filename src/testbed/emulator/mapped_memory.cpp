#include "testbed/emulator/mapped_memory.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "os/shared_memory.h"

namespace hawser::emulator {

FileDescriptor make_memory(std::size_t bytes) {
  FileDescriptor memory(memfd_create("hawser", MFD_CLOEXEC | MFD_ALLOW_SEALING));
  if (!memory.valid()) return memory;
  if (set_file_size(memory.get(), static_cast<std::int64_t>(bytes)))
    seal_size(memory.get());
  else
    memory.close();
  return memory;
}

namespace {

std::shared_ptr<std::byte> map_for(int access, const FileDescriptor& memory, std::size_t bytes) {
  struct stat facts {};
  if (fstat(memory.get(), &facts) != 0 || static_cast<std::size_t>(facts.st_size) != bytes || bytes == 0 ||
      !cannot_shrink(memory.get()))
    return nullptr;
  void* const at = mmap(nullptr, bytes, access, MAP_SHARED, memory.get(), 0);
  if (at == MAP_FAILED) return nullptr;
  return {static_cast<std::byte*>(at), [bytes](std::byte* mapped) { munmap(mapped, bytes); }};
}

}  // namespace

std::shared_ptr<std::byte> map_memory(const FileDescriptor& memory, std::size_t bytes) {
  return map_for(PROT_READ | PROT_WRITE, memory, bytes);
}

std::shared_ptr<const std::byte> map_to_read(const FileDescriptor& memory, std::size_t bytes) {
  return map_for(PROT_READ, memory, bytes);
}

bool forbid_writing(const FileDescriptor& memory) {
  return fcntl(memory.get(), F_ADD_SEALS, F_SEAL_FUTURE_WRITE) == 0;
}

}  // namespace hawser::emulator
