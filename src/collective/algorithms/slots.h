// What stands in a slot of a v form's algorithm of two levels: how long the block is, and the block, or that
// the block goes by message because it fits no slot. Both ends of a block know which.
#pragma once

#include <algorithm>
#include <cstdint>
#include <cstring>

#include "collective/operation.h"

namespace hawser::algorithms {

// Of all blocks of its sender for others, a header also says how many there are and whether some of them fit
// no slot. In a scatterv, `has_long` says that slots are not right for them.
struct SlotHeader {
  static constexpr std::uint16_t by_message = 0xffff;

  std::uint16_t length = 0;
  std::uint16_t messages : 15 = 0;
  std::uint16_t has_long : 1 = 0;
};
static_assert(sizeof(SlotHeader) == 4);

// `header` says what is alike in all slots of this rank.
inline void fill_slot(Operation& operation, std::byte* slot, std::int64_t room, SlotHeader header,
                      const std::byte* block, std::int64_t bytes) {
  const std::int64_t some = bytes <= room ? bytes : 0;
  header.length = some == bytes ? static_cast<std::uint16_t>(bytes) : SlotHeader::by_message;
  std::memcpy(slot, &header, sizeof header);
  operation.copy(slot + sizeof header, block, some);
  std::memset(slot + sizeof header + some, 0, static_cast<std::size_t>(room - some));
}

// Takes out a block for which there are `bytes`; answers how many of them come by message.
inline std::int64_t empty_slot(Operation& operation, const std::byte* slot, std::int64_t room,
                               std::byte* block, std::int64_t bytes) {
  SlotHeader header;
  std::memcpy(&header, slot, sizeof header);
  const bool comes = header.length == SlotHeader::by_message;
  if (comes ? bytes <= room : bytes != header.length) [[unlikely]]
    operation.fail(other_amount());
  if (comes) return bytes;
  operation.copy(block, slot + sizeof header, std::min<std::int64_t>(bytes, header.length));
  return 0;
}

}  // namespace hawser::algorithms
