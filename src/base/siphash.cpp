#include "base/siphash.h"

#include <bit>
#include <cstring>

namespace hawser {
namespace {

static_assert(std::endian::native == std::endian::little, "words are read as they lie in memory");

struct State {
  std::uint64_t a, b, c, d;

  void round() {
    a += b;
    b = std::rotl(b, 13) ^ a;
    a = std::rotl(a, 32);
    c += d;
    d = std::rotl(d, 16) ^ c;
    a += d;
    d = std::rotl(d, 21) ^ a;
    c += b;
    b = std::rotl(b, 17) ^ c;
    c = std::rotl(c, 32);
  }
  void absorb(std::uint64_t word) {
    d ^= word;
    round();
    round();
    a ^= word;
  }
};

}  // namespace

std::uint64_t siphash(const std::array<std::uint64_t, 2>& key, std::span<const std::byte> bytes) {
  State state{key[0] ^ 0x736f6d6570736575, key[1] ^ 0x646f72616e646f6d, key[0] ^ 0x6c7967656e657261,
              key[1] ^ 0x7465646279746573};
  std::uint64_t word = 0;
  std::size_t at = 0;
  for (; at + sizeof word <= bytes.size(); at += sizeof word) {
    std::memcpy(&word, &bytes[at], sizeof word);
    state.absorb(word);
  }
  word = 0;
  if (at < bytes.size()) std::memcpy(&word, &bytes[at], bytes.size() - at);
  state.absorb(word | (std::uint64_t{bytes.size()} << 56));
  state.c ^= 0xff;
  for (int i = 0; i < 4; ++i) state.round();
  return state.a ^ state.b ^ state.c ^ state.d;
}

}  // namespace hawser
