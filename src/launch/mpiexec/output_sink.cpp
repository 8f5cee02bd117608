#include "launch/mpiexec/output_sink.h"

#include <poll.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <climits>

namespace hawser {

void OutputSink::append(const std::string& bytes) {
  if (error_ == 0) pending_ += bytes;
}

bool OutputSink::write_piece(std::size_t limit) {
  const ssize_t written = write(fd_, pending_.data() + begin_, std::min(limit, pending()));
  if (written < 0 && (errno == EINTR || errno == EAGAIN)) return errno == EINTR;
  if (written < 0) {
    error_ = errno;
    pending_.clear();
    begin_ = 0;
    return false;
  }
  begin_ += static_cast<std::size_t>(written);
  if (begin_ == pending_.size()) {
    pending_.clear();
    begin_ = 0;
  }
  return true;
}

void OutputSink::write_some() {
  // The descriptor is shared with others, so it stays blocking; but when a pipe or terminal says that it is
  // ready, it takes PIPE_BUF bytes without blocking.
  while (pending() > 0) {
    pollfd ready{fd_, POLLOUT, 0};
    if (poll(&ready, 1, 0) <= 0) return;
    if (!write_piece(PIPE_BUF)) return;
  }
}

void OutputSink::write_all() {
  while (pending() > 0) {
    pollfd ready{fd_, POLLOUT, 0};
    (void)poll(&ready, 1, -1);  // for a descriptor that someone else made non-blocking
    write_piece(64 * 1024);
    if (error_ != 0) return;
  }
}

}  // namespace hawser
