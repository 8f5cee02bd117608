// Slow and crowded networks on which nothing fails: everything must finish, no connection may be taken for
// failed, and the adapters' impatience must not cost time.
#include <gtest/gtest.h>
#include <mpi.h>

#include <cstdio>
#include <string>
#include <vector>

#include "testbed/simulator/simulation.h"

namespace hawser {
namespace {

using Body = Simulation::Body;

// Everybody sends to the rank `step` further on, `rounds` messages in turn.
Body displaced_ring(int step, int rounds, int bytes) {
  return [=](SimulatedRank& self) {
    MPI_Init(nullptr, nullptr);
    const int to = (self.rank() + step) % self.size();
    const int from = (self.rank() - step + self.size()) % self.size();
    const auto size = static_cast<std::size_t>(bytes);
    std::vector<unsigned char> out(size), in(size);
    for (int round = 0; round < rounds; ++round) {
      out.assign(size, static_cast<unsigned char>(self.rank() + round));
      EXPECT_EQ(MPI_Sendrecv(out.data(), bytes, MPI_BYTE, to, 0, in.data(), bytes, MPI_BYTE, from, 0,
                             MPI_COMM_WORLD, MPI_STATUS_IGNORE),
                MPI_SUCCESS);
      EXPECT_EQ(in, std::vector<unsigned char>(size, static_cast<unsigned char>(from + round)));
    }
    MPI_Finalize();
  };
}

// All ranks send to rank 0 at once.
Body incast(int rounds, int bytes) {
  return [=](SimulatedRank& self) {
    MPI_Init(nullptr, nullptr);
    const auto size = static_cast<std::size_t>(bytes);
    for (int round = 0; round < rounds; ++round) {
      if (self.rank() != 0) {
        const std::vector<unsigned char> out(size, static_cast<unsigned char>(self.rank() + round));
        EXPECT_EQ(MPI_Send(out.data(), bytes, MPI_BYTE, 0, 0, MPI_COMM_WORLD), MPI_SUCCESS);
        continue;
      }
      std::vector<std::vector<unsigned char>> in(static_cast<std::size_t>(self.size()));
      std::vector<MPI_Request> requests(in.size(), MPI_REQUEST_NULL);
      for (std::size_t from = 1; from < in.size(); ++from) {
        in[from].resize(size);
        MPI_Irecv(in[from].data(), bytes, MPI_BYTE, static_cast<int>(from), 0, MPI_COMM_WORLD,
                  &requests[from]);
      }
      EXPECT_EQ(MPI_Waitall(self.size(), requests.data(), MPI_STATUSES_IGNORE), MPI_SUCCESS);
      for (std::size_t from = 1; from < in.size(); ++from)
        EXPECT_EQ(in[from], std::vector<unsigned char>(
                                size, static_cast<unsigned char>(static_cast<int>(from) + round)));
    }
    MPI_Finalize();
  };
}

struct Case {
  const char* name;
  int ranks;
  const char* topology;
  const char* parameters;
  Body body;
};

SimulationOutcome run(const Case& which, const std::string& rendezvous, bool patient) {
  SimulationOptions options{.ranks = which.ranks, .seed = 3};
  options.fabric = FabricOptions{.topology = which.topology, .rails = 1, .parameters = which.parameters};
  options.knobs = {{"HAWSER_RAIL_RENDEZVOUS", rendezvous}};
  if (patient) {
    options.knobs.push_back({"HAWSER_RAIL_ACKNOWLEDGE_TIME", "4s"});
    options.knobs.push_back({"HAWSER_RAIL_WATCHDOG", "100s"});
  }
  options.time_limit = 60 * second;
  const SimulationOutcome outcome = Simulation(options).run(which.body);
  std::printf(
      "%s, %s, %s: %s in %.3f s; %llu failures (watchdog %llu), stripes reissued %llu, packets %llu, "
      "%.1f of %.1f MB sent again\n",
      which.name, rendezvous.c_str(), patient ? "patient" : "as is", name_of(outcome.kind),
      static_cast<double>(outcome.finish_time) / 1e9, static_cast<unsigned long long>(outcome.rails.failures),
      static_cast<unsigned long long>(outcome.rails.watchdog),
      static_cast<unsigned long long>(outcome.rails.stripes_reissued),
      static_cast<unsigned long long>(outcome.rails.packets_reissued),
      static_cast<double>(outcome.repeated_bytes) / 1e6, static_cast<double>(outcome.payload_bytes) / 1e6);
  return outcome;
}

class SlowNetwork : public ::testing::TestWithParam<const char*> {
 protected:
  void finishes_without_a_failure(const Case& which) {
    const SimulationOutcome patient = run(which, GetParam(), true), as_is = run(which, GetParam(), false);
    ASSERT_TRUE(patient.finished()) << patient.report;
    ASSERT_TRUE(as_is.finished()) << as_is.report;
    EXPECT_EQ(as_is.rails.failures, 0u);
    EXPECT_LE(as_is.finish_time, patient.finish_time * 3 / 2);
  }
};

TEST_P(SlowNetwork, RingOver10MBps) {
  finishes_without_a_failure(
      {"ring", 24, "fat-tree-144",
       "link-rate 10MB/s chunk 64K shuffle-seed 3 lmc 2 link-latency 100ns switch-latency 140ns",
       displaced_ring(12, 5, 256 << 10)});
}

TEST_P(SlowNetwork, RingOver10MBpsWithEvenTables) {
  finishes_without_a_failure({"even ring", 24, "fat-tree-144",
                              "link-rate 10MB/s chunk 64K lmc 2 link-latency 100ns switch-latency 140ns",
                              displaced_ring(12, 5, 256 << 10)});
}

TEST_P(SlowNetwork, IncastOf24At2MBps) {
  finishes_without_a_failure({"incast of 24", 25, "single-switch",
                              "link-rate 2MB/s chunk 2K link-latency 1us", incast(1, 64 << 10)});
}

TEST_P(SlowNetwork, IncastOf48At10MBps) {
  finishes_without_a_failure({"incast of 48", 49, "fat-tree-144",
                              "link-rate 10MB/s chunk 2K link-latency 1us", incast(1, 64 << 10)});
}

TEST_P(SlowNetwork, FourIncastsOf64At50MBps) {
  finishes_without_a_failure({"incast of 64", 65, "fat-tree-144",
                              "link-rate 50MB/s chunk 64K link-latency 1us", incast(4, 64 << 10)});
}

// Nobody asks before an eager message is sent, so that many of them at once are more than the adapters have
// patience for. That happens once.
TEST(SlowNetworkWithEagerMessages, FailsNoPathTwice) {
  const Case which{"eager incast of 64", 65, "fat-tree-144", "link-rate 10MB/s chunk 2K link-latency 1us",
                   incast(8, 4 << 10)};
  const SimulationOutcome outcome = run(which, "read", false);
  ASSERT_TRUE(outcome.finished()) << outcome.report;
  EXPECT_EQ(outcome.rails.failed_again, 0u);
}

// More datagrams to one process than it has room for, so that most are lost. If all senders repeated theirs
// together, most would be lost again each time (46 ms, and 126 ms with 1,024 ranks).
TEST(SmallMessagesToOne, ArriveSoonThoughMostDatagramsAreLost) {
  constexpr int ranks = 500, rounds = 16;  // room for 512
  const Case which{"small incast of 499", ranks, "fat-tree", "link-rate 25GB/s link-latency 100ns",
                   incast(rounds, 64)};
  const SimulationOutcome outcome = run(which, "read", false);
  ASSERT_TRUE(outcome.finished()) << outcome.report;
  EXPECT_GE(outcome.rails.datagrams_repeated, ranks);
  EXPECT_LE(outcome.finish_time, 20 * millisecond);
}

INSTANTIATE_TEST_SUITE_P(Rendezvous, SlowNetwork, ::testing::Values("read", "write"));

}  // namespace
}  // namespace hawser
