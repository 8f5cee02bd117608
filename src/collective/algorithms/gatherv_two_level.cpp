// Gatherv of short blocks: each in a slot, and all slots by a gather of two levels. Longer blocks go by
// message afterwards.
#include "collective/algorithms/algorithms.h"
#include "collective/algorithms/slots.h"

namespace hawser::algorithms {

Task gatherv_two_level(Operation& operation) {
  const Blocks own = operation.plan.send;
  const Blocks result = operation.plan.receive;
  const bool at_root = operation.rank() == operation.plan.root;
  const std::int64_t room = operation.slots().room;
  const std::int64_t slot = slot_bytes(room);
  std::byte* const slots = operation.scratch(at_root ? operation.size() * slot : slot);
  if (!at_root) fill_slot(operation, slots, room, {}, own.base, own.size);
  operation.plan.send = at_root ? Blocks{} : Blocks{slots, slot};
  operation.plan.receive = at_root ? Blocks{slots, slot} : Blocks{};
  co_await gather_two_level(operation);
  operation.note_root_slots(false);
  operation.plan.send = own;
  operation.plan.receive = result;
  if (at_root) {
    for (int r = 0; r < operation.size(); ++r) {
      if (r == operation.rank()) continue;
      const std::int64_t left = empty_slot(operation, slots + r * slot, room, result.at(r), result.bytes(r));
      if (left > 0) operation.receive(r, result.at(r), left);
    }
  } else if (own.size > room) {
    operation.send(operation.plan.root, own.base, own.size);
  }
  co_await operation.arrived();
}

}  // namespace hawser::algorithms
