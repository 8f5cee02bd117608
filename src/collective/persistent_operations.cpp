// What CollectiveEngine does for persistent operations.
#include <bit>

#include "collective/algorithms/algorithms.h"
#include "collective/engine.h"
#include "collective/record.h"
#include "collective/shared/persistent_choice.h"

namespace hawser {

namespace {

// What each rank puts into its buffer, if there is room; or nothing.
std::int64_t buffered_bytes(const CollectiveCall& call, std::int64_t bytes, int ranks) {
  switch (call.kind) {
    case Collective::barrier:
    case Collective::broadcast:
    case Collective::scatter:
      return 0;
    case Collective::alltoall:
      return bytes * (ranks - 1);
    default:
      return bytes;
  }
}

// Rank 0 takes one more area and tells the others.
Task take_persistent_area(Operation& operation, int place, int parts, int& area) {
  if (operation.rank() == 0) {
    co_await take_area(operation, place, operation.size(), 1, area);
    if (area != AreaPool::no_area)
      operation.engine().area_pool().clear_part(place, area, operation.size(), parts);
  }
  operation.plan = Plan{};
  operation.plan.receive.base = reinterpret_cast<std::byte*>(&area);
  operation.plan.receive.size = sizeof area;
  co_await algorithms::broadcast_binomial(operation);
}

Communicator& communicator_of(const Operation& operation) {
  return static_cast<Communicator&>(*operation.communicator);
}

}  // namespace

// The area of a part for the first time. Null: there was none left.
std::unique_ptr<PersistentParts> CollectiveEngine::take_area_for_parts(Communicator& communicator,
                                                                       int parts) {
  const int place = place_of(communicator.group()->process_of(0));
  const int ranks = communicator.size();
  int area = no_area;
  const Result<> told = run_task(communicator, [&area, place, parts](Operation& operation) {
    return take_persistent_area(operation, place, parts, area);
  });
  if (!told || area == no_area) return nullptr;
  const MemoryBlock memory{areas_->address(place, area), areas_->area_bytes()};
  return std::make_unique<PersistentParts>(memory, area, ranks, parts, background_runs_);
}

// Which parts are free on all ranks. None, if not all want one, as in a program that gives different amounts.
std::uint64_t CollectiveEngine::agree_on_parts(Communicator& communicator, std::uint64_t free) {
  CollectiveRecord& record = CollectiveRecord::of(communicator);
  BackgroundQueue& in_node = *record.in_node;
  if (!in_node.empty()) progress_.wait_until([&in_node] { return in_node.empty(); });
  const Result<> told =
      run_shared(in_node.shared(), [&free](SharedCollectives& shared) { free = shared.common_bits(free); });
  return told ? free : 0;
}

// A part for a persistent operation; null: it goes by messages. If a process fails meanwhile, some ranks may
// have one and others not, but then nothing is started on this communicator any more.
PersistentPart* CollectiveEngine::take_part(Communicator& communicator, const CollectiveCall& call) {
  CollectiveRecord& record = CollectiveRecord::of(communicator);
  if (record.in_node == nullptr || call.neighbors != nullptr || is_vector_form(call.kind)) return nullptr;
  if (record.persistent == nullptr)
    record.persistent = std::make_unique<PersistentAreas>(areas_->area_bytes(), communicator.size());
  PersistentAreas& areas = *record.persistent;
  if (communicator.rank() == 0 && areas.first() != nullptr) areas.first()->make_one_ready();
  SharedCollectives& in_node = record.in_node->shared();
  std::uint64_t free = 0;
  const std::int64_t bytes = in_node.amount_of(call);
  if (possible_way_in_background(communicator, call) != Way::messages &&
      pays_in_part(call.kind, bytes, communicator.size(), areas_->crowded()))
    free = areas.are_parts_enough(buffered_bytes(call, bytes, communicator.size())) ? areas.free_parts()
                                                                                    : areas.free_areas();
  free = agree_on_parts(communicator, free);
  if (free == 0) return nullptr;
  const int index = std::countr_zero(free);
  if (areas.area_of(index) == nullptr)
    areas.add_area(index, take_area_for_parts(communicator, areas.parts_of_area(index)));
  PersistentParts* const area = areas.area_of(index);
  if (area == nullptr) return nullptr;
  PersistentPart& part = area->take(PersistentAreas::place_in_area(index),
                                    [&](MemoryBlock memory) { return share(memory, communicator); });
  part.queue.shared().take_ways_of(in_node);
  return &part;
}

Result<> CollectiveEngine::prepare(Communicator& communicator, const CollectiveCall& call,
                                   Request*& request) {
  PersistentPart* const part = take_part(communicator, call);
  Operation& operation = take();
  operation.persistent = true;
  operation.active = false;
  operation.background = true;
  operation.part = part;
  operation.call = call;
  operation.communicator = Ref<Counted>(&communicator);
  keep_call(operation, communicator);
  begin(operation, communicator);
  operation.skip();
  operation.complete = true;
  request = &operation;
  return {};
}

void CollectiveEngine::start_again(Operation& operation) {
  if (operation.part != nullptr)
    return start_shared(operation, communicator_of(operation), operation.part->queue);
  operation.begin_again();
  launch_in_background(operation);
}

}  // namespace hawser
