#include "collective/agreed_distances.h"

#include "collective/algorithms/algorithms.h"
#include "collective/engine.h"
#include "collective/record.h"

namespace hawser {

// Up a binomial tree, and down again.
Task agree_on(Operation& operation, AgreedFacts& facts) {
  const int rank = operation.rank(), size = operation.size();
  auto* const own = reinterpret_cast<std::byte*>(&facts);
  for (int distance = 1; distance < size; distance *= 2) {
    if ((rank & distance) != 0) {
      operation.send(rank - distance, own, sizeof(AgreedFacts));
      co_await operation.arrived();
      break;
    }
    if (rank + distance >= size) continue;
    AgreedFacts other;
    operation.receive(rank + distance, reinterpret_cast<std::byte*>(&other), sizeof(AgreedFacts));
    co_await operation.arrived();
    facts = {facts.seen.joined(other.seen), facts.blocks.joined(other.blocks),
             facts.gathered.joined(other.gathered), facts.scattered.joined(other.scattered)};
  }
  operation.plan = Plan{};
  operation.plan.receive.base = own;
  operation.plan.receive.size = sizeof(AgreedFacts);
  co_await algorithms::broadcast_binomial(operation);
}

void CollectiveRecord::use_slots(Operation& operation) {
  switch (operation.call.kind) {
    case Collective::alltoallv:
    case Collective::alltoallw:
      return operation.use_slots(slots);
    case Collective::gatherv:
      return operation.use_slots(gatherv_slots);
    case Collective::scatterv:
      return operation.use_slots(scatterv_slots);
    default:
      return;
  }
}

void note_blocks(Operation& operation) {
  if (SlotUse* const slots = operation.slot_use()) slots->note(algorithms::blocks_for_others(operation));
  RootSlotUse* const slots = operation.root_slot_use();
  if (slots == nullptr) return;
  slots->begin();
  if (operation.rank() == operation.plan.root) slots->note(algorithms::blocks_for_others(operation));
}

// What ranks know of rails and of each other's blocks differs, and all must choose the same algorithm.
Result<> CollectiveEngine::agree_on_facts(Communicator& communicator) {
  CollectiveRecord& record = CollectiveRecord::of(communicator);
  AgreedFacts facts{links_->rail_distances(), record.slots.last(), record.gatherv_slots.seen(),
                    record.scatterv_slots.seen()};
  HAWSER_TRY(run_task(communicator, [&facts](Operation& operation) { return agree_on(operation, facts); }));
  record.distances.agree(facts.seen.distances());
  record.slots.agree(facts.blocks, communicator.size());
  record.gatherv_slots.agree(facts.gathered);
  record.scatterv_slots.agree(facts.scattered);
  return {};
}

}  // namespace hawser
