// Runs conformance cases with one process per rank, over whatever MPI it was compiled with.
//   mpiexec -n 4 conformance [--filter A,B,-C] [--threads] [--memory BYTES] [--timeout SECONDS] [--list]
#include <unistd.h>

#include <algorithm>
#include <csignal>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <string>

#include "conformance.h"

#ifdef CONFORMANCE_ON_LANES
namespace conformance {
MPI_Comm world_on_lane = MPI_COMM_NULL;
}
#endif

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

// Rank 0 says for all how much each may use: no more than there is.
void limit_memory(conformance::RunOptions& options, MPI_Comm frame, int rank, int size) {
  std::int64_t limit = options.memory_per_rank;
  if (rank == 0) {
    std::ifstream facts("/proc/meminfo");
    for (std::string name; facts >> name;) {
      std::int64_t kilobytes = 0;
      if (name == "MemAvailable:" && facts >> kilobytes)
        limit = std::min(limit, kilobytes * 1024 / size / 4 * 3);
    }
    for (int peer = 1; peer < size; ++peer) MPI_Send(&limit, sizeof(limit), MPI_BYTE, peer, 0, frame);
  } else {
    MPI_Recv(&limit, sizeof(limit), MPI_BYTE, 0, 0, frame, MPI_STATUS_IGNORE);
  }
  options.memory_per_rank = limit;
}

}  // namespace

int main(int argc, char** argv) {
  Arguments arguments = parse(argc, argv);
  if (const std::string error = conformance::filter_error(arguments.filter); !error.empty()) {
    std::fprintf(stderr, "%s\n", error.c_str());
    return 2;
  }
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
#ifdef CONFORMANCE_ON_LANES
  // Whose errors are nobody's go to these.
  MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
  MPI_Comm_dup(MPI_COMM_WORLD, &conformance::world_on_lane);
#endif
  MPI_Comm frame = MPI_COMM_NULL;
  MPI_Comm_dup(MPI_COMM_WORLD, &frame);
  limit_memory(arguments.options, frame, rank, size);
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
#ifdef CONFORMANCE_ON_LANES
  MPI_Comm_free(&conformance::world_on_lane);
#endif
  MPI_Finalize();
  if (rank == 0) std::printf("%d ranks: %d cases, %d failed\n", size, ran, failed);
  if (ran == 0 && failed == 0) {
    if (rank == 0)
      std::printf("none of the selected cases is for so many ranks, this memory and these threads\n");
    return conformance::nothing_ran;
  }
  return failed == 0 ? 0 : 1;
}
