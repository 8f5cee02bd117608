// Job: what ranks print on its way out, and what the user types on its way in.
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <utility>

#include <fmt/core.h>

#include "launch/mpiexec/bytes_waiting.h"
#include "launch/mpiexec/job.h"

namespace hawser {

namespace {

// When so much waits for a slow reader, the ranks are made to wait too.
constexpr std::size_t pending_limit = 1024 * 1024;

Token::Kind kind_of(int which) { return which == 0 ? Token::Kind::rank_stdout : Token::Kind::rank_stderr; }

}  // namespace

// At most `most` bytes, from which it takes what it read. False if there was nothing.
bool Job::read_some_output(int rank, int which, std::size_t& most) {
  char bytes[65536];
  const int fd = at(rank).output_fd[which];
  if (fd < 0 || most == 0) return false;
  ssize_t got = 0;
  do got = read(fd, bytes, std::min(sizeof bytes, most));
  while (got < 0 && errno == EINTR);
  if (got == 0) close_output(rank, which);
  if (got <= 0) return false;
  outputs_[which].merger.feed(rank, std::string_view(bytes, static_cast<std::size_t>(got)), clock_.now());
  most -= static_cast<std::size_t>(got);
  return true;
}

void Job::read_output(int rank, int which) {
  std::size_t most = 65536;
  read_some_output(rank, which, most);
  push_output(which);
}

// What is there now, and no more: a process that the rank left behind may go on writing for ever.
void Job::read_last_output(int rank, int which) {
  std::size_t most = bytes_waiting(at(rank).output_fd[which]);
  while (read_some_output(rank, which, most)) push_output(which);
  push_output(which);
}

void Job::close_output(int rank, int which) {
  int& fd = at(rank).output_fd[which];
  if (fd < 0) return;
  close(fd);  // which takes it out of the set
  fd = -1;
  outputs_[which].merger.finish(rank);
}

// Hands what is merged to the sink and writes what goes.
void Job::push_output(int which) {
  Output& output = outputs_[which];
  std::string& merged = output.merger.output();
  if (!merged.empty()) {
    output.sink.append(merged);
    merged.clear();
  }
  output.sink.write_some();
  if (output.sink.error() != 0) lose_output(which);
  if (output.pollable)
    ready_.change(output.sink.fd(), Token{which == 0 ? Token::Kind::own_stdout : Token::Kind::own_stderr},
                  false, output.sink.pending() > 0);
  pause_output(which, output.sink.pending() > pending_limit);
}

// Nothing can be written any more: the job goes on, but not to success.
void Job::lose_output(int which) {
  Output& output = outputs_[which];
  const int error = output.sink.error();
  // The ranks are to see that nobody reads any more, as they would without mpiexec in between.
  if (error == EPIPE)
    for (int rank = 0; rank < size(); ++rank) close_output(rank, which);
  output.merger.output().clear();
  if (std::exchange(output.lost, true) || error == EPIPE) return;
  say(fmt::format(
      "cannot write standard {}: {}; further output of the ranks is lost, and the exit code will not be 0",
      which == 0 ? "output" : "error", std::strerror(error)));
}

// What mpiexec's own outputs make of a job that succeeded.
int Job::output_exit_code() const {
  for (const Output& output : outputs_) {
    if (output.sink.error() == EPIPE) return 128 + SIGPIPE;  // as of any program whose reader left
    if (output.sink.error() != 0) return 1;
  }
  return 0;
}

void Job::pause_output(int which, bool pause) {
  if (outputs_[which].paused == pause) return;
  outputs_[which].paused = pause;
  for (int rank = 0; rank < size(); ++rank) {
    const int fd = at(rank).output_fd[which];
    if (fd < 0) continue;
    if (pause)
      ready_.remove(fd);
    else
      (void)ready_.add(fd, Token{kind_of(which), static_cast<std::uint32_t>(rank)}, true, false);
  }
}

void Job::finish_output() {
  for (int which = 0; which < 2; ++which) {
    for (int rank = 0; rank < size(); ++rank) {
      read_last_output(rank, which);
      close_output(rank, which);
    }
    outputs_[which].sink.append(outputs_[which].merger.output());
    outputs_[which].sink.write_all();
    if (outputs_[which].sink.error() != 0) lose_output(which);
  }
}

// A line of mpiexec's own, behind what the ranks have printed so far.
void Job::say(const std::string& text) {
  for (const int which : {0, 1}) push_output(which);
  outputs_[1].sink.append(fmt::format("mpiexec: {}\n", text));
  push_output(1);
}

void Job::read_terminal() {
  char bytes[4096];
  const ssize_t got = read(0, bytes, sizeof bytes);
  if (got < 0 && (errno == EINTR || errno == EAGAIN)) return;
  // Not in the foreground: again when mpiexec is continued.
  if (got < 0 && errno == EIO) {
    ready_.remove(0);
    terminal_polled_ = false;
    return;
  }
  if (got > 0) unread_stdin_.append(bytes, static_cast<std::size_t>(got));
  write_rank_stdin();
  if (got <= 0) {
    ready_.remove(0);
    terminal_polled_ = false;
    if (unread_stdin_.empty()) stop_stdin();
  }
}

void Job::write_rank_stdin() {
  if (stdin_pipe_ < 0) return;
  while (!unread_stdin_.empty()) {
    const ssize_t written = write(stdin_pipe_, unread_stdin_.data(), unread_stdin_.size());
    if (written < 0 && errno == EINTR) continue;
    if (written < 0 && errno == EAGAIN) {
      // A terminal is slow; what is typed ahead of the rank is kept until the pipe has room.
      (void)ready_.add(stdin_pipe_, Token{Token::Kind::rank_stdin}, false, true);  // or it is there already
      return;
    }
    if (written < 0) return stop_stdin();
    unread_stdin_.erase(0, static_cast<std::size_t>(written));
  }
  ready_.remove(stdin_pipe_);
}

void Job::stop_stdin() {
  if (stdin_pipe_ >= 0) close(stdin_pipe_);
  stdin_pipe_ = -1;
  unread_stdin_.clear();
  if (terminal_polled_) ready_.remove(0);
  terminal_polled_ = false;
}

}  // namespace hawser
