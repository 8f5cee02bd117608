#include "base/printable.h"

#include <cstdint>

namespace hawser {
namespace {

// The length of the character that `text` begins with, if it is a printable one; else 0.
std::size_t printable_length(const char* text, std::size_t size) {
  const auto byte = [text](std::size_t i) { return static_cast<unsigned char>(text[i]); };
  if (byte(0) < 0x80) return byte(0) >= 0x20 && byte(0) != 0x7f ? 1 : 0;
  const std::size_t length = byte(0) >= 0xf0 ? 4 : byte(0) >= 0xe0 ? 3 : 2;
  if (byte(0) < 0xc2 || byte(0) > 0xf4 || length > size) return 0;
  std::uint32_t code = byte(0) & (0xff >> (length + 1));
  for (std::size_t i = 1; i < length; ++i) {
    if ((byte(i) & 0xc0) != 0x80) return 0;
    code = code << 6 | (byte(i) & 0x3f);
  }
  constexpr std::uint32_t least[] = {0, 0, 0xa0, 0x800,
                                     0x10000};  // up to U+009F there are control characters
  const bool surrogate = code >= 0xd800 && code <= 0xdfff;
  return code >= least[length] && code <= 0x10ffff && !surrogate ? length : 0;
}

}  // namespace

void make_printable(char* text, std::size_t size) {
  for (std::size_t at = 0; at < size;) {
    const std::size_t length = printable_length(text + at, size - at);
    if (length == 0) text[at] = '?';
    at += length == 0 ? 1 : length;
  }
}

}  // namespace hawser
