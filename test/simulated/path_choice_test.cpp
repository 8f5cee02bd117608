// What the default policy makes of four paths between ports: as fast as one where one is free for everybody,
// much faster where routes collide; and of two engines where one is slower than the port. In virtual time.
#include <gtest/gtest.h>
#include <mpi.h>

#include <algorithm>
#include <cstdio>
#include <string>
#include <vector>

#include "testbed/simulator/simulation.h"

namespace hawser {
namespace {

using Round = void (*)(int rank, int size, int bytes, std::vector<char>& out, std::vector<char>& in);

void ring(int rank, int size, int bytes, std::vector<char>& out, std::vector<char>& in) {
  const int to = (rank + size / 2) % size;
  MPI_Sendrecv(out.data(), bytes, MPI_BYTE, to, 0, in.data(), bytes, MPI_BYTE, to, 0, MPI_COMM_WORLD,
               MPI_STATUS_IGNORE);
}

void ping_pong(int rank, int, int bytes, std::vector<char>& out, std::vector<char>& in) {
  if (rank == 0) MPI_Send(out.data(), bytes, MPI_BYTE, 1, 0, MPI_COMM_WORLD);
  MPI_Recv(in.data(), bytes, MPI_BYTE, 1 - rank, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
  if (rank == 1) MPI_Send(out.data(), bytes, MPI_BYTE, 0, 0, MPI_COMM_WORLD);
}

void all_to_all(int, int, int bytes, std::vector<char>& out, std::vector<char>& in) {
  MPI_Alltoall(out.data(), bytes, MPI_BYTE, in.data(), bytes, MPI_BYTE, MPI_COMM_WORLD);
}

void scatter(int, int, int bytes, std::vector<char>& out, std::vector<char>& in) {
  MPI_Scatter(out.data(), bytes, MPI_BYTE, in.data(), bytes, MPI_BYTE, 0, MPI_COMM_WORLD);
  MPI_Barrier(MPI_COMM_WORLD);
}

// Rank 0 sends 64 messages to the last rank and hears that they are there.
void window(int rank, int ranks, int bytes, std::vector<char>& out, std::vector<char>& in) {
  if (rank != 0 && rank != ranks - 1) return;
  std::vector<MPI_Request> requests(64);
  char done = 0;
  for (MPI_Request& request : requests)
    rank == 0 ? MPI_Isend(out.data(), bytes, MPI_BYTE, ranks - 1, 0, MPI_COMM_WORLD, &request)
              : MPI_Irecv(in.data(), bytes, MPI_BYTE, 0, 0, MPI_COMM_WORLD, &request);
  MPI_Waitall(64, requests.data(), MPI_STATUSES_IGNORE);
  rank == 0 ? MPI_Recv(&done, 1, MPI_BYTE, ranks - 1, 1, MPI_COMM_WORLD, MPI_STATUS_IGNORE)
            : MPI_Send(&done, 1, MPI_BYTE, 0, 1, MPI_COMM_WORLD);
}

// The same both ways.
void windows_both_ways(int rank, int ranks, int bytes, std::vector<char>& out, std::vector<char>& in) {
  std::vector<MPI_Request> requests(128);
  const auto peer = ranks - 1 - rank;
  for (std::size_t i = 0; i < 64; ++i) {
    MPI_Irecv(in.data(), bytes, MPI_BYTE, peer, 0, MPI_COMM_WORLD, &requests[i]);
    MPI_Isend(out.data(), bytes, MPI_BYTE, peer, 0, MPI_COMM_WORLD, &requests[64 + i]);
  }
  MPI_Waitall(128, requests.data(), MPI_STATUSES_IGNORE);
}

// Each puts to the next one on another leaf, and is put to.
void puts(int rank, int size, int bytes, std::vector<char>& out, std::vector<char>& in) {
  MPI_Win window;
  MPI_Win_create(in.data(), bytes, 1, MPI_INFO_NULL, MPI_COMM_WORLD, &window);
  MPI_Win_lock_all(MPI_MODE_NOCHECK, window);
  constexpr int times = 20;
  for (int i = 0; i < times; ++i) {
    MPI_Put(out.data(), bytes, MPI_BYTE, (rank + 7) % size, 0, bytes, MPI_BYTE, window);
    MPI_Win_flush((rank + 7) % size, window);
  }
  MPI_Win_unlock_all(window);
  MPI_Win_free(&window);
}

// Sixteen messages at once to the one on the other side, and from it.
void ring_of_windows(int rank, int size, int bytes, std::vector<char>& out, std::vector<char>& in) {
  const int to = (rank + size / 2) % size;
  std::vector<MPI_Request> requests(32);
  for (int i = 0; i < 16; ++i) {
    const auto place = static_cast<std::size_t>(bytes) * static_cast<std::size_t>(i);
    MPI_Irecv(&in[place], bytes, MPI_BYTE, to, 0, MPI_COMM_WORLD, &requests[static_cast<std::size_t>(i)]);
    MPI_Isend(&out[place], bytes, MPI_BYTE, to, 0, MPI_COMM_WORLD,
              &requests[static_cast<std::size_t>(16 + i)]);
  }
  MPI_Waitall(32, requests.data(), MPI_STATUSES_IGNORE);
}

struct Case {
  const char* name;
  int ranks;
  std::string topology, parameters;
  Round round;
  int bytes, warm_up;
  int rails = 1;
};

std::uint64_t on_demand = 0;  // connections of the last job that were made on demand, both ends

// Time of a round in microseconds, by the slowest rank.
double time_of(const Case& which, const char* paths, const char* engines) {
  SimulationOptions options{.ranks = which.ranks, .seed = 3};
  options.fabric =
      FabricOptions{.topology = which.topology, .rails = which.rails, .parameters = which.parameters};
  options.knobs = {{"HAWSER_RAIL_PATHS", paths},
                   {"HAWSER_RAIL_ENGINES", engines},
                   {"HAWSER_COLLECTIVE_ALGORITHM", "scatter=linear"}};
  options.time_limit = 60 * second;
  double time = 0;
  const SimulationOutcome outcome = Simulation(options).run([&](SimulatedRank& self) {
    MPI_Init(nullptr, nullptr);
    const auto size = static_cast<std::size_t>(which.bytes) * static_cast<std::size_t>(self.size());
    std::vector<char> out(size), in(size);
    constexpr int rounds = 10;
    double begin = 0;
    for (int i = 0; i < which.warm_up + rounds; ++i) {
      if (i == which.warm_up) {
        MPI_Barrier(MPI_COMM_WORLD);
        begin = MPI_Wtime();
      }
      which.round(self.rank(), self.size(), which.bytes, out, in);
    }
    const double mine = (MPI_Wtime() - begin) / rounds * 1e6;
    MPI_Reduce(&mine, &time, 1, MPI_DOUBLE, MPI_MAX, 0, MPI_COMM_WORLD);
    MPI_Finalize();
  });
  EXPECT_TRUE(outcome.finished()) << which.name << ": " << outcome.report;
  EXPECT_EQ(outcome.rails.failures, 0u) << which.name;
  on_demand = outcome.rails.connections_on_demand;
  std::printf("%s, %s paths, %s engines: %.1f us a round, %llu made on demand\n", which.name, paths, engines,
              time, static_cast<unsigned long long>(on_demand));
  return time;
}

// Windows of 8 KiB both ways, in microseconds, after windows of less. Both ranks are busy with messages that
// they send when what they read first is there.
double time_after_smaller(const char* engines) {
  SimulationOptions options{.ranks = 2};
  options.fabric = FabricOptions{.topology = "single-switch", .rails = 1};
  options.fabric->parameters =
      "link-rate 2745MB/s link-latency 1us chunk 4K bus half bus-rate 7.6GB/s "
      "send-engines 4 send-engine-rate 1661MB/s receive-engines 4 receive-engine-rate 1661MB/s";
  options.fabric->cost.registration = 0;
  options.fabric->cost.post = options.fabric->cost.completion = 250;
  options.knobs = {{"HAWSER_RAIL_ENGINES", engines}};
  double time = 0;
  const SimulationOutcome outcome = Simulation(options).run([&](SimulatedRank& self) {
    MPI_Init(nullptr, nullptr);
    std::vector<char> out(8192), in(8192);
    double begin = 0;
    for (const int bytes : {1, 8, 64, 256, 1024, 2048, 4096, 8192}) {
      MPI_Barrier(MPI_COMM_WORLD);
      for (int i = 0; i < 6; ++i) {
        if (i == 3) begin = MPI_Wtime();
        windows_both_ways(self.rank(), 2, bytes, out, in);
        self.rank() == 0 ? MPI_Recv(in.data(), 1, MPI_BYTE, 1, 1, MPI_COMM_WORLD, MPI_STATUS_IGNORE)
                         : MPI_Send(out.data(), 1, MPI_BYTE, 0, 1, MPI_COMM_WORLD);
      }
      if (self.rank() == 0) time = (MPI_Wtime() - begin) / 3 * 1e6;
    }
    MPI_Finalize();
  });
  EXPECT_TRUE(outcome.finished()) << outcome.report;
  std::printf("8 KiB both ways after less, %s engines: %.1f us a window\n", engines, time);
  return time;
}

const std::string tree = "link-rate 1GB/s chunk 64K lmc 2 link-latency 100ns switch-latency 140ns ";

TEST(PathChoice, FourPathsCostNothingOnAnEvenFabric) {
  for (const Case& which : {Case{"ring", 24, "fat-tree-144", tree, ring, 64 << 10, 3},
                            Case{"ring", 24, "fat-tree-144", tree, ring, 1 << 20, 3},
                            Case{"all-to-all", 24, "fat-tree-144", tree, all_to_all, 64 << 10, 3}}) {
    const double one = time_of(which, "1", "1");
    EXPECT_LE(time_of(which, "4", "1"), 1.03 * one) << which.name;
    EXPECT_LE(time_of(which, "auto", "1"), 1.02 * one) << which.name;
    EXPECT_LE(on_demand, 24u) << which.name << ": of 552 pairs of ranks with three each";
  }
}

TEST(PathChoice, FourPathsAreMuchFasterWhereRoutesCollide) {
  for (const char* seed : {"shuffle-seed 3", "shuffle-seed 5"})
    for (const Case& which : {Case{"ring", 24, "fat-tree-144", tree + seed, ring, 64 << 10, 20},
                              Case{"ring", 24, "fat-tree-144", tree + seed, ring, 1 << 20, 20},
                              Case{"all-to-all", 24, "fat-tree-144", tree + seed, all_to_all, 64 << 10, 3}})
      for (const char* paths : {"4", "auto"})
        EXPECT_LE(time_of(which, paths, "1"), 0.75 * time_of(which, "1", "1"))
            << which.name << ", " << seed << ", " << paths;
}

// Of 100 Gb/s, where a message of 256 KiB takes 21 us.
TEST(PathChoice, FastLinksFindAFreePathToo) {
  const std::string fast = "link-rate 12.5GB/s chunk 4K lmc 2 link-latency 100ns switch-latency 140ns ";
  const Case even{"ring", 24, "fat-tree-144", fast, ring, 64 << 10, 3};
  EXPECT_LE(time_of(even, "auto", "auto"), 1.02 * time_of(even, "1", "1"));
  for (const char* seed : {"shuffle-seed 3", "shuffle-seed 5"}) {
    const Case uneven{"ring", 24, "fat-tree-144", fast + seed, ring, 256 << 10, 40};
    EXPECT_LE(time_of(uneven, "auto", "auto"), 0.75 * time_of(uneven, "1", "1")) << seed;
  }
  const Case all{"all-to-all", 24, "fat-tree-144", fast + "shuffle-seed 3", all_to_all, 256 << 10, 6};
  EXPECT_LE(time_of(all, "auto", "auto"), 0.8 * time_of(all, "1", "1"));
}

TEST(PathChoice, TwoEnginesAreUsedWhereOneIsSlowerThanThePort) {
  const Case slow{"ping",
                  2,
                  "single-switch",
                  "link-rate 1GB/s link-latency 100ns send-engines 2 send-engine-rate 600MB/s "
                  "receive-engines 2 receive-engine-rate 600MB/s",
                  ring,
                  1 << 20,
                  40};
  EXPECT_LE(time_of(slow, "1", "2"), 0.75 * time_of(slow, "1", "1"));
  EXPECT_LE(time_of(slow, "1", "auto"), 0.75 * time_of(slow, "1", "1"));
  const Case fast{"ping", 2, "single-switch", "link-rate 1GB/s link-latency 100ns", ring, 1 << 20, 40};
  EXPECT_LE(time_of(fast, "1", "2"), 1.02 * time_of(fast, "1", "1"));
  EXPECT_LE(time_of(fast, "1", "auto"), 1.02 * time_of(fast, "1", "1"));
  EXPECT_EQ(on_demand, 0u);
}

const std::string two_engines =
    "link-rate 1GB/s chunk 4K lmc 2 link-latency 100ns switch-latency 140ns "
    "send-engines 2 send-engine-rate 600MB/s receive-engines 2 "
    "receive-engine-rate 600MB/s ";

// The root has a message for each of the others, and the rail of the first took them all.
TEST(PathChoice, SmallMessagesToManyTakeBothRails) {
  Case which{"scatter", 16, "fat-tree-144", tree, scatter, 2048, 20};
  const double one = time_of(which, "1", "1");
  which.rails = 2;
  EXPECT_LE(time_of(which, "1", "1"), 0.7 * one);
  Case many{"window", 2, "fat-tree-144", tree, window, 4096, 20};
  const double many_by_one = time_of(many, "1", "1");
  many.rails = 2;
  EXPECT_LE(time_of(many, "1", "1"), 0.6 * many_by_one);
}

// A queue pair has one engine at a time.
TEST(PathChoice, SmallMessagesTakeTwoEngines) {
  for (const Round round : {window, windows_both_ways}) {
    const Case slow{"window", 2, "single-switch", two_engines, round, 4096, 10};
    const double one = time_of(slow, "1", "1");
    EXPECT_LE(time_of(slow, "1", "auto"), 0.75 * one);
    EXPECT_EQ(on_demand, 2u);
  }
}

TEST(PathChoice, ATrialOfEnginesIsNotSpoiltByWhatWasFoundLate) {
  EXPECT_LE(time_after_smaller("auto"), 0.75 * time_after_smaller("1"));
}

// Adapters whose buses are what is narrow (V07 4.3.1). A second connection costs something there: packets
// overtake each other. One that had to find out how much may be under way cost a quarter.
TEST(PathChoice, SmallMessagesLeaveAnEngineThatBringsNothing) {
  const std::string adapters = "link-rate 884MB/s chunk 4K link-latency 2700ns bus half bus-rate 943MB/s";
  double lost = 0;
  for (const Case& narrow : {Case{"window", 2, "single-switch", adapters, window, 1024, 3, 2},
                             Case{"window", 2, "single-switch", adapters, window, 2048, 3, 2},
                             Case{"window", 2, "single-switch", adapters, window, 4096, 3, 2},
                             Case{"window", 2, "single-switch", adapters, window, 4096, 3},
                             Case{"both ways", 2, "single-switch", adapters, windows_both_ways, 2048, 3},
                             Case{"both ways", 2, "single-switch", adapters, windows_both_ways, 4096, 3}}) {
    const double one = time_of(narrow, "1", "1");
    EXPECT_LE(time_of(narrow, "1", "auto"), 1.02 * one)
        << narrow.name << ", " << narrow.rails << " rails, " << narrow.bytes;
    lost = std::max(lost, time_of(narrow, "1", "2") / one);
  }
  EXPECT_GE(lost, 1.03) << "or this shows nothing";
}

TEST(PathChoice, SmallMessagesNeedNoSecondEngineOfAPortThatOneFills) {
  const Case even{"window", 2, "single-switch", tree, window, 4096, 10};
  EXPECT_LE(time_of(even, "1", "auto"), 1.01 * time_of(even, "1", "1"));
  EXPECT_EQ(on_demand, 0u);
}

// The slow rail's port says how slow it is, which short messages find out late: they took 2.2 times as long.
// What is left is too short a latency that is taken for the slow rail.
TEST(PathChoice, ASlowRailIsKnownByItsPort) {
  const std::string slow = "link n0/hw1 rate 1GB/s\nlink n1/hw1 rate 1GB/s\n";
  const std::string fast = "link-rate 12GB/s\nlink-latency 500ns\nchunk 4K\n";
  for (const int bytes : {4096, 16384, 65536, 1 << 20}) {
    Case which{"ping", 2, "two-switch", fast, ring, bytes, 20};
    const double alone = time_of(which, "1", "1");
    which.rails = 2;
    which.parameters += slow;
    EXPECT_LE(time_of(which, "1", "1"), (bytes == 16384 || bytes == 65536 ? 1.45 : 1.02) * alone) << bytes;
  }
}

// Small messages find out by themselves that the network behind a port is slower than the port.
TEST(PathChoice, SmallMessagesKnowASlowRail) {
  const std::string slow = "\nlink LEAF1-1:3 rate 100MB/s\nlink LEAF1-1:4 rate 100MB/s\n";
  for (const int bytes : {64, 512, 4096, 8192}) {
    Case which{"window", 3, "fat-tree", tree, window, bytes, 20};
    const double alone = time_of(which, "1", "1");
    which.rails = 2;
    which.parameters += slow;
    EXPECT_LE(time_of(which, "1", "1"), 1.02 * alone) << bytes;
  }
}

// No path is blamed for what the own engine cannot do, and the peers learn from each other.
TEST(PathChoice, EnginesAreFoundBeforePathsAreTried) {
  for (const Case& which : {Case{"ring", 24, "fat-tree-144", two_engines, ring, 64 << 10, 6},
                            Case{"ring", 24, "fat-tree-144", two_engines, ring, 1 << 20, 3},
                            Case{"all-to-all", 24, "fat-tree-144", two_engines, all_to_all, 64 << 10, 4}}) {
    const double best = time_of(which, "1", "2");
    EXPECT_LE(time_of(which, "auto", "auto"), 1.1 * best) << which.name;
    EXPECT_LE(1.25 * best, time_of(which, "1", "1")) << which.name;
  }
}

// Messages that say too little of a path say enough of an engine.
TEST(PathChoice, MessagesOf16KiBTakeTwoEngines) {
  for (const int bytes : {16384, 28000}) {
    const Case which{"ping", 2, "fat-tree-144", two_engines, ping_pong, bytes, 100};
    EXPECT_LE(time_of(which, "auto", "auto"), 0.85 * time_of(which, "1", "1")) << bytes;
  }
}

// A long message whose rest may take another path goes piece by piece, to both engines alike.
TEST(PathChoice, PiecesKeepBothEnginesBusy) {
  const Case which{"ping", 2, "fat-tree-144", two_engines, ring, 1 << 20, 40};
  EXPECT_LE(time_of(which, "auto", "auto"), 1.03 * time_of(which, "1", "2"));
}

// One engine has more left than the other in the end, which is no path's fault, and a trial sees all of both.
TEST(PathChoice, EnginesAreKeptByPutsAndWindows) {
  for (const Case& which :
       {Case{"puts", 24, "fat-tree-144", two_engines, puts, 256 << 10, 2},
        Case{"windows", 24, "fat-tree-144", two_engines, ring_of_windows, 256 << 10, 3}}) {
    const double one = time_of(which, "1", "1");
    EXPECT_LE(time_of(which, "auto", "auto"), 0.75 * one) << which.name;
  }
}

// Where there is one engine a port, to look for more costs nothing.
TEST(PathChoice, LookingForEnginesCostsNothingWhereThereIsOne) {
  for (const Case& which : {Case{"ring", 24, "fat-tree-144", tree, ring, 64 << 10, 3},
                            Case{"ring", 24, "fat-tree-144", tree, ring, 1 << 20, 3},
                            Case{"all-to-all", 24, "fat-tree-144", tree, all_to_all, 64 << 10, 3}})
    EXPECT_LE(time_of(which, "auto", "auto"), 1.02 * time_of(which, "1", "1")) << which.name;
}

}  // namespace
}  // namespace hawser
