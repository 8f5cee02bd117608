#include "base/copy_memory.h"

#include <gtest/gtest.h>

#include <vector>

namespace hawser {
namespace {

TEST(CopyMemory, CopiesAllAndNoMore) {
  constexpr std::size_t most = 3 * copied_in_pieces, guard = 64;
  std::vector<std::byte> from(most);
  for (std::size_t i = 0; i < most; ++i) from[i] = static_cast<std::byte>(i * 7 + (i >> 16));
  for (const std::size_t bytes : {std::size_t{0}, std::size_t{1}, copied_in_pieces - 1, copied_in_pieces,
                                  copied_in_pieces + 1, 2 * copied_in_pieces + 12345, most}) {
    std::vector<std::byte> to(most + 2 * guard);
    copy_memory(to.data() + guard, from.data(), bytes);
    EXPECT_TRUE(std::equal(from.begin(), from.begin() + static_cast<std::ptrdiff_t>(bytes), &to[guard]))
        << bytes;
    for (std::size_t i = 0; i < guard; ++i) {
      EXPECT_EQ(to[i], std::byte{});
      EXPECT_EQ(to[guard + bytes + i], std::byte{}) << bytes;
    }
  }
}

}  // namespace
}  // namespace hawser
