#include "testbed/campaign/campaign.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <poll.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <csignal>
#include <cstdio>
#include <cstring>
#include <ctime>
#include <memory>
#include <vector>

#include "os/child_process.h"

namespace hawser {
namespace {

using WallClock = std::chrono::steady_clock;

// Between a worker and the campaign: lines `begin SEED`, `good SEED AFTER NAME=N ...`, `bad SEED LINES` and
// then so many lines of reason.
class Reporter {
 public:
  explicit Reporter(int descriptor) : descriptor_(descriptor) {}
  void say(const std::string& text) const {
    for (std::size_t at = 0; at < text.size();) {
      const ssize_t written = write(descriptor_, text.data() + at, text.size() - at);
      if (written < 0 && errno == EINTR) continue;
      if (written < 0) _exit(3);  // nobody listens any more
      at += static_cast<std::size_t>(written);
    }
  }

 private:
  int descriptor_;
};

std::string reached_by(const SimulationOutcome& outcome) {
  const RailCounters& rails = outcome.rails;
  return fmt::format(
      "incidents={} killed={} messages={} packets={} bundled={} out_of_order={} failures={} failed_again={} "
      "late_failures={} kb_sent_again={} watchdog={} drain_time_outs={} fences={} packets_reissued={} "
      "stripes_reissued={} already_arrived={} connections_made={} connections_closed={} on_demand={} "
      "demands_refused={} beyond_cap={} taken_back={} recoveries={} adapters_reopened={} "
      "probes_failed={} partitions={} migrations={} dropped_stale={} dropped_duplicate={} "
      "checksum_errors={} puts={} confirmations={} by_datagram={} datagrams_repeated={} peers_retired={} "
      "peers_restored={} "
      "multicast_sent={} multicast_received={}",
      outcome.incidents, outcome.killed.size(), outcome.messages, rails.packets_sent, rails.messages_bundled,
      rails.out_of_order, rails.failures, rails.failed_again, rails.late_failures,
      (outcome.repeated_bytes + rails.bytes_reissued) / 1024, rails.watchdog, rails.drain_time_outs,
      rails.fences_sent, rails.packets_reissued, rails.stripes_reissued, rails.already_arrived,
      rails.connections_made, rails.connections_closed, rails.connections_on_demand, rails.demands_refused,
      rails.connections_beyond_cap, rails.taken_back, rails.recoveries, rails.adapters_reopened,
      rails.probes_failed, rails.partitions, rails.migrations, rails.dropped_stale, rails.dropped_duplicate,
      rails.checksum_errors, rails.stripes_put, rails.confirming_reads, rails.packets_by_datagram,
      rails.datagrams_repeated, rails.peers_retired, rails.peers_restored, rails.multicast_sent,
      rails.multicast_received);
}

[[noreturn]] void work(const CampaignOptions& options, std::uint64_t first, std::uint64_t step, int output,
                       int errors) {
  dup2(errors, STDERR_FILENO);
  const Reporter reporter(output);
  // What a killed rank had is never freed, about a megabyte: another worker goes on in time.
  constexpr std::size_t most_killed = 200;
  std::size_t killed = 0;
  for (std::uint64_t seed = first; seed <= options.last; seed += step) {
    reporter.say(fmt::format("begin {}\n", seed));
    SeedVerdict verdict = run_seed(seed, options.seed);
    const bool again = options.twice_every > 0 && seed % options.twice_every == 0;
    if (verdict.good() && again) {
      const SeedVerdict second = run_seed(seed, options.seed);
      if (!second.good()) {
        verdict.complaint = "good at first, but when run again: " + second.complaint;
      } else if (second.outcome.trace_hash != verdict.outcome.trace_hash) {
        verdict.complaint = fmt::format("two runs have different traces: {:016x} and {:016x}",
                                        verdict.outcome.trace_hash, second.outcome.trace_hash);
      }
    }
    if (verdict.good()) {
      reporter.say(fmt::format("good {} {} {} {}\n", seed, again ? 1 : 0,
                               verdict.outcome.time_after_incidents, reached_by(verdict.outcome)));
    } else {
      const auto lines = 1 + std::ranges::count(verdict.complaint, '\n');
      reporter.say(fmt::format("bad {} {}\n{}\n", seed, lines, verdict.complaint));
    }
    killed += verdict.outcome.killed.size() * (again ? 2 : 1);
    if (killed >= most_killed) break;
  }
  _exit(0);
}

// That the process has used, in seconds; 0 when it cannot be told.
double processor_time(pid_t pid) {
  clockid_t clock{};
  timespec used{};
  if (clock_getcpuclockid(pid, &clock) != 0 || clock_gettime(clock, &used) != 0) return 0;
  return static_cast<double>(used.tv_sec) + static_cast<double>(used.tv_nsec) / 1e9;
}

struct Worker {
  pid_t pid = -1;  // -1: none, its seeds are done
  int input = -1;
  std::FILE* errors = nullptr;  // what it wrote to stderr
  std::uint64_t next = 0;       // the seed to begin with when it is started again
  std::uint64_t seed = 0;       // under way
  bool busy = false;
  double since = 0;  // processor time when it began with the seed
  std::string unread;
};

class Campaign {
 public:
  using OnFailure = std::function<void(std::uint64_t, const std::string&)>;
  Campaign(const CampaignOptions& options, const OnFailure& on_failure)
      : options_(options),
        on_failure_(on_failure),
        workers_(static_cast<std::size_t>(std::max(1, options.jobs))) {}

