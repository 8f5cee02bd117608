// Two rails of which one is much slower, though both ports say the same rate: no message may take longer than
// over the fast one alone. In virtual time.
#include <gtest/gtest.h>
#include <mpi.h>

#include <algorithm>
#include <cstdio>
#include <string>
#include <vector>

#include "base/random.h"
#include "over_rails.h"

namespace hawser {
namespace {

using Round = void (*)(int rank, int ranks, int bytes, std::vector<char>& out, std::vector<char>& in);

void ping_pong(int rank, int, int bytes, std::vector<char>& out, std::vector<char>& in) {
  const auto send = [&] { MPI_Send(out.data(), bytes, MPI_BYTE, 1 - rank, 0, MPI_COMM_WORLD); };
  if (rank == 0) send();
  MPI_Recv(in.data(), bytes, MPI_BYTE, 1 - rank, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
  if (rank == 1) send();
}

void messages(std::size_t count, int rank, int bytes, std::vector<char>& out, std::vector<char>& in) {
  std::vector<MPI_Request> requests(count);
  for (MPI_Request& request : requests)
    rank == 0 ? MPI_Isend(out.data(), bytes, MPI_BYTE, 1, 0, MPI_COMM_WORLD, &request)
              : MPI_Irecv(in.data(), bytes, MPI_BYTE, 0, 0, MPI_COMM_WORLD, &request);
  MPI_Waitall(static_cast<int>(count), requests.data(), MPI_STATUSES_IGNORE);
  char done = 0;
  rank == 0 ? MPI_Recv(&done, 1, MPI_BYTE, 1, 1, MPI_COMM_WORLD, MPI_STATUS_IGNORE)
            : MPI_Send(&done, 1, MPI_BYTE, 0, 1, MPI_COMM_WORLD);
}

void window(int rank, int, int bytes, std::vector<char>& out, std::vector<char>& in) {
  messages(16, rank, bytes, out, in);
}

void many(int rank, int, int bytes, std::vector<char>& out, std::vector<char>& in) {
  messages(64, rank, bytes, out, in);
}

void all_to_all(int, int, int bytes, std::vector<char>& out, std::vector<char>& in) {
  MPI_Alltoall(out.data(), bytes, MPI_BYTE, in.data(), bytes, MPI_BYTE, MPI_COMM_WORLD);
}

// Each rank sends small packets to two others, and none to the third.
void barrier_and_all_to_all(int rank, int ranks, int bytes, std::vector<char>& out, std::vector<char>& in) {
  MPI_Barrier(MPI_COMM_WORLD);
  all_to_all(rank, ranks, bytes, out, in);
}

void all_reduce(int, int, int bytes, std::vector<char>& out, std::vector<char>& in) {
  MPI_Allreduce(out.data(), in.data(), bytes, MPI_BYTE, MPI_BXOR, MPI_COMM_WORLD);
}

struct Case {
  const char* name;
  Round round;
  int ranks;
  // Ranks tell each other how far rails are before the 64th operation, and some packets time rails after
  // that.
  int warm_up = 60;
  // Ranks that are exactly alike repeat one of several courses, and chance decides which. With seeds each
  // begins each round up to so late, and the mean over the seeds counts.
  int seeds = 0;
  // Up to so many times as late as a message takes over the fast rail, if that is more. Where starts differ
  // by little, some courses last for all rounds, over the fast rail alone as well.
  int latest_start = 0;
};
constexpr std::uint64_t least_latest_start = 200;  // ns

// Time of a round in microseconds; one rate for each rail, in MB/s. Ports have 2^lmc LIDs.
double time_of_seed(const Case& which, const std::vector<int>& rates, int bytes, int lmc,
                    std::uint64_t seed) {
  std::vector<std::string> links;
  for (const int rate : rates) links.push_back("rate " + std::to_string(rate) + "MB/s");
  SimulationOptions options = over_rails(which.ranks,
                                         "chunk 4K lmc " + std::to_string(lmc) + " link-rate " +
                                             std::to_string(rates[0]) + "MB/s link-latency 1us",
                                         links);
  count_software(options);
  double time = 0;
  const SimulationOutcome outcome = Simulation(options).run([&](SimulatedRank& self) {
    MPI_Init(nullptr, nullptr);
    const auto size = static_cast<std::size_t>(bytes) * static_cast<std::size_t>(self.size());
    std::vector<char> out(size), in(size);
    Random random(seed * 1000 + static_cast<std::uint64_t>(self.rank()));
    const int message = bytes * 1000 / *std::ranges::max_element(rates);  // ns
    const auto latest_start =
        std::max(least_latest_start, static_cast<std::uint64_t>(which.latest_start * message));
    constexpr int rounds = 140;
    double begin = 0;
    for (int i = 0; i < which.warm_up + rounds; ++i) {
      if (i == which.warm_up) {
        MPI_Barrier(MPI_COMM_WORLD);
        begin = MPI_Wtime();
      }
      if (seed > 0) self.compute(static_cast<Nanoseconds>(random.below(latest_start + 1)));
      which.round(self.rank(), self.size(), bytes, out, in);
    }
    if (self.rank() == 0) time = (MPI_Wtime() - begin) / rounds * 1e6;
    MPI_Finalize();
  });
  EXPECT_TRUE(outcome.finished()) << outcome.report;
  return time;
}

double time_of(const Case& which, const std::vector<int>& rates, int bytes, int lmc = 0) {
  if (which.seeds == 0) return time_of_seed(which, rates, bytes, lmc, 0);
  double sum = 0;
  for (int seed = 1; seed <= which.seeds; ++seed)
    sum += time_of_seed(which, rates, bytes, lmc, static_cast<std::uint64_t>(seed));
  return sum / which.seeds;
}

// Whichever of the two is the first.
void expect_no_loss(const Case& which, const std::vector<int>& sizes, double most, int lmc = 0,
                    const std::vector<std::vector<int>>& pairs = {
                        {880, 100}, {100, 880}, {400, 200}, {200, 20}}) {
  for (const std::vector<int>& rates : pairs)
    for (const int bytes : sizes) {
      const double alone = time_of(which, {*std::ranges::max_element(rates)}, bytes, lmc);
      const double both = time_of(which, rates, bytes, lmc);
      std::printf("%s of %d bytes, %d and %d MB/s: %.1f us, over the fast rail alone %.1f\n", which.name,
                  bytes, rates[0], rates[1], both, alone);
      EXPECT_LE(both, most * alone) << which.name << " of " << bytes << " bytes, " << rates[0] << " and "
                                    << rates[1] << " MB/s";
    }
}

// A rail that no packet took is tried when 64 packets and a few more have told how far the peer is.
TEST(UnequalRails, SinglePacketsTakeTheFastOne) {
  expect_no_loss({"ping-pong", ping_pong, 2, 100}, {1024, 2048, 4096}, 1.02);
}

// Their other paths are not open, for packets alone want none.
TEST(UnequalRails, SinglePacketsTakeTheFastOneOfSeveralPaths) {
  expect_no_loss({"ping-pong", ping_pong, 2}, {1024, 4096}, 1.02, 2);
}

TEST(UnequalRails, MessagesOfFewStripesAreNotHeldUpByTheSlowOne) {
  expect_no_loss({"ping-pong", ping_pong, 2}, {8192, 16384, 32768, 65536}, 1.02);
}

TEST(UnequalRails, WindowsAreNotHeldUpByTheSlowOne) {
  expect_no_loss({"window", window, 2}, {1024, 4096, 16384, 32768}, 1.03);
}

// Four ranks that send 4 KiB over 200 MB/s alone and begin within 200 ns take 129 or 147 us a round,
// whichever course they came into first.
TEST(UnequalRails, PacketsOfCollectivesTakeTheFastOne) {
  expect_no_loss({"all-to-all", all_to_all, 4, 60, 5}, {2048}, 1.02);
  expect_no_loss({"all-to-all", all_to_all, 4, 60, 16, 1}, {4096}, 1.02);
}

// What goes to others delays a stripe over the fast rail, too.
TEST(UnequalRails, StripesOfCollectivesTakeTheFastOne) {
  expect_no_loss({"all-to-all", all_to_all, 4, 60, 3}, {8192}, 1.06, 0, {{880, 100}, {100, 880}, {200, 20}});
}

TEST(UnequalRails, PacketsToPeersThatGetNothingSmallTakeTheFastOne) {
  expect_no_loss({"barrier and all-to-all", barrier_and_all_to_all, 4, 300}, {1024, 2048, 4096}, 1.05, 0,
                 {{880, 100}, {100, 880}});
}

TEST(UnequalRails, PacketsThatAreNeverTheFirstTakeTheFastOne) {
  expect_no_loss({"all-reduce", all_reduce, 4, 300}, {2048}, 1.05, 0, {{880, 100}, {100, 880}});
}

// The first message of a window is found done with many others, which take their time. Rails that are much
// faster than processes must not seem slow by that.
TEST(UnequalRails, FastOnesThatAreAlikeAreBothUsed) {
  const Case which{"window", many, 2};
  const double one = time_of(which, {12500}, 8192), two = time_of(which, {12500, 12500}, 8192);
  std::printf("64 messages of 8 KiB: %.1f us over one rail, %.1f over two\n", one, two);
  EXPECT_LE(two, 0.7 * one);
}

// Of two rails of 1 GB/s the second has a hundredth of that until so long after the beginning (0: never).
// MB/s from `from` to `to`, in ms.
double rate_of(const Case& which, int bytes, int rails, int heals_ms, int from_ms, int to_ms) {
  SimulationOptions options = over_rails(which.ranks, "chunk 4K link-rate 1GB/s link-latency 1us",
                                         std::vector<std::string>(static_cast<std::size_t>(rails)));
  if (heals_ms > 0)
    options.fabric->faults =
        "0us link n1/hw1 rate 1%\n" + std::to_string(heals_ms) + "ms link n1/hw1 rate 100%\n";
  count_software(options);
  double rate = 0;
  const SimulationOutcome outcome = Simulation(options).run([&](SimulatedRank& self) {
    MPI_Init(nullptr, nullptr);
    std::vector<char> out(static_cast<std::size_t>(bytes)), in(out.size());
    double begin = 0, now = 0;
    std::int64_t moved = 0;
    while (now < to_ms * 1e-3) {
      which.round(self.rank(), self.size(), bytes, out, in);
      moved += bytes * (which.round == window ? 16 : 1);
      now = MPI_Wtime();
      MPI_Bcast(&now, 1, MPI_DOUBLE, 0, MPI_COMM_WORLD);
      if (now >= from_ms * 1e-3 && begin == 0) {
        begin = now;
        moved = 0;
      }
    }
    if (self.rank() == 0) rate = static_cast<double>(moved) / (now - begin) * 1e-6;
    MPI_Finalize();
  });
  EXPECT_TRUE(outcome.finished()) << outcome.report;
  return rate;
}

// A message below 128 KiB never tried such a rail again, and a larger one waited for what tried it.
TEST(UnequalRails, OneThatWasSlowIsUsedAgainByMessagesOfAllSizes) {
  for (const Case& which : {Case{"window", window, 2}, Case{"ping-pong", ping_pong, 2}})
    for (const int bytes : {16384, 32768, 65536, 131072, 1 << 20}) {
      const double one = rate_of(which, bytes, 1, 0, 100, 200), two = rate_of(which, bytes, 2, 0, 100, 200);
      const double slow = rate_of(which, bytes, 2, 200, 100, 200),
                   well = rate_of(which, bytes, 2, 200, 350, 450);
      std::printf(
          "%s of %d bytes: %.0f MB/s over one rail, %.0f beside a slow one, %.0f when it is well, %.0f "
          "over two\n",
          which.name, bytes, one, slow, well, two);
      EXPECT_GE(slow, one * 0.98) << which.name << " of " << bytes;
      EXPECT_GE(well, two * 0.85) << which.name << " of " << bytes;
    }
}

}  // namespace
}  // namespace hawser
