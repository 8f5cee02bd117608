#include "testbed/exec/rank_output.h"

#include <fmt/format.h>
#include <unistd.h>

#include <cerrno>
#include <new>

#include "testbed/exec/c_library.h"

namespace hawser {

void OutputMerger::write(int rank, int descriptor, std::string_view line) {
  const std::string text = fmt::format("{}{}", label_ ? fmt::format("[{}] ", rank) : "", line);
  for (std::string_view rest = text; !rest.empty();) {
    const ssize_t wrote = c_library::write(descriptor, rest.data(), rest.size());
    if (wrote < 0 && errno == EINTR) continue;
    if (wrote <= 0) {
      if (errno != EPIPE && lost_ == 0) lost_ = errno;
      return;
    }
    rest.remove_prefix(static_cast<std::size_t>(wrote));
  }
}

RankOutput::RankOutput(OutputMerger& merger, int rank) : merger_(merger), rank_(rank) {
  for (int i = 0; i < 2; ++i) {
    End& end = ends_[i];
    end.owner = this;
    end.descriptor = i + 1;
    end.stream = fopencookie(&end, "w", {.read = nullptr, .write = take, .seek = nullptr, .close = nullptr});
    if (end.stream == nullptr) throw std::bad_alloc();
    // As a program's standard streams are that do not go to a terminal.
    setvbuf(end.stream, nullptr, i == 0 ? _IOFBF : _IONBF, i == 0 ? 4096 : 0);
  }
}

RankOutput::~RankOutput() {
  for (End& end : ends_) std::fclose(end.stream);
}

ssize_t RankOutput::take(void* end, const char* bytes, std::size_t size) {
  End& to = *static_cast<End*>(end);
  to.owner->write(to.descriptor, {bytes, size});
  return static_cast<ssize_t>(size);
}

void RankOutput::write(int descriptor, std::string_view bytes) {
  std::string& partial = ends_[descriptor - 1].partial;
  partial += bytes;
  const std::size_t end = partial.rfind('\n');
  if (end == std::string::npos) return;
  std::string_view lines = std::string_view(partial).substr(0, end + 1);
  while (!lines.empty()) {
    const std::size_t length = lines.find('\n') + 1;
    merger_.write(rank_, descriptor, lines.substr(0, length));
    lines.remove_prefix(length);
  }
  partial.erase(0, end + 1);
}

void RankOutput::finish() {
  for (End& end : ends_) {
    std::fflush(end.stream);
    if (!end.partial.empty()) merger_.write(rank_, end.descriptor, end.partial);
    end.partial.clear();
  }
}

}  // namespace hawser
