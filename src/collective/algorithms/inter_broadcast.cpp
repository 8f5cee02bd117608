// Broadcast from one process to the other group: to its first rank, which passes it on. The amounts are equal
// on both sides, the types need not be.
#include "collective/algorithms/inter.h"
#include "collective/place.h"

namespace hawser::algorithms {

Task inter_broadcast(Operation& operation) {
  const CollectiveCall& call = operation.call;
  if (call.root == proc_null) co_return;
  const Place data = whole(call.receive);
  if (call.root == root_rank) {
    operation.send_elements(0, data.buffer, data.count, *data.type);
    co_await operation.arrived();
    co_return;
  }
  std::byte* bytes = data.plain() ? data.first_byte() : operation.scratch(data.bytes());
  if (operation.rank() == 0) {
    operation.receive(call.root, bytes, data.bytes());
    co_await operation.arrived();
  }
  co_await inter_spread(operation, bytes, data.bytes());
  if (!data.plain()) unpack(bytes, data);
}

}  // namespace hawser::algorithms
