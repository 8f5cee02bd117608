// MPI_Alltoallv between nodes: each rank chooses by its own blocks how to move them.
#include <gtest/gtest.h>
#include <mpi.h>

#include <algorithm>
#include <cstdint>
#include <vector>

#include "over_rails.h"

namespace hawser {
namespace {

SimulationOptions options_of(int ranks) {
  SimulationOptions options = over_rails(ranks, "chunk 4K link-rate 1GB/s", {"rate 1GB/s latency 300ns"});
  count_software(options);
  return options;
}

// Microseconds of MPI_Alltoallv by those of MPI_Alltoall, of blocks of the same size.
double against_alltoall(int ranks, int bytes) {
  double ratio = 0;
  const SimulationOutcome outcome = Simulation(options_of(ranks)).run([&](SimulatedRank& self) {
    MPI_Init(nullptr, nullptr);
    const auto size = static_cast<std::size_t>(bytes) * static_cast<std::size_t>(ranks);
    std::vector<char> out(size), in(size);
    std::vector<int> counts(static_cast<std::size_t>(ranks), bytes), places;
    for (int r = 0; r < ranks; ++r) places.push_back(r * bytes);
    // Ranks agree how far rails are before the 64th operation. Until something takes them out of step, an
    // alltoall of 9 ranks takes a tenth less.
    for (int i = 0; i < 70; ++i) MPI_Barrier(MPI_COMM_WORLD);
    double times[2];
    for (const int vector_form : {0, 1}) {
      constexpr int rounds = 20;
      double begin = 0;
      for (int i = -5; i < rounds; ++i) {
        if (i == 0) begin = MPI_Wtime();
        if (vector_form != 0)
          MPI_Alltoallv(out.data(), counts.data(), places.data(), MPI_BYTE, in.data(), counts.data(),
                        places.data(), MPI_BYTE, MPI_COMM_WORLD);
        else
          MPI_Alltoall(out.data(), bytes, MPI_BYTE, in.data(), bytes, MPI_BYTE, MPI_COMM_WORLD);
        MPI_Barrier(MPI_COMM_WORLD);
      }
      times[vector_form] = MPI_Wtime() - begin;
    }
    if (self.rank() == 0) ratio = times[1] / times[0];
    MPI_Finalize();
  });
  EXPECT_TRUE(outcome.finished()) << outcome.report;
  return ratio;
}

TEST(AlgorithmChoiceOfVectorForms, LikeBlocksMoveAsThoseOfAlltoall) {
  for (const int ranks : {4, 8, 9})
    for (const int bytes : {32768, 131072})
      EXPECT_LE(against_alltoall(ranks, bytes), 1.05) << ranks << " ranks, " << bytes << " bytes";
}

// Some ranks have blocks that are alike, others not: they send the same messages in another order.
TEST(AlgorithmChoiceOfVectorForms, RanksThatChooseUnlikeWaysMeet) {
  for (const int ranks : {4, 7, 16, 33, 40}) {
    const SimulationOutcome outcome = Simulation(options_of(ranks)).run([&](SimulatedRank& self) {
      MPI_Init(nullptr, nullptr);
      const int rank = self.rank();
      // Every third rank sends one rank little, and another one nothing.
      const auto count = [ranks](int from, int to) {
        if (from % 3 != 0) return 5000;
        return to == (from + 1) % ranks ? 10 : to == (from + 2) % ranks ? 0 : 5000;
      };
      std::vector<int> send_counts, receive_counts, send_places, receive_places;
      int sent = 0, received = 0;
      for (int r = 0; r < ranks; ++r) {
        send_counts.push_back(count(rank, r));
        receive_counts.push_back(count(r, rank));
        send_places.push_back(sent);
        receive_places.push_back(received);
        sent += send_counts.back();
        received += receive_counts.back();
      }
      std::vector<std::int32_t> out, in(static_cast<std::size_t>(received)), wanted;
      for (int r = 0; r < ranks; ++r) {
        out.insert(out.end(), static_cast<std::size_t>(count(rank, r)), rank * 100 + r);
        wanted.insert(wanted.end(), static_cast<std::size_t>(count(r, rank)), r * 100 + rank);
      }
      for (int i = 0; i < 3; ++i) {
        std::fill(in.begin(), in.end(), -1);
        MPI_Alltoallv(out.data(), send_counts.data(), send_places.data(), MPI_INT32_T, in.data(),
                      receive_counts.data(), receive_places.data(), MPI_INT32_T, MPI_COMM_WORLD);
        ASSERT_EQ(in, wanted);
      }
      MPI_Finalize();
    });
    EXPECT_TRUE(outcome.finished()) << ranks << " ranks: " << outcome.report;
  }
}

}  // namespace
}  // namespace hawser
