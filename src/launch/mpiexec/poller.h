// epoll with tokens that say what became ready. Level-triggered.
#pragma once

#include <sys/epoll.h>

#include <cstdint>
#include <span>

#include "base/result.h"
#include "base/time.h"

namespace hawser {

// What a descriptor is to mpiexec; `index` is a rank where there are many.
struct Token {
  enum class Kind : std::uint32_t {
    signal,
    fabric,       // the lifeline of the job's fabric
    pmi,          // the rank's PMI socket
    rank_stdout,  // what the rank prints
    rank_stderr,
    own_stdout,  // mpiexec's standard output can take bytes
    own_stderr,
    terminal,    // mpiexec's standard input, if it is a terminal
    rank_stdin,  // the pipe to the rank that reads it
  };
  Kind kind;
  std::uint32_t index = 0;
};

class Poller {
 public:
  static Result<Poller> create();
  Poller(Poller&& other) noexcept;
  Poller& operator=(Poller&&) = delete;
  ~Poller();

  // False for files that are always ready (EPERM).
  bool add(int fd, std::uint32_t events, Token token);
  void modify(int fd, std::uint32_t events, Token token);
  void remove(int fd);
  // Waits until something is ready or the time has come (`never`: no limit).
  std::span<const epoll_event> wait(Nanoseconds now, Nanoseconds deadline);

  static Token token_of(const epoll_event& event);

 private:
  explicit Poller(int fd) : fd_(fd) {}

  int fd_;
  epoll_event events_[64];
};

}  // namespace hawser