  CampaignResult run() {
    const auto begin = WallClock::now();
    for (std::size_t i = 0; i < workers_.size(); ++i) {
      workers_[i].next = options_.first + i;
      start(workers_[i]);
    }
    while (!stopped_ && listen()) {
    }
    for (Worker& worker : workers_) end(worker);
    result_.seconds = std::chrono::duration<double>(WallClock::now() - begin).count();
    return result_;
  }

 private:
  void start(Worker& worker) {
    if (worker.next > options_.last) return;
    int ends[2];
    worker.errors = std::tmpfile();
    if (worker.errors == nullptr || pipe2(ends, O_CLOEXEC) != 0) {
      stop(worker.next, fmt::format("no worker can be started: {}", std::strerror(errno)));
      return;
    }
    const pid_t pid = fork();
    if (pid == 0) {
      close(ends[0]);
      work(options_, worker.next, workers_.size(), ends[1], fileno(worker.errors));
    }
    close(ends[1]);
    worker.pid = pid;
    worker.input = ends[0];
    worker.busy = false;
    worker.unread.clear();
    if (pid < 0) stop(worker.next, fmt::format("no worker can be started: {}", std::strerror(errno)));
  }

  void stop(std::uint64_t seed, const std::string& why) {
    fail(seed, why);
    stopped_ = true;
  }

  // Kills it if it still runs.
  void end(Worker& worker) {
    if (worker.pid > 0) {
      kill(worker.pid, SIGKILL);
      await_child(worker.pid);
    }
    if (worker.input >= 0) close(worker.input);
    if (worker.errors != nullptr) std::fclose(worker.errors);
    worker.pid = worker.input = -1;
    worker.errors = nullptr;
  }

  // Waits for news; false when all is done.
  bool listen() {
    std::vector<pollfd> waiting;
    std::vector<Worker*> of;
    for (Worker& worker : workers_) {
      if (worker.pid <= 0) continue;
      waiting.push_back({worker.input, POLLIN, 0});
      of.push_back(&worker);
    }
    if (waiting.empty()) return false;
    constexpr int look_every_ms = 500;
    poll(waiting.data(), waiting.size(), look_every_ms);
    for (std::size_t i = 0; i < waiting.size() && !stopped_; ++i) {
      if (waiting[i].revents != 0) {
        read_from(*of[i]);
      } else if (of[i]->busy && processor_time(of[i]->pid) - of[i]->since > options_.seconds_per_seed) {
        replace(*of[i], fmt::format("no end in {} s of processor time", options_.seconds_per_seed));
      }
    }
    return true;
  }

