// What a process waits for that needs the software of another one, which computes and calls no function of
// MPI: with interrupts of 2 us it has it in microseconds, without them only when the other one has computed.
// And what the counters of interrupts say of such programs.
#include <gtest/gtest.h>
#include <mpi.h>

#include <algorithm>
#include <functional>
#include <string>
#include <vector>

#include "connected.h"
#include "testbed/simulator/simulation.h"

namespace hawser {
namespace {

constexpr Nanoseconds computation = 20 * millisecond;

SimulationOptions ranks_that_compute(const char* progress, int ranks = 2) {
  SimulationOptions options{.ranks = ranks};
  options.fabric.emplace();
  options.fabric->topology = "two-switch";
  options.fabric->parameters = "link-rate 1GB/s\n";
  options.fabric->cost.registration = 0;
  options.knobs = {{"HAWSER_PROGRESS", progress}};
  return options;
}

// What rank 0 does while the others compute. They began something before, which they wait for afterwards.
struct Request {
  const char* name;
  std::function<MPI_Request(std::vector<char>&, int rank)> begin;  // on the others; on rank 0 if `on_all`
  std::function<void(std::vector<char>&)> wait;                    // on rank 0
  bool on_all = false;
};

MPI_Request receive(std::vector<char>& data, int) {
  MPI_Request request;
  MPI_Irecv(data.data(), static_cast<int>(data.size()), MPI_BYTE, 0, 0, MPI_COMM_WORLD, &request);
  return request;
}
MPI_Request receive_again(std::vector<char>& data, int) {
  MPI_Request request;
  MPI_Recv_init(data.data(), static_cast<int>(data.size()), MPI_BYTE, 0, 0, MPI_COMM_WORLD, &request);
  MPI_Start(&request);
  return request;
}
void send_synchronously(std::vector<char>& data) {
  MPI_Ssend(data.data(), static_cast<int>(data.size()), MPI_BYTE, 1, 0, MPI_COMM_WORLD);
}
void send(std::vector<char>& data) {
  MPI_Send(data.data(), static_cast<int>(data.size()), MPI_BYTE, 1, 0, MPI_COMM_WORLD);
}
MPI_Request sum(std::vector<char>& data, int) {
  MPI_Request request;
  MPI_Iallreduce(MPI_IN_PLACE, data.data(), static_cast<int>(data.size()), MPI_CHAR, MPI_SUM, MPI_COMM_WORLD,
                 &request);
  return request;
}
MPI_Request barrier(std::vector<char>&, int) {
  MPI_Request request;
  MPI_Ibarrier(MPI_COMM_WORLD, &request);
  return request;
}

// Microseconds that rank 0 waits, the longest of some times; each after a time in which the network rests.
double wait_for_peer(const SimulationOptions& options, const Request& what, std::size_t bytes) {
  constexpr int first_rounds = 2, rounds = 8;
  double longest = 0;
  const auto body = [&](SimulatedRank& self) {
    MPI_Init(nullptr, nullptr);
    std::vector<char> data(bytes, 1);
    for (int round = -first_rounds; round < rounds; ++round) {
      MPI_Barrier(MPI_COMM_WORLD);
      MPI_Request request = MPI_REQUEST_NULL;
      const bool computes = self.rank() != 0;
      if (computes || what.on_all) request = what.begin(data, self.rank());
      self.compute(computes ? computation : computation / 4);
      const double begin = MPI_Wtime();
      if (!computes && !what.on_all) what.wait(data);
      MPI_Wait(&request, MPI_STATUS_IGNORE);
      if (!computes && round >= 0) longest = std::max(longest, (MPI_Wtime() - begin) * 1e6);
      if (request != MPI_REQUEST_NULL) MPI_Request_free(&request);
    }
    MPI_Finalize();
  };
  const SimulationOutcome outcome = Simulation(options).run(body);
  EXPECT_TRUE(outcome.finished()) << outcome.report;
  std::printf("%s of %zu bytes, %d ranks: %.1f us, interrupts: %llu useful, %llu useless, %llu suppressed\n",
              what.name, bytes, options.ranks, longest,
              static_cast<unsigned long long>(outcome.rails.interrupts_useful),
              static_cast<unsigned long long>(outcome.rails.interrupts_useless),
              static_cast<unsigned long long>(outcome.rails.interrupts_suppressed));
  return longest;
}

struct Case {
  Request what;
  std::size_t bytes;
  int ranks;
  double most;  // microseconds
};

class ComputingPeer : public ::testing::TestWithParam<Case> {};

TEST_P(ComputingPeer, AnswersByAnInterrupt) {
  const auto& [what, bytes, ranks, most] = GetParam();
  EXPECT_LT(wait_for_peer(ranks_that_compute("interrupt", ranks), what, bytes), most);
}

// That the test can fail.
TEST_P(ComputingPeer, AnswersWhenItHasComputedWithoutInterrupts) {
  const auto& [what, bytes, ranks, most] = GetParam();
  EXPECT_GT(wait_for_peer(ranks_that_compute("polling", ranks), what, bytes), 10'000);
}

INSTANTIATE_TEST_SUITE_P(
    Requests, ComputingPeer,
    ::testing::Values(Case{{"SynchronousSend", receive, send_synchronously}, 8, 2, 20},
                      Case{{"SynchronousSendOf2KiB", receive, send_synchronously}, 2048, 2, 25},
                      Case{{"PersistentReceive", receive_again, send_synchronously}, 8, 2, 20},
                      Case{{"PersistentReceiveOf256KiB", receive_again, send}, 256 << 10, 2, 200},
                      Case{{"Reduction", sum, nullptr, true}, 8, 4, 60},
                      Case{{"Barrier", barrier, nullptr, true}, 0, 4, 60}),
    [](const auto& each) { return std::string(each.param.what.name); });

// --- Counters

SimulationOutcome receive_while(const char* progress, int times, std::size_t bytes, bool computing) {
  const auto body = [&](SimulatedRank& self) {
    MPI_Init(nullptr, nullptr);
    connect_with_all(16 << 10);
    std::vector<char> data(bytes);
    for (int i = 0; i < times; ++i) {
      MPI_Request request;
      if (computing) MPI_Barrier(MPI_COMM_WORLD);
      if (self.rank() == 0 && computing) self.compute(computation / 4);
      if (self.rank() == 0)
        MPI_Isend(data.data(), static_cast<int>(bytes), MPI_BYTE, 1, 0, MPI_COMM_WORLD, &request);
      else
        MPI_Irecv(data.data(), static_cast<int>(bytes), MPI_BYTE, 0, 0, MPI_COMM_WORLD, &request);
      if (self.rank() == 1 && computing) self.compute(computation);
      MPI_Wait(&request, MPI_STATUS_IGNORE);
    }
    MPI_Finalize();
  };
  SimulationOutcome outcome = Simulation(ranks_that_compute(progress)).run(body);
  EXPECT_TRUE(outcome.finished()) << outcome.report;
  std::printf("%d times %zu bytes: interrupts: %llu useful, %llu useless, %llu suppressed\n", times, bytes,
              static_cast<unsigned long long>(outcome.rails.interrupts_useful),
              static_cast<unsigned long long>(outcome.rails.interrupts_useless),
              static_cast<unsigned long long>(outcome.rails.interrupts_suppressed));
  return outcome;
}

TEST(CountersOfInterrupts, CountAUsefulOneForEachMessageToARankThatComputes) {
  constexpr int times = 20;
  const RailCounters counters = receive_while("interrupt", times, 1 << 20, true).rails;
  EXPECT_GE(counters.interrupts_useful, times);
  EXPECT_LE(counters.interrupts_useful, 4 * times);
  EXPECT_LE(counters.interrupts_useless, times) << "rank 0 waits in MPI";
}

TEST(CountersOfInterrupts, CountUselessOnesOfARankThatWaitsAndLeaveMostOut) {
  constexpr int times = 400;
  const RailCounters counters = receive_while("interrupt", times, 64 << 10, false).rails;
  EXPECT_GT(counters.interrupts_useless, 0);
  EXPECT_GT(counters.interrupts_suppressed, times);
  EXPECT_LT(counters.interrupts_useless, times / 20);
}

TEST(CountersOfInterrupts, StayZeroWithPolling) {
  const RailCounters counters = receive_while("polling", 20, 1 << 20, true).rails;
  EXPECT_EQ(counters.interrupts_useful + counters.interrupts_useless + counters.interrupts_suppressed, 0);
}

}  // namespace
}  // namespace hawser
