// Two rails of which one is farther than the other, in virtual time: how far they are is found out, and no
// message that is waited for takes longer than over the nearer one alone.
#include <gtest/gtest.h>
#include <mpi.h>

#include <algorithm>
#include <string>
#include <vector>

#include "over_rails.h"

namespace hawser {
namespace {

constexpr int many_rounds = 200;

// Two ranks, with rails of which the links are so long.
SimulationOptions options_of(const std::vector<int>& latencies_us, const std::string& rate) {
  std::vector<std::string> links;
  for (const int latency : latencies_us)
    links.push_back("rate " + rate + " latency " + std::to_string(latency) + "us");
  return over_rails(2, "chunk 4K link-rate " + rate, links);
}

// What the rails counted in a ping-pong.
RailCounters counters_of(const std::vector<int>& latencies_us, const std::string& rate, double computes_us,
                         int rounds = many_rounds, const char* progress = "polling") {
  SimulationOptions options = options_of(latencies_us, rate);
  options.knobs = {{"HAWSER_PROGRESS", progress}};
  const SimulationOutcome outcome = Simulation(options).run([&](SimulatedRank& self) {
    MPI_Init(nullptr, nullptr);
    const int rank = self.rank();
    char out = 1, in = 0;
    for (int i = 0; i < rounds; ++i) {
      if (rank == 0) MPI_Send(&out, 1, MPI_BYTE, 1, 0, MPI_COMM_WORLD);
      self.compute(static_cast<Nanoseconds>(computes_us * 1000));
      MPI_Recv(&in, 1, MPI_BYTE, 1 - rank, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
      if (rank == 1) MPI_Send(&out, 1, MPI_BYTE, 0, 0, MPI_COMM_WORLD);
    }
    MPI_Finalize();
  });
  EXPECT_TRUE(outcome.finished()) << outcome.report;
  return outcome.rails;
}

// Packets that carried no message.
std::int64_t others(const RailCounters& counters) {
  return static_cast<std::int64_t>(counters.packets_sent + counters.packets_by_datagram) - 2 * many_rounds;
}

TEST(UnlikeLatencies, RailsAreTimedBesideMessages) {
  for (const std::vector<int>& latencies : {std::vector{1, 1}, {1, 5}, {30, 1}, {1, 30}})
    for (const char* rate : {"1GB/s", "12.5GB/s"})
      EXPECT_EQ(counters_of(latencies, rate, 0).rails_timed, 12u)
          << "three times by each rank, " << latencies[0] << " and " << latencies[1] << " us, " << rate;
}

TEST(UnlikeLatencies, OneRailAloneIsTimedByMessages) {
  const RailCounters counters = counters_of({1}, "1GB/s", 0);
  EXPECT_GE(counters.rails_timed, 6u) << "three times by each rank";
  EXPECT_LE(counters.rails_timed, 40u) << "and seldom later";
  EXPECT_LE(others(counters), 6);
}

TEST(UnlikeLatencies, FewMessagesTimeNothing) {
  EXPECT_EQ(counters_of({1, 5}, "1GB/s", 0, 50).rails_timed, 0u);
}

// Where each packet more may cost an interrupt.
TEST(UnlikeLatencies, AThreadThatGoesOnTimesNothing) {
  const RailCounters counters = counters_of({1, 5}, "1GB/s", 0, many_rounds, "interrupt");
  EXPECT_EQ(counters.rails_timed, 0u);
  EXPECT_LE(others(counters), 12);
}

// Who computes finds late that a packet was done, and gives up for long.
TEST(UnlikeLatencies, ComputingTellsNothingOfRails) {
  const RailCounters counters = counters_of({1, 5}, "1GB/s", 100);
  EXPECT_EQ(counters.rails_timed, 0u);
  EXPECT_GE(others(counters), 12);
  EXPECT_LE(others(counters), 30);
}

using Round = void (*)(int rank, int bytes, std::vector<char>& data, MPI_Win window);

void ping_pong(int rank, int bytes, std::vector<char>& data, MPI_Win) {
  if (rank == 0) MPI_Send(data.data(), bytes, MPI_BYTE, 1, 0, MPI_COMM_WORLD);
  MPI_Recv(data.data(), bytes, MPI_BYTE, 1 - rank, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
  if (rank == 1) MPI_Send(data.data(), bytes, MPI_BYTE, 0, 0, MPI_COMM_WORLD);
}

constexpr int under_way = 64;

// Rank 0 sends; with an answer, so that each round ends.
void window_one_way(int rank, int bytes, std::vector<char>& data, MPI_Win) {
  MPI_Request requests[under_way];
  for (MPI_Request& request : requests) {
    if (rank == 0)
      MPI_Isend(data.data(), bytes, MPI_BYTE, 1, 0, MPI_COMM_WORLD, &request);
    else
      MPI_Irecv(data.data(), bytes, MPI_BYTE, 0, 0, MPI_COMM_WORLD, &request);
  }
  MPI_Waitall(under_way, requests, MPI_STATUSES_IGNORE);
  char end = 0;
  if (rank == 1) MPI_Send(&end, 1, MPI_BYTE, 0, 1, MPI_COMM_WORLD);
  if (rank == 0) MPI_Recv(&end, 1, MPI_BYTE, 1, 1, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
}

void window_both_ways(int rank, int bytes, std::vector<char>& data, MPI_Win) {
  MPI_Request requests[2 * under_way];
  for (int i = 0; i < under_way; ++i) {
    MPI_Irecv(data.data(), bytes, MPI_BYTE, 1 - rank, 0, MPI_COMM_WORLD, &requests[2 * i]);
    MPI_Isend(data.data(), bytes, MPI_BYTE, 1 - rank, 0, MPI_COMM_WORLD, &requests[2 * i + 1]);
  }
  MPI_Waitall(2 * under_way, requests, MPI_STATUSES_IGNORE);
}

void exchange(int rank, int bytes, std::vector<char>& data, MPI_Win) {
  std::vector<char> in(data.size());
  MPI_Sendrecv(data.data(), bytes, MPI_BYTE, 1 - rank, 0, in.data(), bytes, MPI_BYTE, 1 - rank, 0,
               MPI_COMM_WORLD, MPI_STATUS_IGNORE);
}

void all_reduce(int, int bytes, std::vector<char>& data, MPI_Win) {
  MPI_Allreduce(MPI_IN_PLACE, data.data(), bytes, MPI_BYTE, MPI_BOR, MPI_COMM_WORLD);
}

void put(int rank, int bytes, std::vector<char>& data, MPI_Win window) {
  if (rank != 0) return;
  MPI_Put(data.data(), bytes, MPI_BYTE, 1, 0, bytes, MPI_BYTE, window);
  MPI_Win_flush(1, window);
}

void get_many(int rank, int bytes, std::vector<char>& data, MPI_Win window) {
  if (rank != 0) return;
  for (int i = 0; i < 64; ++i) MPI_Get(data.data(), bytes, MPI_BYTE, 1, 0, bytes, MPI_BYTE, window);
  MPI_Win_flush(1, window);
}

// Microseconds of a round, when the rails are known: from small messages before, or else only from such
// rounds.
enum class Before : std::uint8_t { small_messages, nothing };
double time_of(Round round, const std::vector<int>& latencies_us, const std::string& rate, int bytes,
               Before before = Before::small_messages) {
  SimulationOptions options = options_of(latencies_us, rate);
  count_software(options);
  double time = 0;
  const SimulationOutcome outcome = Simulation(options).run([&](SimulatedRank& self) {
    MPI_Init(nullptr, nullptr);
    const auto size = static_cast<std::size_t>(bytes);
    std::vector<char> data(size), memory(size);
    MPI_Win window;
    MPI_Win_create(memory.data(), bytes, 1, MPI_INFO_NULL, MPI_COMM_WORLD, &window);
    MPI_Win_lock_all(0, window);
    constexpr int warm_up = 400, rounds = 50;
    if (before == Before::small_messages)
      for (int i = 0; i < warm_up; ++i) ping_pong(self.rank(), 8, data, window);
    for (int i = 0; i < warm_up / 4; ++i) round(self.rank(), bytes, data, window);
    MPI_Barrier(MPI_COMM_WORLD);
    const double begin = MPI_Wtime();
    for (int i = 0; i < rounds; ++i) round(self.rank(), bytes, data, window);
    if (self.rank() == 0) time = (MPI_Wtime() - begin) / rounds * 1e6;
    MPI_Win_unlock_all(window);
    MPI_Win_free(&window);
    MPI_Finalize();
  });
  EXPECT_TRUE(outcome.finished()) << outcome.report;
  return time;
}

// Over the nearer rail alone, whichever it is.
void expect_no_loss(const char* name, Round round, const std::vector<int>& sizes,
                    Before before = Before::small_messages) {
  constexpr double most = 1.02;
  for (const std::vector<int>& latencies : {std::vector{1, 5}, {5, 1}, {2, 1}, {1, 30}})
    for (const char* rate : {"1GB/s", "12.5GB/s"})
      for (const int bytes : sizes) {
        const double alone = time_of(round, {*std::ranges::min_element(latencies)}, rate, bytes, before);
        const double both = time_of(round, latencies, rate, bytes, before);
        EXPECT_LE(both, most * alone) << name << " of " << bytes << " bytes, " << latencies[0] << " and "
                                      << latencies[1] << " us, " << rate;
      }
}

TEST(UnlikeLatencies, SingleMessagesTakeTheNearerRail) {
  expect_no_loss("ping-pong", ping_pong, {8, 1024, 4096, 8192, 32768});
}

TEST(UnlikeLatencies, SoDoSmallOnesOfCollectives) { expect_no_loss("all-reduce", all_reduce, {8, 1024}); }

TEST(UnlikeLatencies, SoDoPutsThatAreWaitedFor) { expect_no_loss("put and flush", put, {8, 1024, 4096}); }

TEST(UnlikeLatencies, SmallGetsTakeTheNearerRailWhileThatIsEarlier) {
  expect_no_loss("64 gets and a flush", get_many, {8, 1024, 4096});
}

TEST(UnlikeLatencies, LargeMessagesAloneTellThem) {
  expect_no_loss("ping-pong", ping_pong, {8192, 16384, 65536}, Before::nothing);
}

// Both read at the same time, and no rail is idle before all is read.
TEST(UnlikeLatencies, ExchangesOfLargeMessagesAloneTellThem) {
  expect_no_loss("one each way", exchange, {32768, 65536}, Before::nothing);
}

TEST(UnlikeLatencies, WindowsLoseNothing) {
  expect_no_loss("64 one way", window_one_way, {8, 256, 1024, 8192, 16384});
  expect_no_loss("64 each way", window_both_ways, {1024, 8192});
}

// The farther rail takes what would wait longer on the nearer one.
TEST(UnlikeLatencies, WindowsUseBothRails) {
  for (const std::vector<int>& latencies : {std::vector{1, 5}, {5, 1}})
    for (const int bytes : {1024, 4096}) {
      const double alone = time_of(window_one_way, {1}, "1GB/s", bytes);
      const double both = time_of(window_one_way, latencies, "1GB/s", bytes);
      EXPECT_LE(both, 0.65 * alone) << bytes << " bytes, " << latencies[0] << " and " << latencies[1]
                                    << " us";
    }
}

}  // namespace
}  // namespace hawser
