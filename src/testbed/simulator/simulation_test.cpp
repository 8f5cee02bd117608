// The simulator under the library's own objects; the MPI functions over it are test/conformance's affair.
#include "testbed/simulator/simulation.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <set>
#include <stdexcept>

#include "process/machine_environment.h"
#include "process/mpi_process.h"
#include "process/process_slot.h"

namespace hawser {

// In place of the library's: a simulated rank never reaches for the machine.
std::unique_ptr<Environment> make_machine_environment() { std::abort(); }

namespace {

using ::testing::HasSubstr;

ByteSequence sequence(std::vector<std::byte>& bytes) {
  return {bytes.data(), static_cast<std::int64_t>(bytes.size()), nullptr};
}

// One rank's process, started and finished.
class Running {
 public:
  Running() : process_(current_slot().process()) { EXPECT_TRUE(process_.start(thread_single)); }
  MpiProcess& operator*() { return process_; }
  MpiProcess* operator->() { return &process_; }
  void finish() { process_.finish(); }

  void send(int to, int tag, std::vector<std::byte> bytes) {
    MessageRequest& request =
        process_.point_to_point().isend(SendMode::standard, {to, 0, process_.rank(), tag}, sequence(bytes));
    process_.wait_until([&] { return request.complete; });
    process_.point_to_point().release(request);
  }
  Status receive(int from, int tag, std::vector<std::byte>& bytes) {
    MessageRequest& request = process_.point_to_point().ireceive({0, from, tag}, sequence(bytes));
    process_.wait_until([&] { return request.complete; });
    const Status status = request.status;
    process_.point_to_point().release(request);
    return status;
  }

