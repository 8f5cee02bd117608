// Token: what a descriptor is to mpiexec, as the key that it has in a ReadySet.
#pragma once

#include <cstdint>

namespace hawser {

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
  std::uint32_t index = 0;  // a rank where there are many

  static Token of(std::uint64_t key) {
    return {static_cast<Kind>(key >> 32), static_cast<std::uint32_t>(key)};
  }
  operator std::uint64_t() const { return static_cast<std::uint64_t>(kind) << 32 | index; }
};

}  // namespace hawser
