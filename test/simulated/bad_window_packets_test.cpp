// A rank that sends operations of nonsense into a window over the rails of a fabric, while others use it: the
// job ends with a word about that rank, or the packets were harmless and the job goes on; and no byte beside
// the window is written.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <mpi.h>

#include <algorithm>
#include <cstring>
#include <map>

#include "base/random.h"
#include "process/mpi_process.h"
#include "process/process_slot.h"
#include "testbed/simulator/simulation.h"
#include "window/window.h"

namespace hawser {
namespace {

using ::testing::HasSubstr;
using Kind = WindowHeader::Kind;

constexpr int harmless_end = 77;
constexpr std::size_t window_bytes = 4096, guard = 8192;
constexpr std::byte untouched{0x5a};

class Nonsense {
 public:
  explicit Nonsense(std::uint64_t seed) : random_(seed) {}

  WindowHeader header(std::uint32_t window, int rank) {
    WindowHeader header;
    header.kind = static_cast<Kind>(random_.chance(0.9) ? random_.below(19) : random_.below(256));
    header.flags = static_cast<std::uint8_t>(random_.chance(0.8) ? 0 : random_.below(8));
    header.window = random_.chance(0.9) ? window : static_cast<std::uint32_t>(random_.next());
    header.source_rank = random_.chance(0.9) ? rank : static_cast<std::int32_t>(random_.next());
    header.number = static_cast<std::uint32_t>(random_.chance(0.8) ? random_.below(4) : random_.next());
    header.operation = static_cast<PredefinedOperator>(random_.below(random_.chance(0.8) ? 14 : 256));
    header.element = static_cast<Elementary>(random_.below(random_.chance(0.8) ? 30 : 256));
    return header;
  }
  // A place, mostly near an end of the window, and data; now and then cut.
  std::vector<std::byte> payload() {
    PlaceOnWire place{number(), number()};
    if (random_.chance(0.5)) place.bytes = static_cast<std::int64_t>(random_.below(2000));
    std::vector<std::byte> bytes(sizeof place);
    std::memcpy(bytes.data(), &place, sizeof place);
    const auto data = random_.chance(0.8)
                          ? static_cast<std::uint64_t>(std::clamp<std::int64_t>(place.bytes, 0, 2000))
                          : random_.below(2000);
    for (auto i = data; i > 0; --i) bytes.push_back(static_cast<std::byte>(random_.next()));
    if (random_.chance(0.1)) bytes.resize(random_.below(bytes.size() + 1));
    return bytes;
  }
  std::vector<std::byte> put() {
    const PlaceOnWire place{number(), 1 + static_cast<std::int64_t>(random_.below(2000))};
    std::vector<std::byte> bytes(sizeof place + static_cast<std::size_t>(place.bytes), std::byte{0x77});
    std::memcpy(bytes.data(), &place, sizeof place);
    return bytes;
  }
  bool chance(double probability) { return random_.chance(probability); }

 private:
  std::int64_t number() {
    constexpr std::int64_t values[] = {0,    8,    -1,        -8,        4088,    4095,
                                       4096, 4097, INT64_MAX, INT64_MIN, 1 << 20, std::int64_t{1} << 47};
    if (random_.chance(0.5)) return static_cast<std::int64_t>(random_.below(window_bytes));
    return values[random_.below(std::size(values))];
  }

