// MulticastReceive: a broadcast that is to come in by packets of its root, perhaps by other ways.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "base/intrusive_list.h"
#include "collective/multicast/multicast_wire.h"

namespace hawser {

struct MulticastReceive {
  std::int32_t root = 0;  // rank
  std::int32_t tag = 0;
  std::byte* into = nullptr;
  std::int64_t bytes = 0;
  std::int64_t arrived = 0;
  bool expected = true;       // packets are missed if they do not come
  std::uint32_t flags = 0;    // of its packets
  bool differs = false;       // the root sends another amount
  bool begun = false;         // some of it came by multicast, and so the rest will come
  bool done = false;          // all of it came by multicast
  std::int64_t in_order = 0;  // bytes at the beginning that have come
  struct Piece {
    std::int64_t begin, end;
  };
  std::vector<Piece> ahead;  // of bytes that have not come, no more than a root's window
  ListLink link;

  // A packet of this broadcast that did not come before.
  void place(const MulticastHeader& header, std::span<const std::byte> packet);
};

}  // namespace hawser
