// Alltoallv and alltoallw of short blocks: each in a slot, and all slots by an alltoall of two levels. Longer
// blocks go by message afterwards.
#include <algorithm>
#include <cstring>

#include "collective/algorithms/algorithms.h"
#include "collective/algorithms/slots.h"
#include "collective/slot_use.h"

namespace hawser::algorithms {

namespace {

constexpr std::int64_t most_counted = 0x7fff;

std::byte* fill_slots(Operation& operation, std::int64_t room) {
  const Blocks& blocks = operation.plan.send;
  const int ranks = operation.size();
  const std::int64_t slot = slot_bytes(room);
  std::byte* const out = operation.scratch(ranks * slot);
  const SlotUse* const noted = operation.slot_use();
  const BlockUse use = noted != nullptr ? noted->last() : blocks_for_others(operation);
  SlotHeader header;
  header.messages = static_cast<std::uint16_t>(std::min(use.messages, most_counted)) & most_counted;
  header.has_long = use.longest > room;
  for (int r = 0; r < ranks; ++r)
    fill_slot(operation, out + r * slot, room, header, blocks.at(r),
              r == operation.rank() ? 0 : blocks.bytes(r));
  return out;
}

// Answers what all ranks have, the same on all. In left[r] is what has to come from rank r by message.
BlockUse empty_slots(Operation& operation, const std::byte* in, std::int64_t room, std::int64_t* left) {
  const Blocks& blocks = operation.plan.receive;
  const std::int64_t slot = slot_bytes(room);
  BlockUse all;
  for (int r = 0; r < operation.size(); ++r) {
    SlotHeader header;
    std::memcpy(&header, in + r * slot, sizeof header);
    all = all.joined({header.has_long != 0 ? room + 1 : 0, header.messages});
    left[r] =
        r == operation.rank() ? 0 : empty_slot(operation, in + r * slot, room, blocks.at(r), blocks.bytes(r));
  }
  return all;
}

Task send_long_blocks(Operation& operation, std::int64_t room, std::int64_t* receive_sizes) {
  const int ranks = operation.size();
  std::int64_t* const send_sizes = operation.scratch_numbers(ranks);
  for (int r = 0; r < ranks; ++r) {
    const std::int64_t bytes = operation.plan.send.bytes(r);
    send_sizes[r] = bytes > room ? bytes : 0;
  }
  operation.plan.send.sizes = send_sizes;
  operation.plan.receive.sizes = receive_sizes;
  return alltoall_linear(operation);
}

}  // namespace

BlockUse blocks_for_others(const Operation& operation) {
  const Plan& plan = operation.plan;
  const Blocks& blocks = operation.call.kind == Collective::gatherv ? plan.receive : plan.send;
  BlockUse use;
  for (int r = 0; r < operation.size(); ++r) {
    const std::int64_t bytes = r == operation.rank() ? 0 : blocks.bytes(r);
    use = use.joined({bytes, bytes > 0 ? 1 : 0});
  }
  return use;
}

std::int64_t slot_bytes(std::int64_t room) { return static_cast<std::int64_t>(sizeof(SlotHeader)) + room; }

Task alltoallv_two_level(Operation& operation) {
  const Blocks given = operation.plan.send;
  const Blocks result = operation.plan.receive;
  const std::int64_t room = operation.slots().room;
  const std::int64_t slot = slot_bytes(room);
  std::byte* const out = fill_slots(operation, room);
  std::byte* const in = operation.scratch(operation.size() * slot);
  operation.plan.send = Blocks{out, slot};
  operation.plan.receive = Blocks{in, slot};
  co_await alltoall_two_level(operation);
  std::memcpy(in + operation.rank() * slot, out + operation.rank() * slot, sizeof(SlotHeader));
  operation.plan.send = given;
  operation.plan.receive = result;
  std::int64_t* const left = operation.scratch_numbers(operation.size());
  const BlockUse all = empty_slots(operation, in, room, left);
  operation.note_slots(all);
  co_await send_long_blocks(operation, room, left);
  operation.plan.send = given;
  operation.plan.receive = result;
}

}  // namespace hawser::algorithms