  Random random_;
};

using Memory = std::vector<std::byte>;

// Rank 1 sends what it likes to rank 0, between operations that are right; rank 2 uses the window as well.
void body(SimulatedRank& rank, std::uint64_t seed, Memory& memory) {
  MPI_Init(nullptr, nullptr);
  MPI_Win win = MPI_WIN_NULL;
  MPI_Win_create(memory.data() + guard, window_bytes, 1, MPI_INFO_NULL, MPI_COMM_WORLD, &win);
  MPI_Win_lock_all(0, win);
  MpiProcess& process = current_slot().process();
  std::uint32_t id = 0;
  process.handles().windows.for_each([&](const Window& window) { id = window.communicator().context(); });
  std::uint64_t value = 5, got = 0;
  if (rank.rank() == 1) {
    Nonsense nonsense(seed);
    Transport& channel = *process.channels().channel_of(0);
    MPI_Put(&value, 8, MPI_BYTE, 0, 8, 8, MPI_BYTE, win);
    MPI_Get(&got, 8, MPI_BYTE, 0, 8, 8, MPI_BYTE, win);
    for (std::uint64_t i = 0; i <= seed % 3; ++i) {
      WindowHeader header = nonsense.header(id, 1);
      std::vector<std::byte> payload = nonsense.payload();
      // Some are what a put beyond the end of the window would be, or one within.
      if (nonsense.chance(0.5)) {
        header = {};
        header.window = id;
        header.source_rank = 1;
        payload = nonsense.put();
      }
      const ByteSequence bytes{payload.data(), static_cast<std::int64_t>(payload.size()), nullptr};
      process.wait_until([&] { return channel.try_send(0, header, bytes); });
    }
    MPI_Send(nullptr, 0, MPI_BYTE, 0, 1, MPI_COMM_WORLD);
  } else if (rank.rank() == 2) {
    for (int i = 0; i < 4; ++i) {
      MPI_Fetch_and_op(&value, &got, MPI_UINT64_T, 0, 4080, MPI_SUM, win);
      MPI_Win_flush(0, win);
    }
    MPI_Send(nullptr, 0, MPI_BYTE, 0, 1, MPI_COMM_WORLD);
  } else {
    for (int from = 1; from < 3; ++from)
      MPI_Recv(nullptr, 0, MPI_BYTE, from, 1, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
  }
  // What is unfinished stays so: the job ends here.
  if (rank.rank() == 0) process.abort(harmless_end, "nothing happened");
  process.wait_until([] { return false; });
}

TEST(BadWindowHeaders, OverRailsEndTheJobWithAWordOrAreHarmless) {
  int ended = 0, harmless = 0, written = 0;
  std::map<std::string, int> words;
  for (std::uint64_t seed = 1; seed <= 600; ++seed) {
    SCOPED_TRACE(seed);
    SimulationOptions options{.ranks = 3, .seed = seed};
    options.fabric.emplace();
    options.time_limit = 60 * second;
    std::vector<Memory> memories(3, Memory(window_bytes + 2 * guard, untouched));
    const auto outcome = Simulation(options).run(
        [&](SimulatedRank& rank) { body(rank, seed, memories[static_cast<std::size_t>(rank.rank())]); });
    ASSERT_EQ(outcome.kind, SimulationOutcome::Kind::aborted) << outcome.report;
    for (const Memory& memory : memories) {
      const auto is_untouched = [](std::byte byte) { return byte == untouched; };
      ASSERT_TRUE(std::all_of(memory.begin(), memory.begin() + guard, is_untouched));
      ASSERT_TRUE(std::all_of(memory.end() - guard, memory.end(), is_untouched));
      written += !std::all_of(memory.begin(), memory.end(), is_untouched);
    }
    if (outcome.exit_code == harmless_end) {
      ++harmless;
      continue;
    }
    ++ended;
    const std::string word = outcome.report + (outcome.output.empty() ? "" : outcome.output.front());
    ASSERT_THAT(word, ::testing::AnyOf(HasSubstr("rank 1 sent "), HasSubstr("rank 0 sent ")));
    std::string said = word.substr(word.find(" sent "), 34);
    std::erase_if(said, [](char letter) { return letter >= '0' && letter <= '9'; });
    ++words[said];
  }
  for (const auto& [word, times] : words) std::printf("%5d %s\n", times, word.c_str());
  std::printf("%d jobs ended with a word, %d went on, in %d windows something was written\n", ended, harmless,
              written);
  EXPECT_GT(ended, 200);
  EXPECT_GT(harmless, 30);
  EXPECT_GT(words.size(), 8u);
}

}  // namespace
}  // namespace hawser
