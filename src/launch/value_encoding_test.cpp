#include "launch/value_encoding.h"

#include <gtest/gtest.h>

#include "launch/pmi_wire.h"

namespace hawser {
namespace {

std::string some_bytes(std::size_t size) {
  std::string bytes;
  for (std::size_t i = 0; i < size; ++i) bytes += static_cast<char>(i * 37 + i / 256);
  return bytes;
}

TEST(ValueEncoding, EveryLengthComesBack) {
  for (const std::size_t size : {0, 1, 2, 3, 14, 15, 16, 50, 700, 1023, 1024, 5000}) {
    const std::string value = some_bytes(size);
    for (const std::size_t limit : {32, 100, 1023}) {
      const auto parts = encode_value(value, limit);
      for (const std::string& part : parts) {
        EXPECT_LE(part.size(), limit);
        EXPECT_EQ(part.find_first_of(" \n="), std::string::npos);
      }
      EXPECT_EQ(count_parts(parts[0]).value(), static_cast<int>(parts.size()));
      EXPECT_EQ(decode_value(parts).value(), value);
    }
  }
}

TEST(ValueEncoding, DamageIsAnError) {
  EXPECT_FALSE(decode_value({}));
  EXPECT_FALSE(decode_value({"abc"}));
  EXPECT_FALSE(decode_value({"0:abc"}));
  EXPECT_FALSE(decode_value({"2:abc"}));
  EXPECT_FALSE(decode_value({"1:a$c"}));
}

TEST(ValueEncoding, LongestKeyFits) {
  EXPECT_LT(part_key(9'999'999, std::string(40, 'k'), 9999).size(), static_cast<std::size_t>(pmi::key_limit));
}

}  // namespace
}  // namespace hawser
