#include "testbed/campaign/buffers.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <stdexcept>

namespace hawser {
namespace {

using ::testing::HasSubstr;

TEST(Buffers, PayloadIsFoundWrongAtTheByte) {
  std::vector<std::byte> bytes(100);
  fill_payload(bytes.data(), bytes.size(), 5);
  EXPECT_EQ(find_payload_error(bytes.data(), bytes.size(), 5), -1);
  bytes[57] ^= std::byte{1};
  EXPECT_EQ(find_payload_error(bytes.data(), bytes.size(), 5), 57);
  bytes[57] ^= std::byte{1};
  EXPECT_LE(find_payload_error(bytes.data(), bytes.size(), 6), 8);
}

TEST(Buffers, AWriteThatIsLateIsFound) {
  Buffers buffers;
  const auto buffer = buffers.take(1000, true);
  buffers.give_back(buffer);
  EXPECT_EQ(buffers.find_damage(), "");
  buffer.data[999] = std::byte{1};
  EXPECT_THAT(buffers.find_damage(), HasSubstr("a late write: byte 999"));
  EXPECT_THROW(buffers.take(1000, true), std::runtime_error);
  EXPECT_NO_THROW(buffers.take(1000, false));
}

TEST(Buffers, AWriteBesideIsFound) {
  Buffers buffers;
  const auto before = buffers.take(10, true), behind = buffers.take(10, true);
  behind.data[10] = std::byte{1};
  EXPECT_THROW(buffers.give_back(behind), std::runtime_error);
  before.data[-1] = std::byte{1};
  EXPECT_THAT(buffers.find_damage(), HasSubstr("1 bytes before"));
}

TEST(Buffers, SmallerUseOfABufferIsGuardedAtItsEnd) {
  Buffers buffers;
  const auto large = buffers.take(200, true);
  buffers.give_back(large);
  const auto small = buffers.take(150, true);
  EXPECT_EQ(small.data, large.data);
  small.data[150] = std::byte{1};
  EXPECT_THAT(buffers.find_damage(), HasSubstr("the byte 0 behind a buffer of 150"));
}

}  // namespace
}  // namespace hawser
