// mpiexec's own standard output or error: takes bytes at once and writes them as the reader allows, so that
// a slow reader never keeps mpiexec from serving ranks and signals.
#pragma once

#include <string>

namespace hawser {

class OutputSink {
 public:
  explicit OutputSink(int fd) : fd_(fd) {}

  int fd() const { return fd_; }
  void append(const std::string& bytes);
  std::size_t pending() const { return pending_.size() - begin_; }
  // Writes what goes without waiting. For a regular file, which is always ready, that is everything.
  void write_some();
  // Writes everything, waiting if need be.
  void write_all();
  // Why writing failed, as errno says it (EPIPE: the reader went away); 0 while all is well. What was not
  // written by then is lost, and what is appended from then on is dropped.
  int error() const { return error_; }

 private:
  bool write_piece(std::size_t limit);

  int fd_;
  std::string pending_;
  std::size_t begin_ = 0;
  int error_ = 0;
};

}  // namespace hawser
