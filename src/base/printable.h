// Text of another process on its way to a terminal or a JSON document: bytes there can be anything, and an
// escape sequence would do to the terminal what it likes.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

namespace hawser {

// Replaces control characters, and what is not UTF-8, by question marks.
void make_printable(char* text, std::size_t size);

inline std::string printable(std::string_view text) {
  std::string copy(text);
  make_printable(copy.data(), copy.size());
  return copy;
}

}  // namespace hawser
