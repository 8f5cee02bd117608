// With polling nothing moves while a program computes, except what its adapter was asked for before. Here
// rank 1 has seen that a message waits for it before it begins the receive, and computes then: the call that
// begins the receive asks for the bytes, so that the wait afterwards finds them.
#include <gtest/gtest.h>
#include <mpi.h>

#include <functional>
#include <string>
#include <vector>

#include "connected.h"
#include "testbed/simulator/simulation.h"

namespace hawser {
namespace {

constexpr int large = 1 << 20;
// No packet holds it, although it is short.
constexpr int short_one = 8190;

struct Receive {
  const char* name;
  std::function<void(char* data, int bytes)> send;  // others, through to its end
  std::function<MPI_Request(char* data, int bytes)> begin;
  int bytes = large;
  int ranks = 2;
  int tests = 0;  // in each of which a step of it ends
};

void wait_and_free(MPI_Request& request) {
  MPI_Wait(&request, MPI_STATUS_IGNORE);
  if (request != MPI_REQUEST_NULL) MPI_Request_free(&request);
}

void send(char* data, int bytes) { MPI_Send(data, bytes, MPI_BYTE, 1, 0, MPI_COMM_WORLD); }

MPI_Request receive(char* data, int bytes) {
  MPI_Request request;
  MPI_Irecv(data, bytes, MPI_BYTE, 0, 0, MPI_COMM_WORLD, &request);
  return request;
}

MPI_Request receive_matched(char* data, int bytes) {
  MPI_Message message;
  MPI_Mprobe(0, 0, MPI_COMM_WORLD, &message, MPI_STATUS_IGNORE);
  MPI_Request request;
  MPI_Imrecv(data, bytes, MPI_BYTE, &message, &request);
  return request;
}

MPI_Request receive_again(char* data, int bytes) {
  MPI_Request request;
  MPI_Recv_init(data, bytes, MPI_BYTE, 0, 0, MPI_COMM_WORLD, &request);
  MPI_Start(&request);
  return request;
}

MPI_Request exchange(char* data, int bytes) {
  MPI_Request request;
  MPI_Isendrecv(nullptr, 0, MPI_BYTE, MPI_PROC_NULL, 0, data, bytes, MPI_BYTE, 0, 0, MPI_COMM_WORLD,
                &request);
  return request;
}

MPI_Request broadcast(char* data, int bytes) {
  MPI_Request request;
  MPI_Ibcast(data, bytes, MPI_BYTE, 0, MPI_COMM_WORLD, &request);
  return request;
}

// In two steps: one rank's data, then those of two others.
MPI_Request reduce(char* data, int bytes) {
  int rank;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Request request;
  MPI_Ireduce(rank == 1 ? MPI_IN_PLACE : data, data, bytes, MPI_CHAR, MPI_SUM, 1, MPI_COMM_WORLD, &request);
  return request;
}

constexpr int parts = 4;
void send_in_parts(char* data, int bytes) {
  MPI_Request request;
  MPI_Psend_init(data, parts, bytes / parts, MPI_BYTE, 1, 1, MPI_COMM_WORLD, MPI_INFO_NULL, &request);
  MPI_Start(&request);
  for (int part = 0; part < parts; ++part) MPI_Pready(part, request);
  wait_and_free(request);
}

MPI_Request receive_in_parts(char* data, int bytes) {
  MPI_Request request;
  MPI_Precv_init(data, parts, bytes / parts, MPI_BYTE, 0, 1, MPI_COMM_WORLD, MPI_INFO_NULL, &request);
  MPI_Start(&request);
  return request;
}

// Microseconds that rank 1 waits at the end, mean of some rounds.
double waited(const Receive& kind, const std::string& rendezvous, Nanoseconds computation) {
  SimulationOptions options{.ranks = kind.ranks};
  options.fabric.emplace();
  options.fabric->parameters = "link-rate 1GB/s\n";
  options.fabric->cost.registration = 0;
  options.knobs = {{"HAWSER_PROGRESS", "polling"},
                   {"HAWSER_RAIL_RENDEZVOUS", rendezvous},
                   {"HAWSER_COLLECTIVE_ALGORITHM", "reduce=binomial"}};
  constexpr int warm_up = 4, rounds = 4;
  double total = 0;
  const SimulationOutcome outcome = Simulation(options).run([&](SimulatedRank& self) {
    MPI_Init(nullptr, nullptr);
    connect_with_all();
    std::vector<char> data(static_cast<std::size_t>(kind.bytes));
    for (int round = -warm_up; round < rounds; ++round) {
      MPI_Barrier(MPI_COMM_WORLD);
      if (self.rank() != 1) {
        kind.send(data.data(), kind.bytes);
        continue;
      }
      int flag;
      for (int i = 0; i < 8; ++i) {
        self.compute(1000 * microsecond);
        MPI_Iprobe(0, 2, MPI_COMM_WORLD, &flag, MPI_STATUS_IGNORE);  // what came is known now
      }
      MPI_Request request = kind.begin(data.data(), kind.bytes);
      self.compute(computation);
      for (int i = 0; i < kind.tests; ++i) {
        MPI_Test(&request, &flag, MPI_STATUS_IGNORE);
        EXPECT_FALSE(flag);
        self.compute(computation);
      }
      const double begin = MPI_Wtime();
      wait_and_free(request);
      if (round >= 0) total += (MPI_Wtime() - begin) * 1e6 / rounds;
    }
    MPI_Finalize();
  });
  EXPECT_TRUE(outcome.finished()) << outcome.report;
  return total;
}

class LateReceive : public ::testing::TestWithParam<const char*> {};

TEST_P(LateReceive, BeginsInTheCallThatFindsTheMessage) {
  const Receive kinds[] = {
      {"MPI_Irecv", send, receive},
      {"MPI_Irecv of a short message", send, receive, short_one},
      {"MPI_Imrecv", send, receive_matched},
      {"MPI_Start", send, receive_again},
      {"MPI_Isendrecv", send, exchange},
      {"MPI_Ibcast",
       [](char* data, int bytes) {
         MPI_Request r = broadcast(data, bytes);
         wait_and_free(r);
       },
       broadcast},
      {"a step of MPI_Ireduce that MPI_Test begins",
       [](char* data, int bytes) {
         MPI_Request r = reduce(data, bytes);
         wait_and_free(r);
       },
       reduce, large, 4, 1},
      {"MPI_Precv_init", send_in_parts, receive_in_parts},
  };
  for (const Receive& kind : kinds) {
    const double alone = waited(kind, GetParam(), 0), together = waited(kind, GetParam(), 5 * millisecond);
    std::printf("%-5s %-50s %8.2f %8.2f us\n", GetParam(), kind.name, alone, together);
    EXPECT_LT(together, alone / 5) << kind.name;
  }
}

INSTANTIATE_TEST_SUITE_P(Protocols, LateReceive, ::testing::Values("read", "write"),
                         [](const auto& each) { return std::string(each.param); });

}  // namespace
}  // namespace hawser
