// Scatterv of short blocks: each in a slot, and all slots by a scatter of two levels. Longer blocks go by
// message afterwards.
#include "collective/algorithms/algorithms.h"
#include "collective/algorithms/slots.h"

namespace hawser::algorithms {

Task scatterv_two_level(Operation& operation) {
  const Blocks given = operation.plan.send;
  const Blocks own = operation.plan.receive;
  const bool at_root = operation.rank() == operation.plan.root;
  const std::int64_t room = operation.slots().room;
  const std::int64_t slot = slot_bytes(room);
  std::byte* const slots = operation.scratch(at_root ? operation.size() * slot : slot);
  const RootSlotUse* const use = operation.root_slot_use();
  // What all ranks hear.
  SlotHeader header{};
  header.has_long = at_root && use != nullptr && use->unfit_for(blocks_for_others(operation));
  for (int r = 0; at_root && r < operation.size(); ++r)
    fill_slot(operation, slots + r * slot, room, header, given.at(r),
              r == operation.rank() ? 0 : given.bytes(r));
  operation.plan.send = at_root ? Blocks{slots, slot} : Blocks{};
  operation.plan.receive = at_root ? Blocks{} : Blocks{slots, slot};
  co_await scatter_two_level(operation);
  if (!at_root) std::memcpy(&header, slots, sizeof header);
  operation.note_root_slots(header.has_long != 0);
  operation.plan.send = given;
  operation.plan.receive = own;
  if (at_root) {
    for (int r = 0; r < operation.size(); ++r)
      if (r != operation.rank() && given.bytes(r) > room) operation.send(r, given.at(r), given.bytes(r));
  } else if (const std::int64_t left = empty_slot(operation, slots, room, own.base, own.size); left > 0) {
    operation.receive(operation.plan.root, own.base, left);
  }
  co_await operation.arrived();
}

}  // namespace hawser::algorithms
