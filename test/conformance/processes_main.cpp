// Runs conformance cases with one process per rank, over whatever MPI it was compiled with.
//   mpiexec -n 4 conformance [--filter A,B,-C] [--threads] [--memory BYTES] [--timeout SECONDS] [--list]
#include <unistd.h>

#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string>

#include "conformance.h"

namespace {

// For the alarm only: a hanging case must say its name.
char current_case[256] = "start";

extern "C" void on_alarm(int) {
  const char before[] = "TIMEOUT in ";
  (void)!write(2, before, sizeof(before) - 1);
  (void)!write(2, current_case, std::strlen(current_case));
  (void)!write(2, "\n", 1);
  _exit(124);
}

struct Arguments {
  std::string filter;
  conformance::RunOptions options;
  unsigned timeout_s = 0;
  bool list = false;
  bool verbose = false;
};

Arguments parse(int argc, char** argv) {
  Arguments result;
  // Leave most of what is free to the other ranks.
  result.options.memory_per_rank = 64 << 20;
  for (int i = 1; i < argc; ++i) {
    const std::string name = argv[i];
    const char* value = i + 1 < argc ? argv[i + 1] : "";
    if (name == "--filter") {
      result.filter = value, ++i;
    } else if (name == "--threads") {
      result.options.threads = true;
    } else if (name == "--memory") {
      result.options.memory_per_rank = std::atoll(value), ++i;
    } else if (name == "--timeout") {
      result.timeout_s = static_cast<unsigned>(std::atoi(value)), ++i;
    } else if (name == "--list") {
      result.list = true;
    } else if (name == "--verbose") {
      result.verbose = true;
    } else {
      std::fprintf(stderr, "unknown argument %s\n", argv[i]);
      std::exit(2);
    }
  }
  return result;
}

}  // namespace

int main(int argc, char** argv) {
  const Arguments arguments = parse(argc, argv);
  const auto cases = conformance::select_cases(arguments.filter);
  if (arguments.list) {
    for (const auto& test : cases) std::printf("%s\n", test.name.c_str());
    return 0;
  }
  std::signal(SIGALRM, on_alarm);
  int provided = 0;
  MPI_Init_thread(&argc, &argv, arguments.options.threads ? MPI_THREAD_MULTIPLE : MPI_THREAD_SINGLE,
                  &provided);
  int rank = -1, size = 0;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  if (arguments.options.threads && provided < MPI_THREAD_MULTIPLE) {
    std::fprintf(stderr, "MPI_THREAD_MULTIPLE is not provided\n");
    MPI_Abort(MPI_COMM_WORLD, 3);
  }
  MPI_Comm frame = MPI_COMM_NULL;
  MPI_Comm_dup(MPI_COMM_WORLD, &frame);
  int ran = 0, failed = size == 0;
  for (const auto& test : cases) {
    if (!conformance::eligible(*test.test, size, arguments.options)) continue;
    std::snprintf(current_case, sizeof(current_case), "%s", test.name.c_str());
    if (arguments.verbose && rank == 0) std::fprintf(stderr, "RUN %s\n", current_case);
    alarm(arguments.timeout_s);
    const int failures = conformance::run_case(
        test, frame, [](const std::string& line) { std::fprintf(stderr, "%s\n", line.c_str()); });
    ++ran;
    failed += failures != 0;
  }
  alarm(arguments.timeout_s);
  std::snprintf(current_case, sizeof(current_case), "MPI_Finalize");
  MPI_Comm_free(&frame);
  MPI_Finalize();
  if (rank == 0) std::printf("%d ranks: %d cases, %d failed\n", size, ran, failed);
  return failed == 0 ? 0 : 1;
}
