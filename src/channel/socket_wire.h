// What goes over a socket between two processes. A connection carries packets one way only, from the process
// that made it: two processes that talk have two connections, so ends that connect at the same time need no
// agreement, and closing one never discards bytes on their way in the other direction. First a Hello, which
// is answered by a Welcome (the only thing that goes the other way), then frames, each followed by `body`
// bytes. Until the welcome nothing is lost if the connection ends: it is made anew. Numbers are in the
// sender's byte order, which the Hello proves equal.
#pragma once

#include <cstdint>

#include "channel/transport.h"

namespace hawser {

struct SocketHello {
  static constexpr std::uint64_t expected_magic = 0x4841'5753'4552'0003;  // with the version in the low half
  std::uint64_t magic = expected_magic;
  std::uint64_t secret[2] = {};  // of the process connected to, from the launcher's exchange
  std::int32_t source = 0;
  std::int32_t reserved = 0;
};
static_assert(sizeof(SocketHello) == 32, "on the wire as it is");

struct SocketWelcome {
  std::uint64_t magic = SocketHello::expected_magic;
};

struct SocketFrame {
  enum Kind : std::uint32_t {
    packet = 1,  // header; body: payload
    expose,      // header; number: the sender's of the exposed bytes, size: theirs
    pull,        // number: as exposed, fetch: the receiver's, size: bytes wanted
    data,        // fetch, position; body: bytes
    done,        // number: as exposed; no bytes (more) are wanted
    goodbye,     // the last one: the process leaves the job. Whoever goes without has died
  };
  std::uint32_t kind = 0;
  std::uint32_t body = 0;
  std::uint32_t number = 0;
  std::uint32_t fetch = 0;
  std::int64_t position = 0;
  std::int64_t size = 0;
  TransportHeader header;
};
static_assert(sizeof(SocketFrame) == 56, "on the wire as it is");

}  // namespace hawser
