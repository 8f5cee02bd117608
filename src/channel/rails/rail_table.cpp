#include "channel/rails/rail_table.h"

#include <cstring>

#include "base/failure.h"
#include "channel/rails/packet.h"

namespace hawser {
namespace {

constexpr std::string_view version = "2:";
constexpr std::string_view digits = "0123456789abcdef";

// Of two digits; -1: they are none.
int byte_of(std::string_view text) {
  const std::size_t high = digits.find(text[0]), low = digits.find(text[1]);
  return high == std::string_view::npos || low == std::string_view::npos ? -1
                                                                         : static_cast<int>(high << 4 | low);
}

}  // namespace

std::string RailTable::text() const {
  std::string text(version);
  text += {digits[up_at_start >> 4], digits[up_at_start & 15]};
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
  const std::size_t head = version.size() + 2;
  if (text.size() < head || text.substr(0, version.size()) != version ||
      (text.size() - head) % rail_digits != 0 || (text.size() - head) / rail_digits > max_rails)
    return failure(ErrorClass::other, "'{}' is no table of rails", text);
  std::vector<unsigned char> bytes;
  for (text.remove_prefix(version.size()); !text.empty(); text.remove_prefix(2)) {
    const int byte = byte_of(text);
    if (byte < 0) return failure(ErrorClass::other, "'{}' in a table of rails", text.substr(0, 2));
    bytes.push_back(static_cast<unsigned char>(byte));
  }
  RailTable table;
  table.up_at_start = bytes.front();
  for (std::size_t i = 1; i < bytes.size(); i += sizeof(RailAddress))
    std::memcpy(&table.rails.emplace_back(), &bytes[i], sizeof(RailAddress));
  return table;
}

}  // namespace hawser
