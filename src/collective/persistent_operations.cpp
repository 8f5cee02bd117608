// What CollectiveEngine does for persistent operations.
#include <bit>
#include <string_view>
#include <utility>

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

using Division = PersistentParts::Division;

// Rank 0 takes one more area and tells the others.
Task take_persistent_area(Operation& operation, SharedAreas& areas, int place, Division division, int& area) {
  if (operation.rank() == 0) {
    co_await take_area(operation, place, operation.size(), 1, area);
    if (area != AreaPool::no_area)
      PersistentParts::make_first_ready({areas.address(place, area), areas.area_bytes()}, division);
  }
  operation.plan = Plan{};
  operation.plan.receive.base = reinterpret_cast<std::byte*>(&area);
  operation.plan.receive.size = sizeof area;
  co_await algorithms::broadcast_binomial(operation);
}

// The first rank hears which parts are free on the others, and tells all which are on each of them.
Task agree_on_free_parts(Operation& operation, std::uint64_t& free) {
  const auto bytes = [](std::uint64_t* number) { return reinterpret_cast<std::byte*>(number); };
  const int ranks = operation.size();
  std::uint64_t common = free;
  if (operation.rank() == 0) {
    auto* const others = reinterpret_cast<std::uint64_t*>(operation.scratch_numbers(ranks));
    for (int r = 1; r < ranks; ++r) operation.receive(r, bytes(others + r), sizeof free);
    co_await operation.arrived();
    for (int r = 1; r < ranks; ++r) common &= others[r];
  } else {
    operation.send(0, bytes(&free), sizeof free);
    co_await operation.arrived();
  }
  operation.plan = Plan{};
  operation.plan.receive.base = bytes(&common);
  operation.plan.receive.size = sizeof common;
  co_await algorithms::broadcast_binomial(operation);
  free = common;
}

// Whether it is so on some rank: up a binomial tree and down.
Task agree_on_any(Operation& operation, bool& any) {
  const int rank = operation.rank();
  const int ranks = operation.size();
  auto* const heard = operation.scratch(ranks);
  int distance = 1, children = 0;
  for (; distance < ranks && (rank & distance) == 0; distance *= 2)
    if (rank + distance < ranks) operation.receive(rank + distance, heard + children++, 1);
  co_await operation.arrived();
  auto* const common = operation.scratch(1);
  *common = std::byte{any};
  for (int c = 0; c < children; ++c) *common |= heard[c];
  if (rank != 0) operation.send(rank - distance, common, 1);
  co_await operation.arrived();
  operation.plan = Plan{};
  operation.plan.receive.base = common;
  operation.plan.receive.size = 1;
  co_await algorithms::broadcast_binomial(operation);
  any = *common != std::byte{};
}

// Of the ranks of a node: by message, because what blocks there may not have met.
struct AgreedPart {
  std::uint64_t free;
  int area = AreaPool::no_area;  // if the first that is free needs a new one
};
Task agree_on_part_of_node(Operation& operation, const NodeLayout& nodes, const NodeTeam& team,
                           SharedAreas& shared, const PersistentAreas& areas, AgreedPart& agreed) {
  operation.among(nodes.mine.data(), static_cast<int>(nodes.mine.size()), nodes.place);
  co_await agree_on_free_parts(operation, agreed.free);
  const int index = std::countr_zero(agreed.free);
  if (agreed.free != 0 && areas.area_of(index) == nullptr)
    co_await take_persistent_area(operation, shared, team.places[0], areas.division_of_area(index),
                                  agreed.area);
  operation.among_all();
}

Communicator& communicator_of(const Operation& operation) {
  return static_cast<Communicator&>(*operation.communicator);
}

}  // namespace

