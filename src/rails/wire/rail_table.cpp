#include "rails/wire/rail_table.h"

#include <cstring>
#include <span>

#include "base/failure.h"

namespace hawser {
namespace {

constexpr std::string_view version = "4:";
constexpr std::string_view digits = "0123456789abcdef";

// Launchers take values of some 1000 characters, and addresses are mostly zeroes: 'g' is one zero byte, 'h'
// two, up to 'z'.
constexpr std::size_t longest_run = 'z' - 'g' + 1;

void append(std::string& text, std::span<const unsigned char> bytes) {
  for (std::size_t i = 0; i < bytes.size();) {
    std::size_t zeroes = 0;
    while (i + zeroes < bytes.size() && zeroes < longest_run && bytes[i + zeroes] == 0) ++zeroes;
    if (zeroes > 0) {
      text += static_cast<char>('g' + (zeroes - 1));
      i += zeroes;
    } else {
      text += {digits[bytes[i] >> 4], digits[bytes[i] & 15]};
      ++i;
    }
  }
}

// False: these are no such bytes.
bool read(std::string_view text, std::vector<unsigned char>& bytes) {
  while (!text.empty()) {
    if (text[0] >= 'g' && text[0] <= 'z') {
      bytes.insert(bytes.end(), static_cast<std::size_t>(text[0] - 'g' + 1), 0);
      text.remove_prefix(1);
      continue;
    }
    if (text.size() < 2) return false;
    const std::size_t high = digits.find(text[0]), low = digits.find(text[1]);
    if (high == std::string_view::npos || low == std::string_view::npos) return false;
    bytes.push_back(static_cast<unsigned char>(high << 4 | low));
    text.remove_prefix(2);
  }
  return true;
}

}  // namespace

std::string RailTable::text() const {
  std::string text(version);
  append(text, {&up_at_start, 1});
  for (const RailAddress& rail : rails) {
    std::array<unsigned char, sizeof(RailAddress)> bytes;
    std::memcpy(bytes.data(), &rail, sizeof(rail));
    append(text, bytes);
  }
  return text;
}

Result<RailTable> RailTable::parse(std::string_view text) {
  std::vector<unsigned char> bytes;
  if (text.substr(0, version.size()) != version || !read(text.substr(version.size()), bytes) ||
      bytes.empty() || (bytes.size() - 1) % sizeof(RailAddress) != 0 ||
      (bytes.size() - 1) / sizeof(RailAddress) > max_rails)
    return failure(ErrorKind::other, "'{}' is no table of rails", text);
  RailTable table;
  table.up_at_start = bytes.front();
  for (std::size_t i = 1; i < bytes.size(); i += sizeof(RailAddress))
    std::memcpy(&table.rails.emplace_back(), &bytes[i], sizeof(RailAddress));
  return table;
}

}  // namespace hawser
