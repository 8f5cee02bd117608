#include "base/machine.h"

#include <errno.h>
#include <limits.h>
#include <unistd.h>

#include <cstdio>
#include <string>

namespace hawser {

std::string host_name() {
  char name[HOST_NAME_MAX + 1] = "";
  if (gethostname(name, sizeof name) != 0) return "localhost";
  name[HOST_NAME_MAX] = 0;
  return name;
}

void print_error_line(std::string_view text) {
  std::string line(text);
  line += '\n';
  std::size_t written = 0;
  while (written < line.size()) {
    const ssize_t n = ::write(STDERR_FILENO, line.data() + written, line.size() - written);
    if (n < 0 && errno == EINTR) continue;
    if (n <= 0) return;
    written += static_cast<std::size_t>(n);
  }
}

void end_process(int code) {
  std::fflush(nullptr);
  ::_exit(code);
}

}  // namespace hawser
