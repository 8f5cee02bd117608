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

constexpr int bytes = 1 << 20;
using ByClass = std::array<std::uint64_t, traffic_classes>;

ByClass planned() {
  RailCounters counters = *current_slot().process().rail_counters();
  ByClass all;
  for (std::uint8_t i = 0; i < traffic_classes; ++i) all[i] = counters.bytes_of(TrafficClass{i});
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

class TrafficClasses : public ::testing::TestWithParam<const char*> {};

TEST_P(TrafficClasses, ReachWhoPlans) {
  const bool receiver_plans = GetParam() == std::string("read");
  SimulationOptions options{.ranks = 2, .knobs = {{"HAWSER_RAIL_RENDEZVOUS", GetParam()}}};
  options.fabric.emplace();
  for (const Call& call : calls) {
    SCOPED_TRACE(call.name);
    std::array<ByClass, 2> by_rank = {};
    const auto outcome = Simulation(options).run([&](SimulatedRank& self) {
      MPI_Init(nullptr, nullptr);
      std::vector<char> buffer(bytes, static_cast<char>(self.rank()));
      call.run(self.rank(), buffer);
      MPI_Barrier(MPI_COMM_WORLD);
      by_rank[static_cast<std::size_t>(self.rank())] = planned();
      MPI_Finalize();
    });
    ASSERT_TRUE(outcome.finished()) << outcome.report;
    const bool both_send =
        call.name == std::string("MPI_Sendrecv") || call.name == std::string("MPI_Ialltoall");
    for (const std::size_t rank : {0u, 1u}) {
      const bool plans = both_send || (rank == 1) == receiver_plans;
      for (std::uint8_t i = 0; i < traffic_classes; ++i) {
        SCOPED_TRACE(::testing::Message() << "rank " << rank << ", class " << int{i});
        if (plans && TrafficClass{i} == call.traffic)
          EXPECT_GE(by_rank[rank][i], static_cast<std::uint64_t>(bytes / 2));
        else
          EXPECT_EQ(by_rank[rank][i], 0u);
      }
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Rendezvous, TrafficClasses, ::testing::Values("read", "write"),
                         [](const auto& info) { return std::string(info.param); });

}  // namespace
}  // namespace hawser