  void read_from(Worker& worker) {
    char bytes[4096];
    const ssize_t got = read(worker.input, bytes, sizeof bytes);
    if (got < 0) return;
    if (got == 0) return ended(worker);
    worker.unread.append(bytes, static_cast<std::size_t>(got));
    while (!stopped_ && take_line(worker)) {
    }
  }

  void ended(Worker& worker) {
    if (!worker.busy) {
      await_child(worker.pid);
      worker.pid = -1;
      end(worker);
      return start(worker);  // if it has seeds left
    }
    const ChildEnd last = await_child(worker.pid);
    worker.pid = -1;
    std::string reason = last.signaled ? fmt::format("the worker died of {}", strsignal(last.code))
                                       : fmt::format("the worker exited with code {}", last.code);
    replace(worker, reason);
  }

  // The seed under way is a failure; another worker goes on with the next.
  void replace(Worker& worker, std::string reason) {
    std::rewind(worker.errors);
    char line[512];
    for (int i = 0; i < 20 && std::fgets(line, sizeof line, worker.errors) != nullptr; ++i)
      reason += fmt::format("\n  {}", std::string_view(line, std::strcspn(line, "\n")));
    const std::uint64_t seed = worker.seed;
    end(worker);
    fail(seed, reason);
    if (!stopped_) start(worker);
  }

  void fail(std::uint64_t seed, const std::string& reason) {
    ++result_.seeds;
    if (result_.failed++ == 0 || seed < result_.first_failed) result_.first_failed = seed;
    on_failure_(seed, reason);
    stopped_ = stopped_ || options_.stop_at_failure;
  }

  // Takes one report, if it is there as a whole.
  bool take_line(Worker& worker) {
    const std::size_t end = worker.unread.find('\n');
    if (end == std::string::npos) return false;
    const std::string line = worker.unread.substr(0, end);
    std::size_t taken = end + 1;
    unsigned long long seed = 0;
    if (std::sscanf(line.c_str(), "begin %llu", &seed) == 1) {
      worker.seed = seed;
      worker.next = seed + workers_.size();
      worker.busy = true;
      worker.since = processor_time(worker.pid);
    } else if (line.starts_with("good ")) {
      worker.busy = false;
      count(line);
    } else {
      long lines = 0;
      std::sscanf(line.c_str(), "bad %llu %ld", &seed, &lines);
      std::size_t last = end;
      for (long i = 0; i < lines && last != std::string::npos; ++i) last = worker.unread.find('\n', last + 1);
      if (last == std::string::npos) return false;
      worker.busy = false;
      taken = last + 1;
      fail(seed, worker.unread.substr(end + 1, last - end - 1));
    }
    worker.unread.erase(0, taken);
    return true;
  }

  void count(const std::string& line) {
    ++result_.seeds;
    unsigned long long seed = 0;
    int again = 0, read = 0;
    long long after = 0;
    if (std::sscanf(line.c_str(), "good %llu %d %lld %n", &seed, &again, &after, &read) != 3) return;
    result_.repeated += static_cast<std::uint64_t>(again);
    if (after > result_.longest_after_incidents) {
      result_.longest_after_incidents = after;
      result_.longest_seed = seed;
    }
    for (std::size_t at = static_cast<std::size_t>(read); at < line.size();) {
      const std::size_t end = std::min(line.find(' ', at), line.size()), equals = line.find('=', at);
      if (equals >= end) break;
      result_.reached[line.substr(at, equals - at)] += std::strtoull(line.c_str() + equals + 1, nullptr, 10);
      at = end + 1;
    }
  }

  const CampaignOptions& options_;
  const OnFailure& on_failure_;
  std::vector<Worker> workers_;
  CampaignResult result_;
  bool stopped_ = false;
};

}  // namespace

CampaignResult run_campaign(const CampaignOptions& options,
                            const std::function<void(std::uint64_t, const std::string&)>& on_failure) {
  return Campaign(options, on_failure).run();
}

}  // namespace hawser
