// Broadcasts by multicast over the rails of a virtual fabric: that they arrive, that nothing but time is lost
// with cables and packets, and that they are faster than trees where `auto` takes them. In virtual time.
#include <gtest/gtest.h>
#include <mpi.h>

#include <string>
#include <vector>

#include "testbed/simulator/simulation.h"

namespace hawser {
namespace {

struct Fabric {
  int ranks = 8, on_node = 2;
  int rails = 2;
  std::string topology = "two-switch";
  std::string parameters;
  std::string faults;
};

SimulationOptions options_of(const Fabric& fabric, const char* multicast) {
  SimulationOptions options{.ranks = fabric.ranks, .seed = 5, .ranks_per_node = fabric.on_node};
  options.fabric = FabricOptions{.topology = fabric.topology,
                                 .rails = fabric.rails,
                                 .ranks_per_host = fabric.on_node,
                                 .parameters = fabric.parameters,
                                 .faults = fabric.faults};
  // What is lost on a connection is not to cost much: it is not what is tested.
  options.knobs = {{"HAWSER_MULTICAST", multicast}, {"HAWSER_RAIL_ACKNOWLEDGE_TIME", "100us"}};
  options.time_limit = 60 * second;
  return options;
}

// Broadcasts of `bytes` from root after root; true if all are right.
bool broadcasts(int rank, int size, int count, int bytes, MPI_Comm comm) {
  std::vector<unsigned char> data(static_cast<std::size_t>(bytes));
  bool right = true;
  for (int i = 0; i < count; ++i) {
    const int root = i / 7 % size;
    for (std::size_t at = 0; at < data.size(); ++at)
      data[at] = static_cast<unsigned char>(rank == root ? i + static_cast<int>(at % 251) : 0xff);
    MPI_Bcast(data.data(), bytes, MPI_BYTE, root, comm);
    for (std::size_t at = 0; at < data.size(); ++at)
      right &= data[at] == static_cast<unsigned char>(i + static_cast<int>(at % 251));
  }
  return right;
}

SimulationOutcome run(const Fabric& fabric, int rounds = 1, Nanoseconds pause = 0) {
  return Simulation(options_of(fabric, "always")).run([&](SimulatedRank& self) {
    MPI_Init(nullptr, nullptr);
    for (int round = 0; round < rounds; ++round) {
      for (const int bytes : {8, 3000, 20000, 300000})
        EXPECT_TRUE(broadcasts(self.rank(), self.size(), 40, bytes, MPI_COMM_WORLD)) << bytes;
      MPI_Comm freed;
      MPI_Comm_dup(MPI_COMM_WORLD, &freed);
      EXPECT_TRUE(broadcasts(self.rank(), self.size(), 40, 5000, freed));
      MPI_Comm_free(&freed);
      self.compute(pause);
    }
    MPI_Finalize();
  });
}

TEST(Multicast, GoesOverInfinibandAndEthernet) {
  for (const char* const link : {"", "link-layer ethernet"})
    for (const int on_node : {1, 2, 4}) {
      const SimulationOutcome outcome = run({.on_node = on_node, .parameters = link});
      ASSERT_TRUE(outcome.finished()) << link << on_node << outcome.report;
      EXPECT_GT(outcome.rails.multicast_sent, 0u);
      EXPECT_GT(outcome.rails.multicast_received, outcome.rails.multicast_sent);
      EXPECT_EQ(outcome.rails.multicast_dropped, 0u);
      EXPECT_EQ(outcome.rails.failures, 0u);
    }
}

// A counter of MPI_T in this process, from its construction on.
class ToolCounter {
 public:
  explicit ToolCounter(const char* name) {
    int provided = 0, index = 0, numbers = 0;
    MPI_T_init_thread(MPI_THREAD_SINGLE, &provided);
    EXPECT_EQ(MPI_T_pvar_get_index(name, MPI_T_PVAR_CLASS_COUNTER, &index), MPI_SUCCESS) << name;
    MPI_T_pvar_session_create(&session_);
    EXPECT_EQ(MPI_T_pvar_handle_alloc(session_, index, nullptr, &handle_, &numbers), MPI_SUCCESS);
    EXPECT_EQ(MPI_T_pvar_start(session_, handle_), MPI_SUCCESS);
  }
  ~ToolCounter() {
    MPI_T_pvar_handle_free(session_, &handle_);
    MPI_T_pvar_session_free(&session_);
    MPI_T_finalize();
  }
  unsigned long long value() {
    unsigned long long value = 0;
    EXPECT_EQ(MPI_T_pvar_read(session_, handle_, &value), MPI_SUCCESS);
    return value;
  }

