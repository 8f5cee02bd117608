#include "base/crc32c.h"

#include <gtest/gtest.h>

#include <string_view>
#include <vector>

#include "base/random.h"

namespace hawser {
namespace {

std::uint32_t of(std::string_view text) { return crc32c(std::as_bytes(std::span(text.data(), text.size()))); }

// RFC 3720, appendix B.4, and the check value of the catalogues.
TEST(Crc32c, KnownValues) {
  EXPECT_EQ(of("123456789"), 0xE3069283u);
  EXPECT_EQ(of(std::string_view("")), 0u);
  const std::vector<std::byte> zeros(32), ones(32, std::byte{0xFF});
  EXPECT_EQ(crc32c(zeros), 0x8A9136AAu);
  EXPECT_EQ(crc32c(ones), 0x62A8AB43u);
}

TEST(Crc32c, InstructionAndTablesAgreeAtAnyLengthAndCut) {
  Random random(3);
  std::vector<std::byte> bytes(300);
  for (std::byte& byte : bytes) byte = static_cast<std::byte>(random.next());
  for (std::size_t size = 0; size < bytes.size(); size += 1 + size / 9) {
    const std::span<const std::byte> whole(bytes.data(), size);
    EXPECT_EQ(crc32c(whole), crc32c_by_tables(whole));
    const std::size_t cut = size == 0 ? 0 : random.below(size);
    EXPECT_EQ(crc32c(whole.subspan(cut), crc32c(whole.first(cut))), crc32c(whole));
  }
}

}  // namespace
}  // namespace hawser
