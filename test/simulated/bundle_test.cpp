// Small non-blocking messages behind others wait to share a packet, but not for longer than the calls that
// send them: the next call that waits, tests or receives lets them go, also if it finds everything done. Here
// rank 0 computes afterwards, and rank 1 must not wait for the end of that.
#include <gtest/gtest.h>
#include <mpi.h>

#include <algorithm>
#include <numeric>
#include <string>
#include <vector>

#include "connected.h"
#include "testbed/simulator/simulation.h"

namespace hawser {
namespace {

// Not a multiple of what a packet takes, so that some are left.
constexpr int messages = 45;
constexpr Nanoseconds computation = 20 * millisecond;

using Calls = void (*)(std::vector<MPI_Request>&);
struct Ending {
  const char* name;
  Calls calls;  // after the sends; what is left of the requests is waited for at the end
  const char* progress = "polling";
};
void PrintTo(const Ending& ending, std::ostream* out) { *out << ending.name; }

void wait_for_the_last(std::vector<MPI_Request>& requests) { MPI_Wait(&requests.back(), MPI_STATUS_IGNORE); }
void wait_for_all(std::vector<MPI_Request>& requests) {
  MPI_Waitall(messages, requests.data(), MPI_STATUSES_IGNORE);
}
void wait_for_any(std::vector<MPI_Request>& requests) {
  int index;
  MPI_Waitany(messages, requests.data(), &index, MPI_STATUS_IGNORE);
}
void wait_for_some(std::vector<MPI_Request>& requests) {
  int count;
  std::vector<int> indices(messages);
  MPI_Waitsome(messages, requests.data(), &count, indices.data(), MPI_STATUSES_IGNORE);
}
void test_one(std::vector<MPI_Request>& requests) {
  int flag;
  MPI_Test(&requests.back(), &flag, MPI_STATUS_IGNORE);
}
void test_all(std::vector<MPI_Request>& requests) {
  int flag;
  MPI_Testall(messages, requests.data(), &flag, MPI_STATUSES_IGNORE);
}
void test_any(std::vector<MPI_Request>& requests) {
  int index, flag;
  MPI_Testany(messages, requests.data(), &index, &flag, MPI_STATUS_IGNORE);
}
void test_some(std::vector<MPI_Request>& requests) {
  int count;
  std::vector<int> indices(messages);
  MPI_Testsome(messages, requests.data(), &count, indices.data(), MPI_STATUSES_IGNORE);
}
// Of a message to itself, which is there.
void receive(std::vector<MPI_Request>&) {
  MPI_Recv(nullptr, 0, MPI_BYTE, 0, 1, MPI_COMM_SELF, MPI_STATUS_IGNORE);
}
void send_blocking(std::vector<MPI_Request>&) { MPI_Send(nullptr, 0, MPI_BYTE, 1, 1, MPI_COMM_WORLD); }
void send_buffered(std::vector<MPI_Request>&) {
  static char buffer[1000 + MPI_BSEND_OVERHEAD];
  MPI_Buffer_attach(buffer, sizeof buffer);
  MPI_Bsend(nullptr, 0, MPI_BYTE, 1, 1, MPI_COMM_WORLD);
}
void nothing(std::vector<MPI_Request>&) {}

const Ending endings[] = {
    {"Wait", wait_for_the_last}, {"Waitall", wait_for_all}, {"Waitany", wait_for_any},
    {"Waitsome", wait_for_some}, {"Test", test_one},        {"Testall", test_all},
    {"Testany", test_any},       {"Testsome", test_some},   {"Recv", receive},
    {"Send", send_blocking},     {"Bsend", send_buffered},  {"NothingButInterrupts", nothing, "interrupt"},
};

// Receives at rank 1 or sends from rank 0, one request for each element.
void post(int rank, std::vector<double>& data, std::vector<MPI_Request>& requests) {
  for (std::size_t i = 0; i < data.size(); ++i)
    rank == 0 ? MPI_Isend(&data[i], 1, MPI_DOUBLE, 1, 0, MPI_COMM_WORLD, &requests[i])
              : MPI_Irecv(&data[i], 1, MPI_DOUBLE, 0, 0, MPI_COMM_WORLD, &requests[i]);
}

class Bundles : public ::testing::TestWithParam<Ending> {};

TEST_P(Bundles, GoBeforeTheProgramComputes) {
  SimulationOptions options{.ranks = 2};
  options.fabric.emplace();
  options.knobs = {{"HAWSER_PROGRESS", GetParam().progress}};
  double begin = 0, end = 0;  // one clock for both
  const SimulationOutcome outcome = Simulation(options).run([&](SimulatedRank& self) {
    MPI_Init(nullptr, nullptr);
    connect_with_all();
    std::vector<MPI_Request> requests(messages);
    std::vector<double> data(messages);
    if (self.rank() == 0) MPI_Send(nullptr, 0, MPI_BYTE, 0, 1, MPI_COMM_SELF);
    if (self.rank() == 0) std::iota(data.begin(), data.end(), 0.0);
    if (self.rank() == 1) post(1, data, requests);
    MPI_Barrier(MPI_COMM_WORLD);
    if (self.rank() == 0) {
      begin = MPI_Wtime();
      post(0, data, requests);
      GetParam().calls(requests);
      self.compute(computation);
    }
    MPI_Waitall(messages, requests.data(), MPI_STATUSES_IGNORE);
    if (self.rank() == 1) end = MPI_Wtime();
    for (int i = 0; i < messages; ++i) EXPECT_EQ(data[static_cast<std::size_t>(i)], i);
    MPI_Barrier(MPI_COMM_WORLD);
    // Of those that the calls above sent beside them.
    int flag = 1;
    while (self.rank() == 1 && flag != 0) {
      MPI_Iprobe(0, 1, MPI_COMM_WORLD, &flag, MPI_STATUS_IGNORE);
      if (flag != 0) MPI_Recv(nullptr, 0, MPI_BYTE, 0, 1, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    }
    MPI_Finalize();
  });
  ASSERT_TRUE(outcome.finished()) << outcome.report;
  // A thread that the program does not wait for has nothing of that kind to look after.
  const bool bundles = std::string(GetParam().progress) == "polling";
  EXPECT_EQ(outcome.rails.messages_bundled > 16, bundles);
  EXPECT_LT(end - begin, 5e-3) << "rank 1 waited while rank 0 computed";
}

INSTANTIATE_TEST_SUITE_P(After, Bundles, ::testing::ValuesIn(endings),
                         [](const auto& info) { return std::string(info.param.name); });

// What the adapters carry for a window of small messages, acknowledgements of MPI included.
TEST(Bundles, TakeAFewPacketsForAWindow) {
  SimulationOptions options{.ranks = 2};
  options.fabric.emplace();
  const SimulationOutcome outcome = Simulation(options).run([&](SimulatedRank& self) {
    MPI_Init(nullptr, nullptr);
    connect_with_all();
    constexpr int windows = 100, window = 64;
    std::vector<MPI_Request> requests(window);
    std::vector<double> data(window);
    for (int round = 0; round < windows; ++round) {
      post(self.rank(), data, requests);
      MPI_Waitall(window, requests.data(), MPI_STATUSES_IGNORE);
      if (self.rank() == 0)
        MPI_Recv(nullptr, 0, MPI_BYTE, 1, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
      else
        MPI_Send(nullptr, 0, MPI_BYTE, 0, 0, MPI_COMM_WORLD);
    }
    MPI_Finalize();
  });
  ASSERT_TRUE(outcome.finished()) << outcome.report;
  EXPECT_LT(outcome.rails.packets_sent, 100u * 16u);
  EXPECT_GT(outcome.rails.packets_sent, 100u * 4u);
}

// No call lets the last messages go before the computation. The library cannot know, but it learns.
TEST(Bundles, AreFewWhereTheProgramAlwaysComputesAfterSending) {
  constexpr int rounds = 200;
  constexpr Nanoseconds step = 2 * millisecond;
  SimulationOptions options{.ranks = 2};
  options.fabric.emplace();
  double begin = 0;  // one clock for both
  int late = 0;
  const SimulationOutcome outcome = Simulation(options).run([&](SimulatedRank& self) {
    MPI_Init(nullptr, nullptr);
    connect_with_all();
    std::vector<MPI_Request> requests(messages);
    std::vector<double> data(messages);
    for (int round = 0; round < rounds; ++round) {
      if (self.rank() == 1) post(1, data, requests);
      MPI_Barrier(MPI_COMM_WORLD);
      if (self.rank() == 0) {
        begin = MPI_Wtime();
        post(0, data, requests);
        self.compute(step);
      }
      MPI_Waitall(messages, requests.data(), MPI_STATUSES_IGNORE);
      if (self.rank() == 1 && MPI_Wtime() - begin > 1e-3) ++late;
    }
    MPI_Finalize();
  });
  ASSERT_TRUE(outcome.finished()) << outcome.report;
  EXPECT_GE(late, 1) << "it was not tried";
  EXPECT_LE(late, 3);
}

// Small messages between all pairs, several each.
void exchange_with_all(int rank, int ranks) {
  constexpr int each = 8;
  const auto count = static_cast<std::size_t>(each * (ranks - 1));
  std::vector<MPI_Request> requests(2 * count);
  std::vector<double> in(count), out(count);
  const auto distance = [&](std::size_t i) { return 1 + static_cast<int>(i) % (ranks - 1); };
  for (std::size_t i = 0; i < count; ++i)
    MPI_Isend(&out[i], 1, MPI_DOUBLE, (rank + distance(i)) % ranks, 0, MPI_COMM_WORLD, &requests[i]);
  for (std::size_t i = 0; i < count; ++i)
    MPI_Irecv(&in[i], 1, MPI_DOUBLE, (rank + ranks - distance(i)) % ranks, 0, MPI_COMM_WORLD,
              &requests[count + i]);
  MPI_Waitall(static_cast<int>(2 * count), requests.data(), MPI_STATUSES_IGNORE);
}

void send_many_to_one(int rank, int ranks) {
  std::vector<MPI_Request> requests(static_cast<std::size_t>(32 * (rank == 0 ? ranks - 1 : 1)));
  std::vector<double> data(requests.size());
  for (std::size_t i = 0; i < data.size(); ++i)
    rank == 0 ? MPI_Irecv(&data[i], 1, MPI_DOUBLE, MPI_ANY_SOURCE, 1, MPI_COMM_WORLD, &requests[i])
              : MPI_Isend(&data[i], 1, MPI_DOUBLE, 0, 1, MPI_COMM_WORLD, &requests[i]);
  MPI_Waitall(static_cast<int>(data.size()), requests.data(), MPI_STATUSES_IGNORE);
}

// A rank that begins to wait finds much that has come meanwhile. What shared a packet until then has not
// waited in vain, so messages go on sharing packets.
TEST(Bundles, GoOnAfterExchangesAmongMany) {
  constexpr int ranks = 32;
  SimulationOptions options{.ranks = ranks};
  options.fabric = FabricOptions{.topology = "fat-tree-144", .rails = 2};
  options.fabric->parameters = "link-rate 12500MB/s link-latency 300ns\n";
  options.fabric->cost.registration = 0;
  options.fabric->cost.post = options.fabric->cost.completion = 250;
  double begin = 0, end = 0;  // one clock for all; of the last round
  const SimulationOutcome outcome = Simulation(options).run([&](SimulatedRank& self) {
    MPI_Init(nullptr, nullptr);
    for (int i = 0; i < 6; ++i) {
      exchange_with_all(self.rank(), ranks);
      MPI_Barrier(MPI_COMM_WORLD);
      if (begin <= end) begin = MPI_Wtime();
      send_many_to_one(self.rank(), ranks);
      if (self.rank() == 0) end = MPI_Wtime();
      MPI_Barrier(MPI_COMM_WORLD);
    }
    MPI_Finalize();
  });
  ASSERT_TRUE(outcome.finished()) << outcome.report;
  EXPECT_LT(end - begin, 90e-6) << "195 us when each message went alone";
}

}  // namespace
}  // namespace hawser