 private:
  MPI_T_pvar_session session_;
  MPI_T_pvar_handle handle_;
};

TEST(Multicast, IsCountedForTools) {
  const SimulationOutcome outcome = Simulation(options_of({}, "always")).run([&](SimulatedRank& self) {
    MPI_Init(nullptr, nullptr);
    ToolCounter by_multicast("collective_multicast_broadcasts"), by_trees("collective_multicast_by_trees");
    ToolCounter repaired("collective_multicast_packets_repaired");
    int value = 0;
    for (int i = 0; i < 20; ++i) MPI_Bcast(&value, 1, MPI_INT, 0, MPI_COMM_WORLD);
    EXPECT_EQ(by_multicast.value() + by_trees.value(), self.rank() == 0 ? 20u : 0u);
    EXPECT_EQ(by_multicast.value() > 0, self.rank() == 0);
    EXPECT_EQ(repaired.value(), 0u);
    MPI_Finalize();
  });
  ASSERT_TRUE(outcome.finished()) << outcome.report;
}

// Leaders say that they wait for a root that computes, and it reads that when they have long got everything.
TEST(Multicast, IsKeptByARootThatComputes) {
  constexpr int rounds = 50;
  const Fabric fabric{.ranks = 32, .on_node = 1, .rails = 1};
  const SimulationOutcome outcome = Simulation(options_of(fabric, "always")).run([](SimulatedRank& self) {
    MPI_Init(nullptr, nullptr);
    char byte = 0, sum = 0;
    for (int i = 0; i < rounds; ++i) {
      for (int k = 0; k < 2; ++k) {
        MPI_Bcast(&byte, 1, MPI_BYTE, 0, MPI_COMM_WORLD);
        if (self.rank() == 0) self.compute(400 * microsecond);
      }
      MPI_Reduce(&byte, &sum, 1, MPI_BYTE, MPI_BOR, 0, MPI_COMM_WORLD);
    }
    MPI_Finalize();
  });
  ASSERT_TRUE(outcome.finished()) << outcome.report;
  // All but the first ones, before which leaders are not attached.
  EXPECT_GE(outcome.rails.multicast_sent, 2u * rounds - 3);
}

TEST(Multicast, IsRightWherePacketsAreLost) {
  for (const char* const loss : {"0.01", "0.05", "0.2"}) {
    std::string faults;
    for (const char* const port : {"n0/hw0", "n1/hw1", "n2/hw0"})
      faults += std::string("0 link ") + port + " loss " + loss + "\n";
    const SimulationOutcome outcome = run({.faults = faults});
    ASSERT_TRUE(outcome.finished()) << loss << outcome.report;
    EXPECT_GT(outcome.rails.multicast_sent, 0u);
  }
}

// The first rank of each node computes when the others begin, but for some broadcasts in between. They have
// these from packets then, and free the communicator and finalize before it comes. Where packets are lost,
// chance decides when a rank attaches, so several jobs count.
TEST(Multicast, LateLeadersDelayOnlyThemselves) {
  for (const char* const faults : {"", "0.02 adapter n1/hw0 dead\n", "0 link n1/hw1 loss 0.05\n"}) {
    constexpr int count = 60, jobs = 4;
    int in_time[3] = {};
    const Fabric fabric{.faults = faults};
    for (std::uint64_t seed = 5; seed < 5 + jobs; ++seed) {
      SimulationOptions options = options_of(fabric, "always");
      options.seed = seed;
      const SimulationOutcome outcome = Simulation(options).run([&](SimulatedRank& self) {
        MPI_Init(nullptr, nullptr);
        MPI_Comm comm;
        MPI_Comm_dup(MPI_COMM_WORLD, &comm);
        const bool leads = self.rank() % fabric.on_node == 0 && self.rank() != 0;
        for (int i = 0; i < 5 * count; ++i) {
          const int part = i < count ? 0 : i < 4 * count ? 1 : 2;
          MPI_Barrier(comm);
          if (leads && part != 1) self.compute(500 * microsecond);
          const Nanoseconds begin = self.local_time();
          EXPECT_TRUE(broadcasts(self.rank(), self.size(), 1, 3000, comm));
          in_time[part] += !leads && self.rank() > 1 && self.local_time() - begin < 100 * microsecond;
        }
        MPI_Comm_free(&comm);
        MPI_Finalize();
      });
      ASSERT_TRUE(outcome.finished()) << faults << outcome.report;
    }
    for (const int part : {0, 2}) {
      EXPECT_GT(in_time[part], jobs * 3 * count / 2) << faults;
      EXPECT_LT(in_time[part], jobs * 3 * count) << faults << ": some pass before they attach (again)";
    }
  }
}

TEST(Multicast, ReturnsAfterADeadSwitch) {
  const Fabric fabric{.faults = "0.002 switch switch0 dead\n0.5 switch switch0 alive\n"};
  const SimulationOutcome outcome = run(fabric, 6, 300 * millisecond);
  ASSERT_TRUE(outcome.finished()) << outcome.report;
  EXPECT_GT(outcome.rails.multicast_sent, 0u);
}

// Nobody answers who wants to join: the manager's host has died.
TEST(Multicast, ProgramsGoOnWithoutASubnetManager) {
  const Fabric fabric{.faults = "0 adapter n0/hw0 dead\n"};
  const SimulationOutcome outcome = run(fabric);
  ASSERT_TRUE(outcome.finished()) << outcome.report;
}

}  // namespace
}  // namespace hawser