// The area of a part for the first time. Null: there was none left.
std::unique_ptr<PersistentParts> CollectiveEngine::take_area_for_parts(Communicator& communicator, int part) {
  const int place = place_of(communicator.group()->process_of(0));
  const Division division = CollectiveRecord::of(communicator).persistent->division_of_area(part);
  int area = no_area;
  const Result<> told = run_task(communicator, [&](Operation& operation) {
    return take_persistent_area(operation, *areas_, place, division, area);
  });
  if (!told || area == no_area) return nullptr;
  const MemoryBlock memory{areas_->address(place, area), areas_->area_bytes()};
  return std::make_unique<PersistentParts>(memory, area, division, background_runs_);
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
    record.persistent = std::make_unique<PersistentAreas>(areas_->area_bytes(), communicator.size(), 1);
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
  if (areas.area_of(index) == nullptr) areas.add_area(index, take_area_for_parts(communicator, index));
  PersistentParts* const area = areas.area_of(index);
  if (area == nullptr) return nullptr;
  PersistentPart& part = area->take(PersistentAreas::place_in_area(index),
                                    [&](MemoryBlock memory) { return share(memory, communicator); });
  part.queue().shared().take_ways_of(in_node);
  return &part;
}

// Which parts would serve the node's part of an operation of several nodes; none, if it goes by messages.
std::uint64_t CollectiveEngine::free_parts_of_node(const Operation& operation, const PersistentAreas& areas) {
  const CollectiveCall& call = operation.call;
  if (call.neighbors != nullptr || is_vector_form(call.kind)) return 0;
  const Shape shape = shape_of(operation);
  const NodeAreas wanted = choice_.areas_of_node(call.kind, shape);
  if ((!wanted.up && !wanted.down) || choice_.choose(call.kind, shape).name != std::string_view("two_level"))
    return 0;
  return areas.are_parts_enough(buffered_bytes(call, shape.bytes, shape.ranks)) ? areas.free_parts()
                                                                                : areas.free_areas();
}

// Each node's ranks agree for themselves.
void CollectiveEngine::take_part_of_node(Communicator& communicator, Operation& operation) {
  CollectiveRecord& record = CollectiveRecord::of(communicator);
  if (!record.nodes->crowded) {
    bool crowded = areas_ != nullptr && areas_->crowded();
    if (!run_task(communicator, [&crowded](Operation& of) { return agree_on_any(of, crowded); })) return;
    record.nodes->crowded = crowded;
  }
  Participants participants = participants_of(communicator);  // on all nodes, because its tag counts
  NodeTeam* const team = record.node_team.get();
  if (team == nullptr) return;
  const auto ranks = static_cast<int>(team->places.size());
  if (record.persistent == nullptr)
    record.persistent = std::make_unique<PersistentAreas>(areas_->area_bytes(), ranks, NodeLanes::teams);
  PersistentAreas& areas = *record.persistent;
  if (team->own == 0 && areas.first() != nullptr) areas.first()->make_one_ready();
  AgreedPart agreed{free_parts_of_node(operation, areas)};
  const Result<> told = run_task(std::move(participants), [&](Operation& of) {
    return agree_on_part_of_node(of, *record.nodes, *team, *areas_, areas, agreed);
  });
  if (!told || agreed.free == 0) return;
  const int index = std::countr_zero(agreed.free);
  if (areas.area_of(index) == nullptr) {
    const MemoryBlock memory{agreed.area == no_area ? nullptr : areas_->address(team->places[0], agreed.area),
                             areas_->area_bytes()};
    areas.add_area(index, agreed.area == no_area
                              ? nullptr
                              : std::make_unique<PersistentParts>(
                                    memory, agreed.area, areas.division_of_area(index), background_runs_));
  }
  PersistentParts* const area = areas.area_of(index);
  if (area == nullptr) return;
  PersistentPart& part = area->take(PersistentAreas::place_in_area(index), [&](MemoryBlock memory) {
    return share(memory, communicator, team->places, team->own, true);
  });
  operation.use_part_of_node(part, *team);
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
  if (operation.nodes() != nullptr) take_part_of_node(communicator, operation);
  operation.skip();
  operation.complete = true;
  request = &operation;
  return {};
}

void CollectiveEngine::start_again(Operation& operation) {
  if (operation.part != nullptr && operation.nodes() == nullptr)
    return start_shared(operation, communicator_of(operation), operation.part->queue());
  operation.begin_again();
  launch_in_background(operation);
}

}  // namespace hawser
