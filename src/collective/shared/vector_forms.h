// Gatherv, scatterv, alltoallv and alltoallw: no rank knows all amounts, but both ends of each block know how
// long it is. So they agree, without asking, on how it goes: through the sender's line or buffer if it is
// short, by message otherwise.
#pragma once

#include "collective/place.h"

namespace hawser {

constexpr bool is_vector_form(Collective kind) {
  return kind == Collective::gatherv || kind == Collective::scatterv || kind == Collective::alltoallv ||
         kind == Collective::alltoallw;
}

// Of ranks that have cores of their own; more use messages.
inline constexpr int most_of_vector_forms = 64;

// Which blocks are short.
struct ShortBlocks {
  std::int64_t longest;
  bool all;  // up to that; else not those that a message brings as fast
  bool have(std::int64_t bytes) const {
    // Where two ranks have cores without a common L3, a message of 4 KiB takes 0.36 us and a buffer 0.55.
    constexpr std::int64_t last_before = 2 << 10, first_after = 16 << 10;
    return bytes <= longest && (all || bytes <= last_before || bytes > first_after);
  }
};

// The block that rank `own` has for another one, and that it expects from another one. Of no bytes where
// there is none, and then perhaps without a type.
Place outgoing(const CollectiveCall& call, int own, int to);
Place incoming(const CollectiveCall& call, int own, int from);
inline std::int64_t length(const Place& place) { return place.count == 0 ? 0 : place.bytes(); }

}  // namespace hawser
