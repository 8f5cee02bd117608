#include "base/machine.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <pthread.h>
#include <sys/utsname.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <string>

#include "base/failure.h"

namespace hawser {

std::string host_name() {
  char name[HOST_NAME_MAX + 1] = "";
  if (gethostname(name, sizeof name) != 0) return "localhost";
  name[HOST_NAME_MAX] = 0;
  return name;
}

ProgramFacts program_facts() {
  ProgramFacts facts;
  std::ifstream arguments("/proc/self/cmdline");
  for (std::string argument; std::getline(arguments, argument, '\0');) facts.command_line.push_back(argument);
  utsname names;
  if (uname(&names) == 0) facts.architecture = names.machine;
  std::error_code error;
  facts.working_directory = std::filesystem::current_path(error).string();
  return facts;
}

Result<std::string> read_text(const std::string& path) {
  constexpr std::size_t most = 16 * 1024 * 1024;
  const int fd = ::open(path.c_str(), O_RDONLY | O_CLOEXEC);
  std::string text;
  ssize_t got = fd < 0 ? -1 : 1;
  while (got > 0 && text.size() <= most) {
    char bytes[16384];
    do got = ::read(fd, bytes, sizeof bytes);
    while (got < 0 && errno == EINTR);
    if (got > 0) text.append(bytes, static_cast<std::size_t>(got));
  }
  const int error = errno;
  if (fd >= 0) ::close(fd);
  if (got < 0) return failure(ErrorKind::not_found, "cannot read '{}': {}", path, std::strerror(error));
  if (text.size() > most) return failure(ErrorKind::invalid_argument, "'{}' is longer than 16 MiB", path);
  return text;
}

std::int64_t address_space_in_use() {
  std::int64_t pages = 0;
  std::ifstream("/proc/self/statm") >> pages;
  return pages * sysconf(_SC_PAGESIZE);
}

void call_at_exit(void (*function)()) { std::atexit(function); }

void call_in_children(void (*function)()) { pthread_atfork(nullptr, nullptr, function); }

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