 private:
  MpiProcess& process_;
};

std::vector<std::byte> pattern(std::size_t size, int salt) {
  std::vector<std::byte> bytes(size);
  for (std::size_t i = 0; i < size; ++i) bytes[i] = static_cast<std::byte>(i * 7 + i / 251 + salt);
  return bytes;
}

// Everyone sends to everyone, short and long messages mixed.
void exchange(SimulatedRank& rank) {
  Running process;
  const std::size_t sizes[] = {0, 40, 9000, 50'000};
  for (int step = 1; step < rank.size(); ++step) {
    const int to = (rank.rank() + step) % rank.size(),
              from = (rank.rank() - step + rank.size()) % rank.size();
    std::vector<MessageRequest*> requests;
    std::vector<std::vector<std::byte>> out, in;
    for (std::size_t size : sizes) {
      out.push_back(pattern(size, rank.rank()));
      in.emplace_back(size + 1);
    }
    for (std::size_t i = 0; i < out.size(); ++i) {
      requests.push_back(
          &process->point_to_point().ireceive({0, from, static_cast<int>(i)}, sequence(in[i])));
    }
    for (std::size_t i = 0; i < out.size(); ++i) process.send(to, static_cast<int>(i), out[i]);
    for (std::size_t i = 0; i < out.size(); ++i) {
      process->wait_until([&] { return requests[i]->complete; });
      EXPECT_EQ(requests[i]->status.bytes, static_cast<std::int64_t>(out[i].size()));
      in[i].pop_back();
      EXPECT_EQ(in[i], pattern(out[i].size(), from));
      process->point_to_point().release(*requests[i]);
    }
  }
  process.finish();
}

SimulationOutcome run(SimulationOptions options, const Simulation::Body& body) {
  SimulationOutcome outcome = Simulation(options).run(body);
  if (outcome.kind == SimulationOutcome::Kind::exception) std::printf("%s\n", outcome.report.c_str());
  return outcome;
}

TEST(Simulation, EverybodyExchanges) {
  for (int ranks : {1, 2, 3, 16}) {
    EXPECT_TRUE(run({.ranks = ranks}, exchange).finished());
  }
}

TEST(Simulation, SameSeedSameTrace) {
  std::set<std::uint64_t> hashes;
  for (std::uint64_t seed : {1, 2, 3}) {
    const SimulationOptions options{.ranks = 8, .seed = seed, .model = {.jitter = 0.5}};
    const auto first = run(options, exchange), second = run(options, exchange);
    EXPECT_TRUE(first.finished());
    EXPECT_EQ(first.trace_hash, second.trace_hash);
    EXPECT_EQ(first.virtual_time, second.virtual_time);
    hashes.insert(first.trace_hash);
  }
  EXPECT_EQ(hashes.size(), 3u);
  // Without jitter nothing is drawn.
  EXPECT_EQ(run({.ranks = 4, .seed = 1}, exchange).trace_hash,
            run({.ranks = 4, .seed = 2}, exchange).trace_hash);
}

TEST(Simulation, PiecesAndSmallWindows) {
  const NetworkCost model{.eager_limit = 10'000, .one_piece_limit = 2000, .window = 2, .jitter = 0.3};
  EXPECT_TRUE(run({.ranks = 9, .model = model, .ranks_per_node = 3}, exchange).finished());
}

TEST(Simulation, CostIsWhatTheModelSays) {
  NetworkCost model{.network = {1000, 10, 1000}, .overhead = 100};
  const auto outcome = run({.ranks = 2, .model = model}, [](SimulatedRank& rank) {
    Running process;
    std::vector<std::byte> bytes(500);
    const Nanoseconds begin = rank.now();
    if (rank.rank() == 0) {
      process.send(1, 0, bytes);
      EXPECT_EQ(rank.now() - begin, 100);
      rank.compute(10'000);
      EXPECT_EQ(rank.now() - begin, 10'100);
    } else {
      process.receive(0, 0, bytes);
      EXPECT_EQ(rank.now() - begin, 100 + 1000 + 500 + 100);
    }
    process.finish();
  });
  EXPECT_TRUE(outcome.finished());
}

TEST(Simulation, PollingLetsTimePass) {
  const auto outcome = run({.ranks = 2}, [](SimulatedRank& rank) {
    Running process;
    std::vector<std::byte> bytes(8);
    if (rank.rank() == 0) {
      rank.compute(1 * millisecond);
      process.send(1, 5, bytes);
    } else {
      Status status;
      while (!process->point_to_point().probe({0, any_source, any_tag}, status)) process->make_progress();
      EXPECT_EQ(status.tag, 5);
      EXPECT_GE(rank.now(), 1 * millisecond);
      process.receive(0, 5, bytes);
      const Nanoseconds begin = rank.now();
      while (rank.now() < begin + 1 * millisecond) {
      }
    }
    process.finish();
  });
  EXPECT_TRUE(outcome.finished());
}

TEST(Simulation, DeadlockNamesWhoWaits) {
  const auto outcome = run({.ranks = 3}, [](SimulatedRank& rank) {
    Running process;
    std::vector<std::byte> bytes(8);
    if (rank.rank() != 2) process.receive(1 - rank.rank(), 7, bytes);
    process.finish();
  });
  EXPECT_EQ(outcome.kind, SimulationOutcome::Kind::deadlock);
  EXPECT_THAT(outcome.report, HasSubstr("rank 0: waits in "));
  EXPECT_THAT(outcome.report,
              HasSubstr("receive from rank 0, tag 7, context 0, 8 bytes: no such message has come"));
}

TEST(Simulation, LivelockIsFound) {
  const auto outcome = run({.ranks = 2, .vain_polls = 10'000}, [](SimulatedRank& rank) {
    Running process;
    while (rank.rank() == 1) process->make_progress();
    process.finish();
  });
  EXPECT_EQ(outcome.kind, SimulationOutcome::Kind::livelock);
  EXPECT_THAT(outcome.report, HasSubstr("rank 0: "));
}

TEST(Simulation, AbortEndsTheJobOnly) {
  const auto outcome = run({.ranks = 4}, [](SimulatedRank& rank) {
    Running process;
    std::vector<std::byte> bytes(8);
    if (rank.rank() == 2) process->abort(9, "had enough");
    process.receive(2, 0, bytes);
    FAIL() << "not reached";
  });
  EXPECT_EQ(outcome.kind, SimulationOutcome::Kind::aborted);
  EXPECT_EQ(outcome.exit_code, 9);
  EXPECT_THAT(outcome.report, HasSubstr("rank 2 ended the job with code 9: had enough"));
  ASSERT_FALSE(outcome.output.empty());
  EXPECT_THAT(outcome.output[0], HasSubstr("had enough"));
}

TEST(Simulation, ExceptionEndsTheJob) {
  const auto outcome = run({.ranks = 4}, [](SimulatedRank& rank) {
    if (rank.rank() == 3) throw std::runtime_error("thrown on purpose");
    Running process;
    process.finish();
  });
  EXPECT_EQ(outcome.kind, SimulationOutcome::Kind::exception);
  EXPECT_THAT(outcome.report, HasSubstr("rank 3 ended with an exception: thrown on purpose"));
}

TEST(Simulation, TimeLimit) {
  const auto outcome = run({.ranks = 2, .time_limit = 1 * second}, [](SimulatedRank& rank) {
    while (true) rank.compute(1 * millisecond);
  });
  EXPECT_EQ(outcome.kind, SimulationOutcome::Kind::time_limit);
}

TEST(Simulation, BadOptions) {
  const auto nothing = [](SimulatedRank&) {};
  EXPECT_EQ(run({.knobs = {{"HAWSER_NO_SUCH_KNOB", "1"}}}, nothing).kind,
            SimulationOutcome::Kind::bad_options);
  EXPECT_EQ(run({.trace_file = "/nowhere/trace"}, nothing).kind, SimulationOutcome::Kind::bad_options);
  EXPECT_EQ(run({.ranks = 2, .trace_file = "/dev/full"}, exchange).kind,
            SimulationOutcome::Kind::bad_options);
}

TEST(Simulation, TraceFileHasALinePerEvent) {
  const std::string path = ::testing::TempDir() + "hawser_trace";
  EXPECT_TRUE(run({.ranks = 2, .trace_file = path}, exchange).finished());
  std::ifstream file(path);
  std::string line;
  int sends = 0;
  while (std::getline(file, line)) sends += line.find(" send ") != std::string::npos;
  EXPECT_GT(sends, 4);
  std::remove(path.c_str());
}

}  // namespace
}  // namespace hawser
