// Collective operations over two rails of which one is farther than the other, or over one that is far, in
// virtual time: algorithms are chosen by how far rails are, and all ranks choose the same.
#include <gtest/gtest.h>
#include <mpi.h>

#include <algorithm>
#include <string>
#include <vector>

#include "over_rails.h"

namespace hawser {
namespace {

SimulationOptions options_of(int ranks, const std::vector<int>& latencies_us, const std::string& rate) {
  std::vector<std::string> links;
  for (const int latency : latencies_us)
    links.push_back("rate " + rate + " latency " + std::to_string(latency) + "us");
  SimulationOptions options = over_rails(ranks, "chunk 4K link-rate " + rate, links);
  count_software(options);
  return options;
}

// Each two ranks send so many small messages to and fro, which tell how far rails are.
void know_rails(int rank, int ranks, int messages) {
  char data = 0;
  for (int distance = 1; distance < ranks; ++distance)
    for (int i = 0; i < messages; ++i) {
      const int peer = rank ^ distance;
      if (peer >= ranks) continue;
      if (rank < peer) MPI_Send(&data, 1, MPI_BYTE, peer, 0, MPI_COMM_WORLD);
      MPI_Recv(&data, 1, MPI_BYTE, peer, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
      if (rank > peer) MPI_Send(&data, 1, MPI_BYTE, peer, 0, MPI_COMM_WORLD);
    }
}

using Operation = void (*)(int bytes, std::vector<char>& from, std::vector<char>& to);

void all_reduce(int bytes, std::vector<char>& from, std::vector<char>& to) {
  MPI_Allreduce(from.data(), to.data(), bytes, MPI_BYTE, MPI_BOR, MPI_COMM_WORLD);
}
void broadcast(int bytes, std::vector<char>& from, std::vector<char>&) {
  MPI_Bcast(from.data(), bytes, MPI_BYTE, 0, MPI_COMM_WORLD);
}
void reduce(int bytes, std::vector<char>& from, std::vector<char>& to) {
  MPI_Reduce(from.data(), to.data(), bytes, MPI_BYTE, MPI_BOR, 0, MPI_COMM_WORLD);
}

void all_gather(int bytes, std::vector<char>& from, std::vector<char>& to) {
  MPI_Allgather(from.data(), bytes, MPI_BYTE, to.data(), bytes, MPI_BYTE, MPI_COMM_WORLD);
}

void rest_until(SimulatedRank& self, double time) {
  self.compute(static_cast<Nanoseconds>((time - MPI_Wtime()) * 1e9));
}

// Microseconds of an operation that all ranks begin together, by the slowest. What those before left to be
// taken up is none of its time.
double time_of(Operation operation, int ranks, const std::vector<int>& latencies_us, const std::string& rate,
               int bytes, const std::string& algorithm = "auto") {
  double time = 0;
  SimulationOptions options = options_of(ranks, latencies_us, rate);
  if (algorithm != "auto") options.knobs = {{"HAWSER_COLLECTIVE_ALGORITHM", algorithm}};
  const SimulationOutcome outcome = Simulation(options).run([&](SimulatedRank& self) {
    MPI_Init(nullptr, nullptr);
    std::vector<char> from(static_cast<std::size_t>(bytes * ranks), 1), to(from);
    know_rails(self.rank(), ranks, 200);
    for (int i = 0; i < 80; ++i) operation(bytes, from, to);
    constexpr int rounds = 10;
    for (int i = 0; i < rounds; ++i) {
      double now = MPI_Wtime(), begin = 0, slowest = 0;
      MPI_Allreduce(&now, &begin, 1, MPI_DOUBLE, MPI_MAX, MPI_COMM_WORLD);
      begin += 300e-6;
      rest_until(self, begin - 150e-6);
      int any;
      for (int look = 0; look < 4; ++look)
        MPI_Iprobe(MPI_ANY_SOURCE, 0, MPI_COMM_WORLD, &any, MPI_STATUS_IGNORE);
      rest_until(self, begin);
      begin = MPI_Wtime();
      operation(bytes, from, to);
      const double took = MPI_Wtime() - begin;
      MPI_Reduce(&took, &slowest, 1, MPI_DOUBLE, MPI_MAX, 0, MPI_COMM_WORLD);
      if (self.rank() == 0) time += slowest / rounds * 1e6;
    }
    MPI_Finalize();
  });
  EXPECT_TRUE(outcome.finished()) << outcome.report;
  return time;
}

struct Named {
  const char* name;
  Operation operation;
};

// By the nearer rail alone, of 1 us.
void expect_no_loss(const Named& each, int ranks, int bytes, const std::vector<std::vector<int>>& latencies) {
  constexpr double most = 1.02;
  const double alone = time_of(each.operation, ranks, {1}, "1GB/s", bytes);
  for (const std::vector<int>& links : latencies)
    EXPECT_LE(time_of(each.operation, ranks, links, "1GB/s", bytes), most * alone)
        << each.name << " of " << bytes << " bytes, " << ranks << " ranks, " << links[0] << " and "
        << links[1] << " us";
}

TEST(UnlikeLatenciesOfCollectives, TwoRailsLoseNothingToTheNearer) {
  for (const Named& each : {Named{"all-reduce", all_reduce}, {"broadcast", broadcast}, {"reduce", reduce}})
    for (const int ranks : {2, 4, 8})
      for (const int bytes : {8192, 16384}) expect_no_loss(each, ranks, bytes, {{1, 5}, {5, 1}});
}

// Two rails that are alike are farther than costs expect without knowing.
TEST(UnlikeLatenciesOfCollectives, NorDoTwoThatAreAlike) {
  for (const Named& each : {Named{"all-reduce", all_reduce}, {"reduce", reduce}})
    expect_no_loss(each, 4, 8192, {{1, 1}});
}

// A rail alone is timed by what goes over it. Over links of 5 us, who sends to all at once does not wait for
// one step after the other.
TEST(UnlikeLatenciesOfCollectives, OneFarRailLosesNothingToTheBestAlgorithm) {
  constexpr int ranks = 8;
  const std::vector<std::string> algorithms = {"recursive_doubling", "bruck", "ring", "linear"};
  for (const int latency : {1, 5})
    for (const int bytes : {8, 512, 2048}) {
      const auto time = [&](const std::string& algorithm) {
        return time_of(all_gather, ranks, {latency}, "1GB/s", bytes, algorithm);
      };
      double best = time("auto");
      const double chosen = best;
      for (const std::string& each : algorithms) best = std::min(best, time("allgather=" + each));
      EXPECT_LE(chosen, 1.05 * best) << "all-gather of " << bytes << " bytes, " << latency << " us";
    }
}

// Of 9 ranks none is four steps from the root of a binomial tree.
TEST(UnlikeLatenciesOfCollectives, NorDoBroadcastsToRanksThatAreNoPowerOfTwo) {
  for (const int ranks : {7, 9}) {
    constexpr int bytes = 2048;
    const auto time = [&](const std::string& algorithm) {
      return time_of(broadcast, ranks, {1}, "1GB/s", bytes, algorithm);
    };
    const double best = std::min(time("broadcast=linear"), time("broadcast=binomial"));
    EXPECT_LE(time("auto"), 1.02 * best) << ranks << " ranks";
  }
}

// Only two ranks know of rails when all agree, while operations are under way that began before.
TEST(UnlikeLatenciesOfCollectives, RanksThatKnowUnlikeMuchChooseAlike) {
  constexpr int ranks = 4, elements = 2048, operations = 300;
  const SimulationOutcome outcome =
      Simulation(options_of(ranks, {1, 5}, "1GB/s")).run([&](SimulatedRank& self) {
        MPI_Init(nullptr, nullptr);
        const int rank = self.rank();
        if (rank < 2) know_rails(rank, 2, 200);
        for (int i = 0; i < 60; ++i) MPI_Barrier(MPI_COMM_WORLD);  // too few messages to tell the others
        const std::vector<int> ones(elements, 1);
        std::vector<int> sums(elements), before(elements), kept(elements);
        MPI_Request persistent, earlier;
        MPI_Allreduce_init(ones.data(), kept.data(), elements, MPI_INT, MPI_SUM, MPI_COMM_WORLD,
                           MPI_INFO_NULL, &persistent);
        for (int i = 0; i < operations; ++i) {
          MPI_Iallreduce(ones.data(), before.data(), elements, MPI_INT, MPI_SUM, MPI_COMM_WORLD, &earlier);
          // Where persistent operations begin among others is each rank's own affair.
          if (rank % 2 == 0) MPI_Start(&persistent);
          MPI_Allreduce(ones.data(), sums.data(), elements, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
          if (rank % 2 != 0) MPI_Start(&persistent);
          MPI_Wait(&persistent, MPI_STATUS_IGNORE);
          MPI_Wait(&earlier, MPI_STATUS_IGNORE);
          ASSERT_EQ(sums, std::vector<int>(elements, ranks));
          ASSERT_EQ(before, sums);
          ASSERT_EQ(kept, sums);
        }
        MPI_Request_free(&persistent);
        MPI_Finalize();
      });
  EXPECT_TRUE(outcome.finished()) << outcome.report;
}

}  // namespace
}  // namespace hawser
