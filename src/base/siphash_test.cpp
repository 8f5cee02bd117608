#include "base/siphash.h"

#include <gtest/gtest.h>

#include <vector>

namespace hawser {
namespace {

// Key 00 01 .. 0f, message 00 01 .. (length - 1).
std::uint64_t of_length(std::size_t length) {
  std::vector<std::byte> message(length);
  for (std::size_t i = 0; i < length; ++i) message[i] = static_cast<std::byte>(i);
  return siphash({0x0706050403020100, 0x0f0e0d0c0b0a0908}, message);
}

// The vectors of the authors' reference implementation, read as little-endian words.
TEST(SipHash, PublishedVectors) {
  constexpr std::uint64_t expected[] = {0x726fdb47dd0e0e31, 0x74f839c593dc67fd, 0x0d6c8009d9a94f5a,
                                        0x85676696d7fb7e2d, 0xcf2794e0277187b7, 0x18765564cd99a68d,
                                        0xcbc9466e58fee3ce, 0xab0200f58b01d137, 0x93f5f5799a932462};
  for (std::size_t length = 0; length < std::size(expected); ++length)
    EXPECT_EQ(of_length(length), expected[length]) << length;
  EXPECT_EQ(of_length(15), 0xa129ca6149be45e5);  // appendix A of the paper
}

TEST(SipHash, EveryBitOfKeyAndMessageCounts) {
  std::vector<std::byte> message(40);
  const std::uint64_t plain = siphash({1, 2}, message);
  for (std::size_t bit = 0; bit < message.size() * 8; ++bit) {
    message[bit / 8] ^= static_cast<std::byte>(1u << bit % 8);
    EXPECT_NE(siphash({1, 2}, message), plain);
    message[bit / 8] ^= static_cast<std::byte>(1u << bit % 8);
  }
  for (int bit = 0; bit < 64; ++bit) {
    EXPECT_NE(siphash({1 ^ (std::uint64_t{1} << bit), 2}, message), plain);
    EXPECT_NE(siphash({1, 2 ^ (std::uint64_t{1} << bit)}, message), plain);
  }
}

}  // namespace
}  // namespace hawser
