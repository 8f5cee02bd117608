// Events of MPI_T while cables are pulled under simulated ranks: callbacks hear of failed and of recovered
// paths, and may call MPI.
#include <gtest/gtest.h>
#include <mpi.h>

#include <cstring>
#include <map>
#include <string>
#include <vector>

#include "testbed/simulator/simulation.h"

namespace hawser {
namespace {

struct Seen {
  int failed = 0;
  int recovered = 0;
  int wrong = 0;
  MPI_Count last = 0;
};

struct Listener {
  Seen* seen;
  int Seen::*count;
};

void on_event(MPI_T_event_instance instance, MPI_T_event_registration, MPI_T_cb_safety, void* user_data) {
  const Listener& listener = *static_cast<Listener*>(user_data);
  Seen& seen = *listener.seen;
  ++(seen.*listener.count);
  int peer = -1, source = -1, size = 0;
  MPI_Count time = 0;
  MPI_T_event_read(instance, 0, &peer);
  MPI_T_event_get_timestamp(instance, &time);
  MPI_T_event_get_source(instance, &source);
  unsigned char copy[64] = {};
  MPI_T_event_copy(instance, copy);
  MPI_Comm_size(MPI_COMM_WORLD, &size);  // MPI may be called
  seen.wrong +=
      peer < 0 || peer >= size || source != 0 || time < seen.last || std::memcmp(copy, &peer, 4) != 0;
  seen.last = time;
}

void listen(const char* name, Listener& listener) {
  int index = -1;
  MPI_T_event_registration registration;
  EXPECT_EQ(MPI_T_event_get_index(name, &index), MPI_SUCCESS);
  EXPECT_EQ(MPI_T_event_handle_alloc(index, nullptr, MPI_INFO_NULL, &registration), MPI_SUCCESS);
  EXPECT_EQ(
      MPI_T_event_register_callback(registration, MPI_T_CB_REQUIRE_NONE, MPI_INFO_NULL, &listener, on_event),
      MPI_SUCCESS);
}

TEST(ToolEvents, PathsFailAndRecover) {
  SimulationOptions options{.ranks = 2, .seed = 5};
  options.fabric.emplace();
  options.fabric->parameters = "link-latency 1us\n";
  options.fabric->incidents.push_back({.after_packets = 200,
                                       .lasts = 2 * millisecond,
                                       .begin = {"link n0/hw0 down"},
                                       .end = {"link n0/hw0 up"}});
  Seen seen[2];
  const SimulationOutcome outcome = Simulation(options).run([&](SimulatedRank& rank) {
    Seen& own = seen[rank.rank()];
    Listener failed{&own, &Seen::failed}, recovered{&own, &Seen::recovered};
    int provided = 0;
    EXPECT_EQ(MPI_T_init_thread(MPI_THREAD_SINGLE, &provided), MPI_SUCCESS);
    MPI_Init(nullptr, nullptr);
    listen("rail_path_failed", failed);
    listen("rail_path_recovered", recovered);
    std::vector<char> data(20'000);
    const int peer = 1 - rank.rank();
    // Until both have heard of a recovery; what is sent tells the other.
    for (int round = 0, both = 0; both == 0 && round < 200'000; ++round) {
      const int mine = own.recovered > 0;
      MPI_Sendrecv_replace(data.data(), static_cast<int>(data.size()), MPI_CHAR, peer, 1, peer, 1,
                           MPI_COMM_WORLD, MPI_STATUS_IGNORE);
      MPI_Allreduce(&mine, &both, 1, MPI_INT, MPI_MIN, MPI_COMM_WORLD);
    }
    MPI_Finalize();
    EXPECT_EQ(MPI_T_finalize(), MPI_SUCCESS);
  });
  EXPECT_TRUE(outcome.finished()) << outcome.report;
  for (const Seen& own : seen) {
    EXPECT_GE(own.failed, 1);
    EXPECT_GE(own.recovered, 1);
    EXPECT_EQ(own.wrong, 0);
  }
}

}  // namespace
}  // namespace hawser
