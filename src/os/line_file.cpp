#include "os/line_file.h"

#include <fcntl.h>
#include <sys/types.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>

#include "base/failure.h"
#include "os/file_descriptor.h"

namespace hawser {
namespace {

class LineFile final : public LineSink {
 public:
  explicit LineFile(FileDescriptor file) : file_(std::move(file)) {}
  void write_line(std::string_view line) override {
    text_.assign(line);
    text_ += '\n';
    const char* at = text_.data();
    std::size_t left = text_.size();
    const int fd = file_.valid() ? file_.get() : STDERR_FILENO;
    while (left > 0) {
      const ssize_t written = write(fd, at, left);
      if (written < 0 && errno == EINTR) continue;
      if (written <= 0) return;
      at += written;
      left -= static_cast<std::size_t>(written);
    }
  }

 private:
  FileDescriptor file_;  // none: standard error
  std::string text_;
};

Result<std::string> file_name(std::string_view pattern, std::int32_t rank, std::string_view job) {
  std::string name;
  for (std::size_t i = 0; i < pattern.size(); ++i) {
    if (pattern[i] != '%') {
      name += pattern[i];
      continue;
    }
    const char what = ++i < pattern.size() ? pattern[i] : '\0';
    if (what == 'r')
      name += std::to_string(rank);
    else if (what == 'p')
      name += std::to_string(getpid());
    else if (what == 'j')
      for (const char c : job) name += c == '/' ? '_' : c;
    else if (what == '%')
      name += '%';
    else
      return failure(ErrorKind::invalid_argument,
                     "the file name `{}` has a % that is not followed by r, p, j or %", pattern);
  }
  return name;
}

}  // namespace

Result<std::unique_ptr<LineSink>> open_line_sink(std::string_view where, std::int32_t rank,
                                                 std::string_view job) {
  if (where == "stderr") return std::unique_ptr<LineSink>(std::make_unique<LineFile>(FileDescriptor()));
  auto name = file_name(where, rank, job);
  if (!name) return name.take_error();
  FileDescriptor file(open(name.value().c_str(), O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0644));
  if (!file.valid())
    return failure(ErrorKind::bad_file, "cannot write to {}: {}", name.value(), std::strerror(errno));
  return std::unique_ptr<LineSink>(std::make_unique<LineFile>(std::move(file)));
}

}  // namespace hawser
