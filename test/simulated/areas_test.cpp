// The node's part of collective operations in areas that the ranks of a simulated host share, in virtual
// time.
#include <gtest/gtest.h>
#include <mpi.h>

#include <vector>

#include "testbed/simulator/simulation.h"

namespace hawser {
namespace {

constexpr int ranks = 8, ranks_per_host = 4;

SimulationOptions options(bool areas) {
  SimulationOptions options{.ranks = ranks};
  options.fabric = FabricOptions{.ranks_per_host = ranks_per_host, .parameters = "link-rate 12.5GB/s\n"};
  if (areas) options.areas.emplace();
  return options;
}

// All of them, with right results.
void collectives(MPI_Comm communicator) {
  int rank, size;
  MPI_Comm_rank(communicator, &rank);
  MPI_Comm_size(communicator, &size);
  const int sum = size * (size - 1) / 2;
  for (int count : {1, 100, 20'000}) {
    const auto all = static_cast<std::size_t>(count);
    std::vector<int> mine(all, rank), result(all, -1);
    MPI_Allreduce(mine.data(), result.data(), count, MPI_INT, MPI_SUM, communicator);
    EXPECT_EQ(result, std::vector<int>(all, sum));
    MPI_Reduce(mine.data(), result.data(), count, MPI_INT, MPI_MAX, 2, communicator);
    EXPECT_EQ(result, std::vector<int>(all, rank == 2 ? size - 1 : sum));
    MPI_Barrier(communicator);
    MPI_Bcast(mine.data(), count, MPI_INT, 1, communicator);
    EXPECT_EQ(mine, std::vector<int>(all, 1));
    std::vector<int> gathered(all * static_cast<std::size_t>(size));
    MPI_Allgather(result.data(), count, MPI_INT, gathered.data(), count, MPI_INT, communicator);
    EXPECT_EQ(gathered[2 * all], size - 1);
    EXPECT_EQ(gathered[3 * all], sum);
    MPI_Request request;
    std::vector<int> later(all, rank);
    MPI_Iallreduce(MPI_IN_PLACE, later.data(), count, MPI_INT, MPI_SUM, communicator, &request);
    MPI_Wait(&request, MPI_STATUS_IGNORE);
    EXPECT_EQ(later, std::vector<int>(all, sum));
  }
}

// Several under way, on one communicator and on another, while a blocking one comes between.
void several_at_once(MPI_Comm communicator, MPI_Comm other) {
  int rank, size;
  MPI_Comm_rank(communicator, &rank);
  MPI_Comm_size(communicator, &size);
  const int sum = size * (size - 1) / 2;
  for (int count : {1, 500, 3000}) {
    const auto all = static_cast<std::size_t>(count);
    std::vector<int> first(all, rank), second(all, 2 * rank), third(all, rank), fourth(all, 1),
        between(all, 1);
    std::vector<int> result(all, -1);
    MPI_Request requests[5];
    MPI_Iallreduce(MPI_IN_PLACE, first.data(), count, MPI_INT, MPI_SUM, communicator, &requests[0]);
    MPI_Ibcast(third.data(), count, MPI_INT, size - 1, communicator, &requests[1]);
    MPI_Ireduce(second.data(), result.data(), count, MPI_INT, MPI_SUM, 1, communicator, &requests[2]);
    MPI_Iallreduce(MPI_IN_PLACE, fourth.data(), count, MPI_INT, MPI_SUM, other, &requests[3]);
    MPI_Ibarrier(communicator, &requests[4]);
    MPI_Allreduce(MPI_IN_PLACE, between.data(), count, MPI_INT, MPI_SUM, communicator);
    MPI_Waitall(5, requests, MPI_STATUSES_IGNORE);
    EXPECT_EQ(first, std::vector<int>(all, sum));
    EXPECT_EQ(third, std::vector<int>(all, size - 1));
    EXPECT_EQ(result, std::vector<int>(all, rank == 1 ? 2 * sum : -1));
    int others;
    MPI_Comm_size(other, &others);
    EXPECT_EQ(fourth, std::vector<int>(all, others));
    EXPECT_EQ(between, std::vector<int>(all, size));
  }
}

void body(SimulatedRank& self) {
  MPI_Init(nullptr, nullptr);
  MPI_Comm half, pairs;  // within a host; over both hosts in turn
  MPI_Comm_split(MPI_COMM_WORLD, self.rank() / ranks_per_host, 0, &half);
  MPI_Comm_split(MPI_COMM_WORLD, self.rank() % 2, -self.rank(), &pairs);
  for (int round = 0; round < 3; ++round) {
    collectives(MPI_COMM_WORLD);
    self.compute(self.rank() * 700);
    collectives(half);
    collectives(pairs);
    several_at_once(MPI_COMM_WORLD, pairs);
    self.compute((ranks - self.rank()) * 300);
    several_at_once(pairs, MPI_COMM_WORLD);
  }
  MPI_Comm_free(&half);
  MPI_Comm_free(&pairs);
  MPI_Finalize();
}

TEST(SimulatedAreas, ResultsAreRightAndRunsAlike) {
  const SimulationOutcome first = Simulation(options(true)).run(body),
                          again = Simulation(options(true)).run(body);
  ASSERT_TRUE(first.finished()) << first.report;
  EXPECT_EQ(first.trace_hash, again.trace_hash);
  EXPECT_EQ(first.virtual_time, again.virtual_time);
}

TEST(SimulatedAreas, TheNodesPartSendsNoMessages) {
  const auto messages_of = [](bool areas) {
    const SimulationOutcome outcome = Simulation(options(areas)).run([](SimulatedRank&) {
      MPI_Init(nullptr, nullptr);
      int value = 0;
      for (int round = 0; round < 100; ++round) MPI_Bcast(&value, 1, MPI_INT, 0, MPI_COMM_WORLD);
      MPI_Finalize();
    });
    EXPECT_TRUE(outcome.finished()) << outcome.report;
    return outcome.messages;
  };
  // Three in each of two hosts; with areas once, when their ranks meet.
  EXPECT_LE(messages_of(true) + 594, messages_of(false));
}

TEST(SimulatedAreas, NorDoesThatOfNonBlockingOperations) {
  const auto messages_of = [](bool areas) {
    const SimulationOutcome outcome = Simulation(options(areas)).run([](SimulatedRank&) {
      MPI_Init(nullptr, nullptr);
      for (int round = 0; round < 50; ++round) {
        MPI_Request requests[2];
        for (MPI_Request& request : requests) MPI_Ibarrier(MPI_COMM_WORLD, &request);
        MPI_Waitall(2, requests, MPI_STATUSES_IGNORE);
      }
      MPI_Finalize();
    });
    EXPECT_TRUE(outcome.finished()) << outcome.report;
    return outcome.messages;
  };
  // Ten in each barrier; with areas a few, when the ranks of a node meet.
  EXPECT_LE(messages_of(true) + 980, messages_of(false));
}

// A rank that writes late is heard of late, however little of its time the others' reading takes.
TEST(SimulatedAreas, NobodyIsAheadOfTime) {
  constexpr Nanoseconds late = 50'000;
  const SimulationOutcome outcome = Simulation(options(true)).run([](SimulatedRank& self) {
    MPI_Init(nullptr, nullptr);
    MPI_Comm half;
    MPI_Comm_split(MPI_COMM_WORLD, self.rank() / ranks_per_host, 0, &half);
    for (int round = 0; round < 10; ++round) {
      MPI_Barrier(half);
      const Nanoseconds begin = self.now();
      if (self.rank() % ranks_per_host == round % ranks_per_host) self.compute(late);
      MPI_Barrier(half);
      EXPECT_GE(self.now(), begin + late - 1000);
      EXPECT_LE(self.now(), begin + late + 3000);
    }
    MPI_Comm_free(&half);
    MPI_Finalize();
  });
  EXPECT_TRUE(outcome.finished()) << outcome.report;
}

// A rank that copies what another shows lets a third copy from it meanwhile: around a ring, a step takes the
// time of one copy.
TEST(SimulatedAreas, RanksOfARingCopyAtOnce) {
  constexpr int bytes = 1 << 20, steps = 8;
  const SimulationOutcome outcome =
      Simulation({.ranks = 4, .ranks_per_node = 4, .areas = AreaCost{}}).run([](SimulatedRank& self) {
        MPI_Init(nullptr, nullptr);
        std::vector<std::byte> from(bytes), to(bytes);
        const int right = (self.rank() + 1) % 4, left = (self.rank() + 3) % 4;
        self.compute(self.rank() * 5000);
        const Nanoseconds begin = self.now();
        for (int step = 0; step < steps; ++step)
          MPI_Sendrecv(from.data(), bytes, MPI_BYTE, right, 0, to.data(), bytes, MPI_BYTE, left, 0,
                       MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        const Nanoseconds copy = MessageCopies::time(bytes, MessageCopies{}.fetched);
        EXPECT_LE(self.now() - begin, steps * copy * 11 / 10 + 20'000);
        MPI_Finalize();
      });
  EXPECT_TRUE(outcome.finished()) << outcome.report;
}

TEST(SimulatedAreas, ASessionAfterAnotherFindsThemEmpty) {
  const SimulationOutcome outcome =
      Simulation({.ranks = 4, .ranks_per_node = 4, .areas = AreaCost{}}).run([](SimulatedRank& self) {
        for (int round = 0; round < 3; ++round) {
          MPI_Session session;
          MPI_Group group;
          MPI_Comm communicator;
          MPI_Session_init(MPI_INFO_NULL, MPI_ERRORS_RETURN, &session);
          MPI_Group_from_session_pset(session, "mpi://WORLD", &group);
          MPI_Comm_create_from_group(group, "areas", MPI_INFO_NULL, MPI_ERRORS_RETURN, &communicator);
          int sum = self.rank();
          MPI_Allreduce(MPI_IN_PLACE, &sum, 1, MPI_INT, MPI_SUM, communicator);
          EXPECT_EQ(sum, 6);
          MPI_Group_free(&group);
          MPI_Comm_free(&communicator);
          MPI_Session_finalize(&session);
        }
      });
  EXPECT_TRUE(outcome.finished()) << outcome.report;
}

}  // namespace
}  // namespace hawser
