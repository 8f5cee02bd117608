#include "os/command_output.h"

#include <fcntl.h>
#include <fmt/ranges.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>

#include "base/failure.h"
#include "os/child_process.h"
#include "os/file_descriptor.h"

namespace hawser {

Result<std::string> command_output(std::vector<std::string> words,
                                   std::vector<std::pair<std::string, std::string>> variables) {
  int ends[2];
  if (pipe2(ends, O_CLOEXEC) != 0) return failure(ErrorKind::other, "pipe failed: {}", std::strerror(errno));
  const FileDescriptor from(ends[0]);
  FileDescriptor to(ends[1]);
  auto child = ChildProcess::start({.words = words, .environment = std::move(variables), .output = to.get()});
  if (!child) return child.take_error();
  to.close();
  std::string text;
  char piece[4096];
  for (ssize_t got; (got = ::read(from.get(), piece, sizeof piece)) != 0;) {
    if (got > 0) text.append(piece, static_cast<std::size_t>(got));
    if (got < 0 && errno != EINTR) break;
  }
  if (const ChildEnd end = child.value().await(); end.exit_code() != 0)
    return failure(ErrorKind::other, "'{}' ended with exit code {}: {}", fmt::join(words, " "),
                   end.exit_code(), text);
  return text;
}

}  // namespace hawser
