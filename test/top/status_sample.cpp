// Keeps a status table as a rank does: some paths, one of which fails, and bytes that go on flowing until
// standard input ends. Says when the table is there.
#include <poll.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdio>

#include "base/time.h"
#include "rails/status/process_status.h"

namespace {

int run(const char* job) {
  using namespace hawser;
  MonotonicClock clock;
  JobPlace place;
  place.rank = 3;
  place.size = 8;
  place.job_id = job;
  auto opened = ProcessStatus::open(place, Knobs(), clock.now());
  if (!opened) return 1;
  RailStatus& rails = opened.value()->rails();
  const int good = rails.add_path({5, 0, 0, 0, 0, "mlx4_0/1"});
  const int bad = rails.add_path({5, 1, 1, 2, 0, "mlx4_1/2"});
  rails.set_condition(good, PathCondition::ready, 1, PathReason::first_connection, clock.now());
  rails.set_condition(bad, PathCondition::ready, 1, PathReason::first_connection, clock.now());
  rails.set_condition(bad, PathCondition::failed, 1, PathReason::port_down, clock.now());
  rails.set_weight(good, 4e9);
  RailCounters counters;
  counters.failures = 1;
  rails.publish(counters);
  rails.posted(good, 1000);
  // A child that was forked has the table among its files, too.
  const pid_t child = fork();
  if (child == 0) {
    pause();
    _exit(0);
  }
  std::printf("%d\n", static_cast<int>(child));
  std::fflush(stdout);
  while (true) {
    for (int i = 0; i < 1000; ++i) {
      rails.posted(good, 1 << 20);
      rails.completed(good, 1 << 20);
    }
    pollfd input{STDIN_FILENO, POLLIN, 0};
    if (poll(&input, 1, 10) > 0) {  // its end: nobody writes
      kill(child, SIGKILL);
      waitpid(child, nullptr, 0);
      return 0;
    }
  }
}

}  // namespace

int main(int argc, char** argv) { return argc == 2 ? run(argv[1]) : 2; }
