// How long a rank that sends without pause stands still when a fault strikes, while its peer is in a call of
// MPI, and while it computes for 5 s. Over 64 seeds for each kind of fault; doc/performance.md has the table.
#include <gtest/gtest.h>
#include <mpi.h>

#include <algorithm>
#include <cstdio>
#include <string>
#include <vector>

#include "base/random.h"
#include "base/time.h"
#include "connected.h"
#include "testbed/simulator/simulation.h"

namespace hawser {
namespace {

constexpr int rounds = 150, large = 128 << 10, small = 1 << 10, requests_of_round = 2;
constexpr Nanoseconds computation = 5 * second;

struct Setting {
  const char* fault;     // H and R stand for a host and a rail
  const char* progress;  // HAWSER_PROGRESS
  bool peer_computes;
};

std::string drawn(const std::string& fault, Random& random) {
  const std::string host = std::to_string(random.below(2)), rail = std::to_string(random.below(2));
  std::string text;
  for (const char each : fault) text += each == 'H' ? host : each == 'R' ? rail : std::string(1, each);
  return text;
}

// Two rails of 100 MB/s each; the fault strikes while the messages are under way, and stays.
SimulationOptions options_of(const Setting& setting, std::uint64_t seed) {
  Random random(seed);
  SimulationOptions options{.ranks = 2, .seed = seed};
  options.fabric.emplace();
  options.fabric->parameters = "link-rate 100MB/s\n";
  options.fabric->faults = std::to_string(5000 + random.below(60'000)) + "us " + drawn(setting.fault, random);
  options.knobs = {{"HAWSER_PROGRESS", setting.progress},
                   {"HAWSER_RAIL_RENDEZVOUS", random.chance(0.5) ? "read" : "write"}};
  return options;
}

struct Pause {
  Nanoseconds longest = 0;  // from the end of one send to the end of the next
  std::uint64_t failures = 0;
};

void send_all(SimulatedRank& self, Pause& pause) {
  std::vector<char> bytes(large);
  Nanoseconds last = self.now();
  for (int round = 0; round < rounds; ++round) {
    std::fill(bytes.begin(), bytes.end(), static_cast<char>(round));
    for (const int size : {small, large}) {
      MPI_Send(bytes.data(), size, MPI_BYTE, 1, round, MPI_COMM_WORLD);
      pause.longest = std::max(pause.longest, self.now() - last);
      last = self.now();
    }
  }
}

void receive_all(SimulatedRank& self, bool computes) {
  std::vector<std::vector<char>> bytes;
  std::vector<MPI_Request> requests(rounds * requests_of_round);
  for (std::size_t i = 0; i < requests.size(); ++i) {
    const int size = i % 2 == 0 ? small : large;
    bytes.emplace_back(static_cast<std::size_t>(size));
    MPI_Irecv(bytes.back().data(), size, MPI_BYTE, 0, static_cast<int>(i) / 2, MPI_COMM_WORLD, &requests[i]);
  }
  MPI_Barrier(MPI_COMM_WORLD);
  if (computes) self.compute(computation);
  MPI_Waitall(static_cast<int>(requests.size()), requests.data(), MPI_STATUSES_IGNORE);
  for (std::size_t i = 0; i < requests.size(); ++i)
    EXPECT_EQ(bytes[i], std::vector<char>(bytes[i].size(), static_cast<char>(i / 2)));
}

Pause pause_of(const Setting& setting, std::uint64_t seed) {
  Pause pause;
  const SimulationOutcome outcome = Simulation(options_of(setting, seed)).run([&](SimulatedRank& self) {
    MPI_Init(nullptr, nullptr);
    connect_with_all();
    if (self.rank() == 1) {
      receive_all(self, setting.peer_computes);
    } else {
      MPI_Barrier(MPI_COMM_WORLD);
      send_all(self, pause);
    }
    MPI_Finalize();
  });
  EXPECT_TRUE(outcome.finished()) << outcome.report;
  pause.failures = outcome.rails.failures;
  return pause;
}

// The given share of the pauses is not longer.
double percentile(std::vector<Nanoseconds>& pauses, double share) {
  std::sort(pauses.begin(), pauses.end());
  const auto index = static_cast<std::size_t>(share * static_cast<double>(pauses.size()));
  return static_cast<double>(pauses[std::min(index, pauses.size() - 1)]) / 1e6;
}

struct Distribution {
  double median, p99, longest;  // milliseconds
};

Distribution measure(const char* name, const Setting& setting, int seeds) {
  std::vector<Nanoseconds> pauses;
  std::uint64_t failures = 0;
  for (int seed = 1; seed <= seeds; ++seed) {
    const Pause pause = pause_of(setting, static_cast<std::uint64_t>(seed));
    pauses.push_back(pause.longest);
    failures += pause.failures > 0;
  }
  EXPECT_EQ(failures, static_cast<std::uint64_t>(seeds)) << "a fault that nobody noticed";
  const Distribution found{percentile(pauses, 0.5), percentile(pauses, 0.99), percentile(pauses, 1)};
  std::printf("%-8s %-9s peer %-8s: median %8.2f ms, 99 %% %8.2f ms, longest %8.2f ms\n", name,
              setting.progress, setting.peer_computes ? "computes" : "in MPI", found.median, found.p99,
              found.longest);
  return found;
}

struct Kind {
  const char* name;
  const char* fault;
};

class Pauses : public ::testing::TestWithParam<Kind> {};

TEST_P(Pauses, AreShortWhileThePeerComputes) {
  for (const bool peer_computes : {false, true})
    EXPECT_LE(measure(GetParam().name, {GetParam().fault, "interrupt", peer_computes}, 64).p99, 100);
}

// That the test can fail: without interrupts the sender waits for the rest of the computation.
TEST_P(Pauses, LastAsLongAsThePeerComputesWithoutInterrupts) {
  EXPECT_LE(measure(GetParam().name, {GetParam().fault, "polling", false}, 64).p99, 100);
  EXPECT_GE(measure(GetParam().name, {GetParam().fault, "polling", true}, 4).median, 4000);
}

INSTANTIATE_TEST_SUITE_P(Faults, Pauses,
                         ::testing::Values(Kind{"cable", "link nH/hwR down"},
                                           Kind{"adapter", "adapter nH/hwR dead"},
                                           Kind{"switch", "switch switchR dead"},
                                           Kind{"silent", "link nH/hwR blackhole both"}),
                         [](const auto& each) { return std::string(each.param.name); });

// What fails comes back while the peer computes, and is used again, for afterwards nothing else works.
struct Return {
  const char* name;
  const char* faults;
  int ports;
};

// What a counter of MPI_T comes to since it was made.
class Counter {
 public:
  explicit Counter(const char* name) {
    int provided, index, count;
    MPI_T_init_thread(MPI_THREAD_SINGLE, &provided);
    MPI_T_pvar_get_index(name, MPI_T_PVAR_CLASS_COUNTER, &index);
    MPI_T_pvar_session_create(&session_);
    MPI_T_pvar_handle_alloc(session_, index, nullptr, &handle_, &count);
    MPI_T_pvar_start(session_, handle_);
  }
  ~Counter() {
    MPI_T_pvar_session_free(&session_);
    MPI_T_finalize();
  }
  std::uint64_t value() const {
    unsigned long long value = 0;
    MPI_T_pvar_read(session_, handle_, &value);
    return value;
  }

 private:
  MPI_T_pvar_session session_;
  MPI_T_pvar_handle handle_;
};

class Returns : public ::testing::TestWithParam<Return> {};

TEST_P(Returns, WhileThePeerComputes) {
  SimulationOptions options = options_of({"", "interrupt", true}, 1);
  options.fabric->ports = GetParam().ports;
  options.fabric->faults = GetParam().faults;
  Nanoseconds ends = 0;
  std::uint64_t armed = 0;
  const SimulationOutcome outcome = Simulation(options).run([&](SimulatedRank& self) {
    MPI_Init(nullptr, nullptr);
    if (self.rank() == 1) {
      receive_all(self, true);
    } else {
      MPI_Barrier(MPI_COMM_WORLD);
      const Counter alternates("rail_alternates_armed");
      Pause pause;
      send_all(self, pause);
      ends = self.now();
      armed = alternates.value();
    }
    MPI_Finalize();
  });
  EXPECT_TRUE(outcome.finished()) << outcome.report;
  std::printf(
      "%s: sent after %.1f ms; %llu failures, %llu migrations, %llu alternate routes armed at the sender\n",
      GetParam().name, static_cast<double>(ends) / 1e6,
      static_cast<unsigned long long>(outcome.rails.failures),
      static_cast<unsigned long long>(outcome.rails.migrations), static_cast<unsigned long long>(armed));
  EXPECT_LT(ends, computation / 2);
  // A migration uses an alternate route up. The peer has to agree to each that is armed, and computes.
  if (GetParam().ports > 1) {
    constexpr std::uint64_t rails = 2;
    EXPECT_GT(outcome.rails.migrations, 2 * rails);
    EXPECT_GT(armed, rails);
  }
}

INSTANTIATE_TEST_SUITE_P(
    Faults, Returns,
    ::testing::Values(
        Return{"cables", "20ms link n0/hw0 down\n22ms link n1/hw1 down\n100ms link n1/hw1 up\n", 1},
        Return{"adapter", "10ms adapter n1/hw0 dead\n30ms adapter n1/hw0 alive\n90ms link n0/hw1 down\n", 1},
        Return{"partition",
               "20ms link n0/hw0 blackhole both\n20ms link n0/hw1 blackhole both\n"
               "400ms link n0/hw0 clear\n410ms link n0/hw1 clear\n",
               1},
        Return{"ports",
               "10ms link n1/hw0 down\n15ms link n1/hw1 down\n40ms link n1/hw0 up\n45ms link n1/hw1 up\n"
               "80ms link n1/hw0:2 down\n80ms link n1/hw1:2 down\n",
               2}),
    [](const auto& each) { return std::string(each.param.name); });

}  // namespace
}  // namespace hawser
