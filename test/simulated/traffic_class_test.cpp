// Which class of traffic (the papers' communication marker) each kind of MPI call gives its bytes, as seen by
// the process that plans their way over rails: the receiver if it reads them, else the sender.
#include <gtest/gtest.h>
#include <mpi.h>

#include <array>
#include <functional>
#include <vector>

#include "process/mpi_process.h"
#include "process/process_slot.h"
#include "rails/status/rail_counters.h"
#include "testbed/simulator/simulation.h"

namespace hawser {
namespace {

constexpr int bytes = 1 << 17;
using ByClass = std::array<std::uint64_t, traffic_classes>;

struct Planned {
  ByClass bytes = {};
  std::uint64_t stripes = 0;
  Planned operator-(const Planned& before) const {
    Planned difference = *this;
    difference.stripes -= before.stripes;
    for (std::size_t i = 0; i < bytes.size(); ++i) difference.bytes[i] -= before.bytes[i];
    return difference;
  }
};

Planned planned() {
  RailCounters counters = *current_slot().process().rail_counters();
  Planned all{.stripes = counters.stripes_written + counters.stripes_read};
  for (std::uint8_t i = 0; i < traffic_classes; ++i) all.bytes[i] = counters.bytes_of(TrafficClass{i});
  return all;
}

struct Call {
  const char* name;
  TrafficClass traffic;
  std::function<void(int rank, std::vector<char>& buffer)> run;
};

void receive(std::vector<char>& buffer) {
  MPI_Recv(buffer.data(), bytes, MPI_BYTE, 0, 1, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
}
void start_and_free(MPI_Request& request) {
  MPI_Start(&request);
  MPI_Wait(&request, MPI_STATUS_IGNORE);
  MPI_Request_free(&request);
}

const std::vector<Call> calls = {
    {"MPI_Send", TrafficClass::blocking,
     [](int rank, std::vector<char>& buffer) {
       if (rank == 0)
         MPI_Send(buffer.data(), bytes, MPI_BYTE, 1, 1, MPI_COMM_WORLD);
       else
         receive(buffer);
     }},
    {"MPI_Ssend", TrafficClass::blocking,
     [](int rank, std::vector<char>& buffer) {
       if (rank == 0)
         MPI_Ssend(buffer.data(), bytes, MPI_BYTE, 1, 1, MPI_COMM_WORLD);
       else
         receive(buffer);
     }},
    {"MPI_Sendrecv", TrafficClass::blocking,
     [](int rank, std::vector<char>& buffer) {
       std::vector<char> into(bytes);
       MPI_Sendrecv(buffer.data(), bytes, MPI_BYTE, 1 - rank, 1, into.data(), bytes, MPI_BYTE, 1 - rank, 1,
                    MPI_COMM_WORLD, MPI_STATUS_IGNORE);
     }},
    {"MPI_Isend", TrafficClass::nonblocking,
     [](int rank, std::vector<char>& buffer) {
       MPI_Request request;
       if (rank == 0) {
         MPI_Isend(buffer.data(), bytes, MPI_BYTE, 1, 1, MPI_COMM_WORLD, &request);
         MPI_Wait(&request, MPI_STATUS_IGNORE);
       } else {
         receive(buffer);
       }
     }},
    {"MPI_Start", TrafficClass::nonblocking,
     [](int rank, std::vector<char>& buffer) {
       MPI_Request request;
       if (rank == 0) {
         MPI_Send_init(buffer.data(), bytes, MPI_BYTE, 1, 1, MPI_COMM_WORLD, &request);
         start_and_free(request);
       } else {
         receive(buffer);
       }
     }},
    {"MPI_Pready", TrafficClass::nonblocking,
     [](int rank, std::vector<char>& buffer) {
       MPI_Request request;
       if (rank == 0) {
         MPI_Psend_init(buffer.data(), 1, bytes, MPI_BYTE, 1, 1, MPI_COMM_WORLD, MPI_INFO_NULL, &request);
         MPI_Start(&request);
         MPI_Pready(0, request);
         MPI_Wait(&request, MPI_STATUS_IGNORE);
         MPI_Request_free(&request);
       } else {
         MPI_Precv_init(buffer.data(), 1, bytes, MPI_BYTE, 0, 1, MPI_COMM_WORLD, MPI_INFO_NULL, &request);
         start_and_free(request);
       }
     }},
    {"MPI_Bcast", TrafficClass::collective,
     [](int, std::vector<char>& buffer) { MPI_Bcast(buffer.data(), bytes, MPI_BYTE, 0, MPI_COMM_WORLD); }},
    {"MPI_Ialltoall", TrafficClass::collective,
     [](int, std::vector<char>& buffer) {
       std::vector<char> into(bytes);
       MPI_Request request;
       MPI_Ialltoall(buffer.data(), bytes / 2, MPI_BYTE, into.data(), bytes / 2, MPI_BYTE, MPI_COMM_WORLD,
                     &request);
       MPI_Wait(&request, MPI_STATUS_IGNORE);
     }},
};

// By each rank, in the last of so many calls.
std::array<Planned, 2> run(const Call& call, const std::string& rendezvous, const std::string& policy,
                           int times) {
  SimulationOptions options{
      .ranks = 2, .knobs = {{"HAWSER_RAIL_RENDEZVOUS", rendezvous}, {"HAWSER_RAIL_POLICY", policy}}};
  options.fabric.emplace();
  std::array<Planned, 2> by_rank = {};
  const auto outcome = Simulation(options).run([&](SimulatedRank& self) {
    MPI_Init(nullptr, nullptr);
    std::vector<char> buffer(bytes, static_cast<char>(self.rank()));
    Planned before;
    for (int i = 0; i < times; ++i) {
      before = planned();
      call.run(self.rank(), buffer);
      MPI_Barrier(MPI_COMM_WORLD);
    }
    by_rank[static_cast<std::size_t>(self.rank())] = planned() - before;
    MPI_Finalize();
  });
  EXPECT_TRUE(outcome.finished()) << outcome.report;
  return by_rank;
}

class TrafficClasses : public ::testing::TestWithParam<const char*> {
 protected:
  // Whether this rank divides some of the call's bytes into stripes.
  static bool plans(const Call& call, std::size_t rank) {
    const bool both_send =
        call.name == std::string("MPI_Sendrecv") || call.name == std::string("MPI_Ialltoall");
    const bool receiver_plans = GetParam() == std::string("read");
    return both_send || (rank == 1) == receiver_plans;
  }
};

TEST_P(TrafficClasses, ReachWhoPlans) {
  for (const Call& call : calls) {
    SCOPED_TRACE(call.name);
    const auto by_rank = run(call, GetParam(), "auto", 1);
    for (const std::size_t rank : {0u, 1u}) {
      for (std::uint8_t i = 0; i < traffic_classes; ++i) {
        SCOPED_TRACE(::testing::Message() << "rank " << rank << ", class " << int{i});
        if (plans(call, rank) && TrafficClass{i} == call.traffic)
          EXPECT_GE(by_rank[rank].bytes[i], static_cast<std::uint64_t>(bytes / 2));
        else
          EXPECT_EQ(by_rank[rank].bytes[i], 0u);
      }
    }
  }
}

// This policy cuts a message that somebody waits for into stripes, and leaves another whole. At first stripes
// are cut once more, for it is not known how much a path takes at once.
TEST_P(TrafficClasses, DecideHowEpcPlans) {
  for (const Call& call : calls) {
    SCOPED_TRACE(call.name);
    const auto by_rank = run(call, GetParam(), "epc", 40);
    for (const std::size_t rank : {0u, 1u}) {
      SCOPED_TRACE(::testing::Message() << "rank " << rank);
      if (!plans(call, rank))
        EXPECT_EQ(by_rank[rank].stripes, 0u);
      else if (call.traffic == TrafficClass::nonblocking)
        EXPECT_EQ(by_rank[rank].stripes, 1u);
      else
        EXPECT_GE(by_rank[rank].stripes, 2u);
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Rendezvous, TrafficClasses, ::testing::Values("read", "write"),
                         [](const auto& info) { return std::string(info.param); });

}  // namespace
}  // namespace hawser
