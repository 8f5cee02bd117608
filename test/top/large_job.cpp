// Keeps the status tables of a whole job, as its ranks would: large_job JOB RANKS RANKS_PER_HOST PEERS
// FAULT... Each rank has paths over 2 rails, 2 routes on each, to PEERS others next to it. A fault is `port H
// R`, `host H`, `rank K`, `route R P`, `network R`, `link A B R` or `path K PEER R P` (of one end alone),
// with numbers of hosts, rails, routes and ranks. Says when the tables are there, and keeps them until
// standard input ends.
#include <sys/resource.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <string>
#include <vector>

#include "base/time.h"
#include "rails/status/process_status.h"

namespace {

using namespace hawser;

struct Fault {
  std::string kind;
  int a = -1, b = -1, c = -1, d = -1;
};

struct Path {
  int rank, peer, rail, route, host, peer_host;
};

bool spoils(const Fault& fault, const Path& path) {
  const auto ends = [](int x, int y, int one, int other) {
    return (x == one && y == other) || (x == other && y == one);
  };
  if (fault.kind == "port")
    return path.rail == fault.b && (path.host == fault.a || path.peer_host == fault.a);
  if (fault.kind == "host") return path.host == fault.a || path.peer_host == fault.a;
  if (fault.kind == "rank") return path.rank == fault.a || path.peer == fault.a;
  if (fault.kind == "route") return path.rail == fault.a && path.route == fault.b;
  if (fault.kind == "network") return path.rail == fault.a;
  if (fault.kind == "link") return path.rail == fault.c && ends(path.host, path.peer_host, fault.a, fault.b);
  return path.rank == fault.a && path.peer == fault.b && path.rail == fault.c && path.route == fault.d;
}

// Its own port's end sees the port; the others see that nothing arrives.
PathReason reason_of(const Fault& fault, const Path& path) {
  return fault.kind == "port" && path.host == fault.a ? PathReason::port_down : PathReason::completion_error;
}

void add_path(RailStatus& rails, const Path& path, const std::vector<Fault>& faults, Nanoseconds now) {
  const std::string port = "hw" + std::to_string(path.rail) + "/1";
  const auto index = static_cast<std::uint16_t>(2 * path.rail + path.route);
  const int row = rails.add_path({path.peer, index, static_cast<std::uint16_t>(path.rail),
                                  static_cast<std::uint16_t>(path.route), 0, port});
  rails.set_condition(row, PathCondition::ready, 1, PathReason::first_connection, now);
  rails.set_weight(row, 1e8);
  for (const Fault& fault : faults)
    if (spoils(fault, path)) {
      rails.set_condition(row, PathCondition::failed, 1, reason_of(fault, path), now);
      // Some are just being tried again, which is no less trouble.
      if (path.rank % 8 == 1) rails.set_condition(row, PathCondition::connecting, 2, PathReason::none, now);
      return;
    }
}

int run(const std::string& job, int ranks, int per_host, int peers, const std::vector<Fault>& faults) {
  rlimit files{};
  getrlimit(RLIMIT_NOFILE, &files);
  files.rlim_cur = files.rlim_max;
  setrlimit(RLIMIT_NOFILE, &files);
  MonotonicClock clock;
  std::vector<std::unique_ptr<ProcessStatus>> tables;
  for (int rank = 0; rank < ranks; ++rank) {
    JobPlace place;
    place.rank = rank;
    place.size = ranks;
    place.job_id = job;
    place.host = "n" + std::to_string(rank / per_host);
    for (int other = 0; other < ranks; ++other) place.node_of_rank.push_back(other / per_host);
    auto opened = ProcessStatus::open(place, Knobs(), clock.now());
    if (!opened) return 1;
    tables.push_back(std::move(opened).value());
    for (int step = 1; step <= peers; ++step) {
      // The next ones, then the ones before.
      const int peer = (rank + (step % 2 != 0 ? (step + 1) / 2 : ranks - step / 2)) % ranks;
      if (peer == rank || peer / per_host == rank / per_host) continue;
      for (int rail = 0; rail < 2; ++rail)
        for (int route = 0; route < 2; ++route)
          add_path(tables.back()->rails(), {rank, peer, rail, route, rank / per_host, peer / per_host},
                   faults, clock.now());
    }
  }
  std::puts("ready");
  std::fflush(stdout);
  return std::getchar() == EOF ? 0 : 1;
}

}  // namespace

int main(int argc, char** argv) {
  if (argc < 5) return 2;
  std::vector<Fault> faults;
  for (int i = 5; i < argc; ++i) {
    char kind[16] = "";
    Fault fault;
    std::sscanf(argv[i], "%15s %d %d %d %d", kind, &fault.a, &fault.b, &fault.c, &fault.d);
    fault.kind = kind;
    faults.push_back(fault);
  }
  return run(argv[1], std::atoi(argv[2]), std::atoi(argv[3]), std::atoi(argv[4]), faults);
}
