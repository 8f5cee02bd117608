#include "testbed/emulator/process_dma.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <cstring>
#include <numeric>
#include <vector>

namespace hawser::emulator {
namespace {

// From one buffer of this process to another, and nothing beside.
TEST(ProcessDma, EveryLengthArrivesWhole) {
  ProcessDma dma;
  const fabric::SpaceId self = dma.add(getpid());
  constexpr std::size_t longest = 300'000, guard = 16;
  std::vector<std::uint8_t> from(longest);
  std::iota(from.begin(), from.end(), std::uint8_t{1});
  for (const std::size_t length :
       {0, 1, 7, 8, 9, 15, 16, 17, 64, 4095, 4096, 4097, 131'072, 131'073, 300'000}) {
    std::vector<std::uint8_t> to(longest + guard, 0xee);
    // In two pieces that meet in the middle of the destination, and three of the source.
    const auto piece = [](std::uint8_t* at, std::size_t begin, std::size_t end) {
      return fabric::Piece{reinterpret_cast<std::uint64_t>(at) + begin, end - begin};
    };
    const fabric::Piece source[] = {piece(from.data(), 0, length / 5),
                                    piece(from.data(), length / 5, length / 3),
                                    piece(from.data(), length / 3, length)};
    const fabric::Piece destination[] = {piece(to.data(), 0, length / 2),
                                         piece(to.data(), length / 2, length)};
    EXPECT_EQ(dma.copy(self, destination, self, source), fabric::DmaResult::done) << length;
    EXPECT_EQ(std::memcmp(to.data(), from.data(), length), 0) << length;
    EXPECT_EQ(to[length], 0xee) << length;
  }
}

TEST(ProcessDma, TellsWhoWasWrittenTo) {
  ProcessDma dma;
  bool first = false, second = false;
  const fabric::SpaceId a = dma.add(getpid(), &first), b = dma.add(getpid(), &second);
  std::uint64_t words[2] = {5, 6};
  const auto piece = [&](int i) { return fabric::Piece{reinterpret_cast<std::uint64_t>(&words[i]), 8}; };
  const fabric::Piece from[] = {piece(0)}, to[] = {piece(1)};
  EXPECT_EQ(dma.copy(b, to, a, from), fabric::DmaResult::done);
  EXPECT_EQ(words[1], 5u);
  EXPECT_FALSE(first);
  EXPECT_TRUE(second);
}

TEST(ProcessDma, AProcessThatIsNotThere) {
  ProcessDma dma;
  const fabric::SpaceId self = dma.add(getpid());
  std::uint64_t word = 5;
  const fabric::Piece piece[] = {{reinterpret_cast<std::uint64_t>(&word), sizeof word}};
  EXPECT_EQ(dma.copy(self, piece, self + 1, piece), fabric::DmaResult::lost);
  const fabric::Piece nowhere[] = {{8, sizeof word}};
  EXPECT_EQ(dma.copy(self, nowhere, self, piece), fabric::DmaResult::destination_gone);
  EXPECT_EQ(word, 5u);
}

}  // namespace
}  // namespace hawser::emulator
