// Open addressing with linear probing: what hash tables of a power of two slots share.
#pragma once

#include <cstddef>

namespace hawser {

// The slot `hole` was freed. Who came to lie behind it because it was taken moves up, so that searches find
// no gap. taken(i): whether slot i is; wanted(i): where its search begins; move(from, to). Answers the slot
// that is free in the end.
template <class Taken, class Wanted, class Move>
std::size_t close_gap(std::size_t hole, std::size_t mask, Taken taken, Wanted wanted, Move move) {
  for (std::size_t i = (hole + 1) & mask; taken(i); i = (i + 1) & mask) {
    if (((i - wanted(i)) & mask) < ((i - hole) & mask)) continue;
    move(i, hole);
    hole = i;
  }
  return hole;
}

}  // namespace hawser
