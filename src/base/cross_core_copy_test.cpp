#include "base/cross_core_copy.h"

#include <gtest/gtest.h>

#include <cstdint>
#include <vector>

namespace hawser {
namespace {

// How many of `uses` go the way `way`, at these costs.
int uses_of(CheaperWay& ways, int way, int uses, float cost_0, float cost_1) {
  int count = 0;
  for (int i = 0; i < uses; ++i) {
    const int taken = ways.next();
    count += taken == way;
    ways.record(taken, taken == 0 ? cost_0 : cost_1);
  }
  return count;
}

TEST(CheaperWay, TakesTheCheaperOneAndTriesTheOtherSeldom) {
  for (const int cheap : {0, 1}) {
    CheaperWay ways;
    uses_of(ways, cheap, 1000, cheap == 0 ? 1 : 10, cheap == 1 ? 1 : 10);
    EXPECT_GE(uses_of(ways, cheap, 10000, cheap == 0 ? 1 : 10, cheap == 1 ? 1 : 10), 9950);
  }
}

// Many are begun before the first is recorded.
TEST(CheaperWay, TriesTheOtherOnceAtATime) {
  constexpr int window = 64;
  CheaperWay ways;
  int other = 0;
  for (int round = 0; round < 100; ++round) {
    int taken[window];
    for (int& way : taken) way = ways.next();
    for (const int way : taken) {
      ways.record(way, way == 0 ? 1.0F : 2.0F);
      other += way == 1;
    }
  }
  EXPECT_GT(other, 0);
  EXPECT_LE(other, window / 2 + 100);  // of 6400: those that warm up, and at most one a round
}

TEST(CheaperWay, NoticesThatItsOwnWayHasBecomeExpensive) {
  CheaperWay ways;
  uses_of(ways, 0, 5000, 1, 2);
  EXPECT_GE(uses_of(ways, 1, 1000, 10, 2), 950);
}

TEST(CheaperWay, NoticesThatTheOtherWayHasBecomeCheap) {
  CheaperWay ways;
  uses_of(ways, 0, 5000, 1, 2);
  EXPECT_GE(uses_of(ways, 1, 2000, 1, 0.5F), 1500);
}

TEST(CheaperWay, SingleExpensiveUsesCountForLittle) {
  CheaperWay ways;
  int count = 0;
  for (int i = 0; i < 10000; ++i) {
    const int way = ways.next();
    count += way == 0;
    ways.record(way, i % 100 == 0 ? 1000.0F : way == 0 ? 1.0F : 2.0F);
  }
  EXPECT_GE(count, 9500);
}

TEST(CrossCoreCopy, CopiesWhatMemcpyCopies) {
  std::vector<std::byte> from(300000);
  for (std::size_t i = 0; i < from.size(); ++i) from[i] = static_cast<std::byte>(i * 7 + i / 251);
  CrossCoreCopy copies;
  for (const std::size_t bytes : {0, 1, 2047, 2048, 5000, 8191, 8192, 8193, 16384, 65536, 65599, 200001}) {
    for (const std::size_t offset : {0, 1, 16, 63}) {
      for (int way = 0; way < 2; ++way) {  // both are tried in turn at first
        std::vector<std::byte> to(bytes + 200, std::byte{0x55});
        copies.copy(to.data() + offset, from.data() + 3 * offset, bytes);
        for (std::size_t i = 0; i < to.size(); ++i) {
          const bool inside = i >= offset && i < offset + bytes;
          ASSERT_EQ(to[i], inside ? from[i - offset + 3 * offset] : std::byte{0x55}) << bytes << ' ' << i;
        }
      }
    }
  }
}

TEST(CopyLines, CopiesWhatMemcpyCopies) {
  constexpr std::size_t most = 600, around = 100;
  std::vector<std::byte> from(most);
  for (std::size_t i = 0; i < from.size(); ++i) from[i] = static_cast<std::byte>(i * 7 + i / 251);
  for (std::size_t bytes = 0; bytes <= most; ++bytes) {
    std::vector<std::byte> to(most + 2 * around, std::byte{0x55});
    copy_lines(to.data() + around, from.data(), bytes);
    for (std::size_t i = 0; i < to.size(); ++i) {
      const bool inside = i >= around && i < around + bytes;
      ASSERT_EQ(to[i], inside ? from[i - around] : std::byte{0x55}) << bytes << ' ' << i;
    }
  }
}

TEST(CrossCoreCopy, WritesAllPartsOnceEitherWay) {
  constexpr std::size_t line = 64;
  CrossCoreCopy copies;
  for (const std::size_t bytes : {0, 1, 4095, 8191, 8192, 8193, 12345, 16384, 65599}) {
    for (int use = 0; use < 64; ++use) {  // both ways are tried in turn at first
      std::vector<std::byte> memory(bytes + 2 * line, std::byte{0x55});
      std::byte* const to =
          memory.data() + (line - reinterpret_cast<std::uintptr_t>(memory.data()) % line) % line;
      std::size_t written = 0;
      copies.write(to, bytes, [&](std::byte* part, std::size_t at, std::size_t some) {
        ASSERT_EQ(at, written) << "in order";
        for (std::size_t i = 0; i < some; ++i)
          part[i] = static_cast<std::byte>((at + i) * 7 + (at + i) / 251);
        written += some;
      });
      ASSERT_EQ(written, bytes);
      for (std::size_t i = 0; i < bytes; ++i)
        ASSERT_EQ(to[i], static_cast<std::byte>(i * 7 + i / 251)) << bytes << ' ' << i;
      ASSERT_EQ(to[bytes], std::byte{0x55}) << bytes;
    }
  }
}

}  // namespace
}  // namespace hawser
