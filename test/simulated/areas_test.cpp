// The node's part of collective operations in areas that the ranks of a simulated host share, in virtual
// time.
#include <gtest/gtest.h>
#include <mpi.h>

#include <algorithm>
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

// What is sent from one rank to another.
std::vector<int> blocks_of(int from, int to, int ranks, int count) {
  std::vector<int> all;
  for (int r = 0; r < ranks; ++r)
    for (int i = 0; i < count; ++i) all.push_back((from < 0 ? r : from) * 1000 + (to < 0 ? r : to) * 10 + i);
  return all;
}

// Those of which each rank has or gets a block; the others are in place.
void move_blocks(MPI_Comm communicator, int count) {
  int rank, size;
  MPI_Comm_rank(communicator, &rank);
  MPI_Comm_size(communicator, &size);
  const auto n = static_cast<std::size_t>(count);
  const std::vector<int> to_all = blocks_of(rank, -1, size, count), own = blocks_of(rank, 0, 1, count);
  std::vector<int> all(to_all.size()), mine(n);
  for (const int root : {0, 2}) {
    if (rank == root) std::ranges::copy(own, all.begin() + root * count);
    MPI_Gather(rank == root ? MPI_IN_PLACE : own.data(), count, MPI_INT, all.data(), count, MPI_INT, root,
               communicator);
    if (rank == root) {
      EXPECT_EQ(all, blocks_of(-1, 0, size, count));
    }
    MPI_Scatter(to_all.data(), count, MPI_INT, mine.data(), count, MPI_INT, root, communicator);
    EXPECT_EQ(mine, blocks_of(root, rank, 1, count));
  }
  MPI_Alltoall(to_all.data(), count, MPI_INT, all.data(), count, MPI_INT, communicator);
  EXPECT_EQ(all, blocks_of(-1, rank, size, count));
  all = to_all;
  MPI_Alltoall(MPI_IN_PLACE, count, MPI_INT, all.data(), count, MPI_INT, communicator);
  EXPECT_EQ(all, blocks_of(-1, rank, size, count));
  std::vector<int> sums(n);
  for (std::size_t i = 0; i < n; ++i)
    for (int r = 0; r < size; ++r) sums[i] += r * 1000 + rank * 10 + static_cast<int>(i);
  MPI_Reduce_scatter_block(to_all.data(), mine.data(), count, MPI_INT, MPI_SUM, communicator);
  EXPECT_EQ(mine, sums);
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
    move_blocks(communicator, count);
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
    std::vector<int> spread(all), exchanged(all * static_cast<std::size_t>(size));
    const std::vector<int> to_all = blocks_of(rank, -1, size, count);
    MPI_Request requests[8];
    MPI_Iallreduce(MPI_IN_PLACE, first.data(), count, MPI_INT, MPI_SUM, communicator, &requests[0]);
    MPI_Ibcast(third.data(), count, MPI_INT, size - 1, communicator, &requests[1]);
    MPI_Ireduce(second.data(), result.data(), count, MPI_INT, MPI_SUM, 1, communicator, &requests[2]);
    MPI_Iallreduce(MPI_IN_PLACE, fourth.data(), count, MPI_INT, MPI_SUM, other, &requests[3]);
    MPI_Ialltoall(to_all.data(), count, MPI_INT, exchanged.data(), count, MPI_INT, communicator,
                  &requests[5]);
    MPI_Iscatter(to_all.data(), count, MPI_INT, spread.data(), count, MPI_INT, 1, communicator, &requests[6]);
    MPI_Ibarrier(communicator, &requests[4]);
    std::vector<int> gathered(to_all.size());
    MPI_Igather(to_all.data(), count, MPI_INT, gathered.data(), count, MPI_INT, 1, communicator,
                &requests[7]);
    MPI_Allreduce(MPI_IN_PLACE, between.data(), count, MPI_INT, MPI_SUM, communicator);
    MPI_Waitall(8, requests, MPI_STATUSES_IGNORE);
    EXPECT_EQ(exchanged, blocks_of(-1, rank, size, count));
    EXPECT_EQ(spread, blocks_of(1, rank, 1, count));
    if (rank == 1) {
      EXPECT_EQ(gathered, blocks_of(-1, 0, size, count));
    }
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

TEST(SimulatedAreas, NorDoesThatOfBlocks) {
  const auto messages_of = [](bool areas) {
    const SimulationOutcome outcome = Simulation(options(areas)).run([](SimulatedRank&) {
      MPI_Init(nullptr, nullptr);
      int from[ranks] = {}, to[ranks];
      for (int round = 0; round < 50; ++round) {
        MPI_Gather(from, 1, MPI_INT, to, 1, MPI_INT, 0, MPI_COMM_WORLD);
        MPI_Scatter(from, 1, MPI_INT, to, 1, MPI_INT, 0, MPI_COMM_WORLD);
        MPI_Alltoall(from, 1, MPI_INT, to, 1, MPI_INT, MPI_COMM_WORLD);
        MPI_Reduce_scatter_block(from, to, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
      }
      MPI_Finalize();
    });
    EXPECT_TRUE(outcome.finished()) << outcome.report;
    return outcome.messages;
  };
  // Between nodes 1 for a gather or a scatter, and 8 for the others.
  EXPECT_LE(messages_of(true), 50 * (1 + 1 + 8 + 8) + 100);
  EXPECT_LE(2 * messages_of(true), messages_of(false));
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
