#include "channel/rails/rail_table.h"

#include <cstring>

#include "base/failure.h"
#include "channel/rails/packet.h"

namespace hawser {
namespace {

constexpr std::string_view digits = "0123456789abcdef";

}  // namespace

std::string RailTable::text() const {
  std::string text = "1:";  // the version
  for (const RailAddress& rail : rails) {
    std::array<unsigned char, sizeof(RailAddress)> bytes;
    std::memcpy(bytes.data(), &rail, sizeof(rail));
    for (const unsigned char byte : bytes) {
      text += digits[byte >> 4];
      text += digits[byte & 15];
    }
  }
  return text;
}

Result<RailTable> RailTable::parse(std::string_view text) {
  constexpr std::size_t rail_digits = 2 * sizeof(RailAddress);
  if (text.substr(0, 2) != "1:" || (text.size() - 2) % rail_digits != 0 ||
      (text.size() - 2) / rail_digits > max_rails)
    return failure(ErrorClass::other, "'{}' is no table of rails", text);
  text.remove_prefix(2);
  RailTable table;
  for (; !text.empty(); text.remove_prefix(rail_digits)) {
    std::array<unsigned char, sizeof(RailAddress)> bytes;
    for (std::size_t i = 0; i < rail_digits; ++i) {
      const std::size_t digit = digits.find(text[i]);
      if (digit == std::string_view::npos)
        return failure(ErrorClass::other, "'{}' in a table of rails", text[i]);
      unsigned char& byte = bytes[i / 2];
      byte = static_cast<unsigned char>(i % 2 == 0 ? digit << 4 : byte | digit);
    }
    std::memcpy(&table.rails.emplace_back(), bytes.data(), bytes.size());
  }
  return table;
}

}  // namespace hawser
