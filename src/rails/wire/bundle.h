// A bundle: several small messages in one packet. Behind the PacketHeader each has its TransportHeader, whose
// channel_word says how many bytes of payload follow, and these, filled up to a multiple of eight.
#pragma once

#include <cstddef>
#include <span>

#include "channel/transport.h"
#include "rails/wire/packet.h"

namespace hawser {

// What a message with so many bytes of payload takes of a bundle.
inline constexpr std::size_t bundled_bytes(std::size_t payload) {
  return sizeof(TransportHeader) + ((payload + 7) & ~std::size_t{7});
}

// Calls take(header, payload) for each message in what is behind the PacketHeader. False: no process of this
// job makes such a bundle; what came before was taken.
template <class Take>
bool for_each_bundled(std::span<const std::byte> rest, Take&& take) {
  if (rest.empty()) return false;
  while (!rest.empty()) {
    TransportHeader header;
    if (!read_body(rest, 0, header) || bundled_bytes(header.channel_word) > rest.size()) return false;
    take(header, rest.subspan(sizeof(header), header.channel_word));
    rest = rest.subspan(bundled_bytes(header.channel_word));
  }
  return true;
}

}  // namespace hawser
