#include "launch/value_encoding.h"

#include <array>
#include <charconv>
#include <cstdint>

#include "base/failure.h"

namespace hawser {

namespace {

constexpr std::string_view alphabet = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";

constexpr std::array<std::int8_t, 256> make_digits() {
  std::array<std::int8_t, 256> digits{};
  digits.fill(-1);
  for (std::size_t i = 0; i < alphabet.size(); ++i)
    digits[static_cast<unsigned char>(alphabet[i])] = static_cast<std::int8_t>(i);
  return digits;
}
constexpr std::array<std::int8_t, 256> digits = make_digits();

}  // namespace

// Without the usual `=` padding, which would look like a key on the wire; the length says it all.
std::string encode_base64(std::string_view bytes) {
  std::string text;
  text.reserve((bytes.size() * 4 + 2) / 3);
  std::uint32_t bits = 0;
  int bit_count = 0;
  for (const char c : bytes) {
    bits = bits << 8 | static_cast<unsigned char>(c);
    for (bit_count += 8; bit_count >= 6; bit_count -= 6) text += alphabet[bits >> (bit_count - 6) & 63];
  }
  if (bit_count > 0) text += alphabet[bits << (6 - bit_count) & 63];
  return text;
}

Result<std::string> decode_base64(std::string_view text) {
  std::string bytes;
  bytes.reserve(text.size() * 3 / 4);
  std::uint32_t bits = 0;
  int bit_count = 0;
  for (const char c : text) {
    const int digit = digits[static_cast<unsigned char>(c)];
    if (digit < 0) return failure(ErrorKind::other, "the launcher returned a damaged value '{}'", text);
    bits = bits << 6 | static_cast<std::uint32_t>(digit);
    bit_count += 6;
    if (bit_count < 8) continue;
    bit_count -= 8;
    bytes += static_cast<char>(bits >> bit_count & 255);
  }
  return bytes;
}

std::vector<std::string> encode_value(std::string_view value, std::size_t part_limit) {
  HAWSER_ASSERT(part_limit >= 32);
  const std::string text = encode_base64(value);
  const std::size_t first_limit = part_limit - 12;  // room for the count and its colon
  const std::size_t parts =
      text.size() <= first_limit ? 1 : 1 + (text.size() - first_limit + part_limit - 1) / part_limit;
  std::vector<std::string> result;
  result.push_back(fmt::format("{}:{}", parts, std::string_view(text).substr(0, first_limit)));
  for (std::size_t begin = first_limit; begin < text.size(); begin += part_limit)
    result.push_back(text.substr(begin, part_limit));
  return result;
}

Result<int> count_parts(std::string_view first_part) {
  int count = 0;
  const char* end = first_part.data() + first_part.size();
  const auto [rest, error] = std::from_chars(first_part.data(), end, count);
  if (error != std::errc{} || rest == end || *rest != ':' || count < 1)
    return failure(ErrorKind::other, "the launcher returned a damaged value '{}'", first_part);
  return count;
}

Result<std::string> decode_value(const std::vector<std::string>& parts) {
  if (parts.empty()) return failure(ErrorKind::other, "the launcher returned no value");
  const Result<int> count = count_parts(parts[0]);
  if (!count) return Error(count.error());
  if (static_cast<std::size_t>(count.value()) != parts.size())
    return failure(ErrorKind::other, "the launcher returned {} of {} parts of a value", parts.size(),
                   count.value());
  std::string text = parts[0].substr(parts[0].find(':') + 1);
  for (std::size_t i = 1; i < parts.size(); ++i) text += parts[i];
  return decode_base64(text);
}

std::string part_key(int rank, std::string_view key, int part) {
  return fmt::format("h{}.{}.{}", rank, key, part);
}

}  // namespace hawser
