// Runs a program of session_programs.h with one process per rank.
//   mpiexec -n 3 conformance_sessions alone
#include <unistd.h>

#include <cstdio>

#include "session_programs.h"

int main(int argc, char** argv) {
  if (argc != 2) {
    std::fprintf(stderr, "usage: conformance_sessions PROGRAM; there are");
    for (const std::string& name : conformance::session_programs()) std::fprintf(stderr, " %s", name.c_str());
    std::fprintf(stderr, "\n");
    return 2;
  }
  alarm(120);  // a program that hangs ends by a signal
  const std::string wrong = conformance::run_session_program(argv[1]);
  if (wrong.empty()) return 0;
  std::fprintf(stderr, "%s\n", wrong.c_str());
  return 1;
}
