// How many bytes can be read from a pipe or socket now; 0 if none, or if it is closed.
#pragma once

#include <sys/ioctl.h>

#include <cstddef>

namespace hawser {

inline std::size_t bytes_waiting(int fd) {
  int bytes = 0;
  return ioctl(fd, FIONREAD, &bytes) == 0 && bytes > 0 ? static_cast<std::size_t>(bytes) : 0;
}

}  // namespace hawser
