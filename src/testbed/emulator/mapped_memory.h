// Memory that a client and the daemon both see: anonymous, without a name anywhere, gone with its last user.
#pragma once

#include <cstddef>
#include <memory>

#include "os/file_descriptor.h"

namespace hawser::emulator {

// New memory, zeroed, of a size that nobody can change any more; not valid() when the system refuses.
FileDescriptor make_memory(std::size_t bytes);
// Null when it is not of that size, or could still shrink under our feet.
std::shared_ptr<std::byte> map_memory(const FileDescriptor& memory, std::size_t bytes);
std::shared_ptr<const std::byte> map_to_read(const FileDescriptor& memory, std::size_t bytes);
// From now on nobody can map it to write; who has done so can still write. False: Linux before 5.1.
bool forbid_writing(const FileDescriptor& memory);

}  // namespace hawser::emulator
