#include "rails/protocol/window_token.h"

#include <cstring>

#include "base/assert.h"
#include "base/crc32c.h"

namespace hawser {
namespace {

// The words of a token.
struct TokenBody {
  std::uint32_t check = 0;  // CRC-32C of what follows
  std::uint32_t place = 0;
  std::uint64_t size = 0;  // and 16 bits of the generation above it
  RemoteBytes bytes;
};
static_assert(sizeof(TokenBody) == sizeof(WindowToken));

constexpr int size_bits = 48;

std::uint32_t check_of(const TokenBody& body) {
  return crc32c(std::as_bytes(std::span(&body, 1)).subspan(sizeof(body.check)));
}

}  // namespace

WindowToken token_of(const WindowAddress& window) {
  HAWSER_ASSERT(window.size >= 0 && window.size <= largest_window);
  TokenBody body;
  body.place = window.name.place;
  body.size = static_cast<std::uint64_t>(window.size) | std::uint64_t{window.name.generation} << size_bits;
  body.bytes = window.bytes;
  body.check = check_of(body);
  WindowToken token;
  std::memcpy(token.words, &body, sizeof(body));
  return token;
}

std::optional<WindowAddress> read_token(const WindowToken& token) {
  TokenBody body;
  std::memcpy(static_cast<void*>(&body), token.words, sizeof(body));
  if (body.check != check_of(body)) return std::nullopt;
  return WindowAddress{{body.place, static_cast<std::uint32_t>(body.size >> size_bits)},
                       static_cast<std::int64_t>(body.size & largest_window),
                       body.bytes};
}

}  // namespace hawser
