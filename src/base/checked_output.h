// The exit code of a program that prints: success only if standard output took all of it (a full disk, say).
#pragma once

#include <cerrno>
#include <cstdio>
#include <cstring>
#include <system_error>

namespace hawser {

// `run` is the program and answers its exit code; fmt throws when it cannot print.
template <class Run>
int with_checked_output(const char* program, Run run) {
  int code = 0, error = 0;
  try {
    code = run();
  } catch (const std::system_error& failed) {
    error = failed.code().value();
  }
  if (error == 0 && std::fflush(stdout) != 0) error = errno;
  if (error == 0) return code;
  std::fprintf(stderr, "%s: cannot write standard output: %s\n", program, std::strerror(error));
  return code != 0 ? code : 1;
}

}  // namespace hawser
