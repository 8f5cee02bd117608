#include "collective/algorithms/two_level.h"

#include <algorithm>
#include <utility>

#include "collective/engine.h"
#include "collective/node_team.h"
#include "collective/shared/persistent_choice.h"

namespace hawser::algorithms {

// This must not depend on what a rank alone knows. Functions of the program are not called there.
bool goes_through_teams(const Operation& operation) {
  const NodeLayout* const nodes = operation.nodes();
  const Operator* const op = operation.call.op;
  return nodes != nullptr && nodes->teams && !operation.background && (op == nullptr || op->predefined());
}

bool may_take_turns(const Operation& operation) {
  const NodeLayout* const nodes = operation.nodes();
  const Operator* const op = operation.call.op;
  return nodes != nullptr && nodes->lanes && operation.background && (op == nullptr || op->predefined()) &&
         (!operation.persistent ||
          may_use_part_of_node(operation.call.kind, nodes->most, nodes->crowded.value_or(true)));
}

void among_node(Operation& operation) {
  const NodeLayout& nodes = *operation.nodes();
  operation.among(nodes.mine.data(), static_cast<int>(nodes.mine.size()), nodes.place);
}

void among_leaders(Operation& operation, const int* leaders) {
  const NodeLayout& nodes = *operation.nodes();
  operation.among(leaders, nodes.nodes(), nodes.own_node);
}

const int* leaders_with(Operation& operation, int root) {
  const NodeLayout& nodes = *operation.nodes();
  const auto count = static_cast<std::int64_t>(nodes.leaders.size());
  int* const leaders =
      reinterpret_cast<int*>(operation.scratch(count * static_cast<std::int64_t>(sizeof(int))));
  std::copy(nodes.leaders.begin(), nodes.leaders.end(), leaders);
  leaders[nodes.node_of[static_cast<std::size_t>(root)]] = root;
  return leaders;
}

int place_of_leader(Operation& operation, const int* leaders) {
  const NodeLayout& nodes = *operation.nodes();
  const auto found = std::lower_bound(nodes.mine.begin(), nodes.mine.end(), leaders[nodes.own_node]);
  return static_cast<int>(found - nodes.mine.begin());
}

void among_column(Operation& operation) {
  const NodeLayout& nodes = *operation.nodes();
  int* const column =
      reinterpret_cast<int*>(operation.scratch(nodes.nodes() * static_cast<std::int64_t>(sizeof(int))));
  for (int n = 0; n < nodes.nodes(); ++n) column[n] = nodes.member(n, nodes.place);
  operation.among(column, nodes.nodes(), nodes.own_node);
}

Blocks node_blocks(Operation& operation, std::byte* base, std::int64_t block) {
  const NodeLayout& nodes = *operation.nodes();
  const int count = nodes.nodes();
  std::int64_t* const offsets = operation.scratch_numbers(2 * count);
  std::int64_t* const sizes = offsets + count;
  for (int n = 0; n < count; ++n) {
    offsets[n] = nodes.starts[static_cast<std::size_t>(n)] * block;
    sizes[n] = nodes.size_of(n) * block;
  }
  return {base, 0, offsets, sizes};
}

static Shape shape_now(const Operation& operation, std::int64_t bytes, std::int64_t elements) {
  Shape shape;
  shape.ranks = operation.size();
  shape.distances = operation.distances();
  shape.bytes = bytes;
  shape.elements = elements;
  shape.commutative = operation.plan.operands.commutative;
  return shape;
}

const Algorithm& best_row(Operation& operation, Collective kind, std::int64_t bytes, std::int64_t elements) {
  return operation.engine().choice().choose(kind, shape_now(operation, bytes, elements));
}

namespace {

Task by_messages(Operation& operation, Collective kind, std::int64_t bytes, std::int64_t elements) {
  return best_row(operation, kind, bytes, elements).run(operation);
}

CollectiveCall reduction(const Operation& operation) {
  const Operands& operands = operation.plan.operands;
  const bool root = operation.rank() == operation.plan.root;
  return {.kind = Collective::reduce,
          .root = operation.plan.root,
          .send = {root ? in_place : operands.data, operands.count, operands.type},
          .receive = {root ? operands.data : nullptr, operands.count, operands.type},
          .op = operands.op};
}

// Of a node's sums for each of its ranks.
CollectiveCall scattered_reduction(Operation& operation) {
  const Operands& operands = operation.plan.operands;
  std::int64_t* const counts = operation.scratch_numbers(operation.size());
  for (int r = 0; r < operation.size(); ++r) counts[r] = operands.starts[r + 1] - operands.starts[r];
  return {.kind = Collective::reduce_scatter,
          .send = {operands.data, operands.count, operands.type},
          .receive = {operands.element(operands.starts[operation.rank()]), 0, operands.type, counts},
          .op = operands.op};
}

// In plan.receive is the largest block, where they differ.
void gather_in_area(Operation& operation, SharedCollectives& shared) {
  const Plan& plan = operation.plan;
  const bool at_root = operation.rank() == plan.root;
  shared.gather(
      at_root ? ByteView(nullptr, 0) : ByteView(plan.send.base, plan.send.size),
      std::max(plan.send.size, plan.receive.size),
      [&plan](int r) { return ByteView(plan.receive.at(r), plan.receive.bytes(r)); }, plan.root);
}

void scatter_in_area(Operation& operation, SharedCollectives& shared) {
  const Plan& plan = operation.plan;
  const ByteView nothing(nullptr, 0);
  if (operation.rank() == plan.root)
    shared.scatter(ByteView(plan.send.base, operation.size() * plan.send.size), nothing, plan.root);
  else
    shared.scatter(nothing, ByteView(plan.receive.base, plan.receive.size), plan.root);
}

// What is done in shared memory; null: nothing but by messages.
Operation::TeamWork team_work(const Operation& operation, Collective kind) {
  switch (kind) {
    case Collective::broadcast:
      return [](Operation& of, SharedCollectives& shared) {
        if (of.failed() && of.rank() == of.plan.root)
          shared.broadcast_nothing();
        else
          shared.broadcast(ByteView(of.plan.receive.base, of.plan.receive.size), of.plan.root);
      };
    case Collective::reduce:
      // A function of the program is not called with little stack.
      if (!operation.plan.operands.op->predefined()) return nullptr;
      return [](Operation& of, SharedCollectives& shared) { shared.run(reduction(of)); };
    case Collective::reduce_scatter:
      if (!operation.plan.operands.op->predefined()) return nullptr;
      return [](Operation& of, SharedCollectives& shared) { shared.run(scattered_reduction(of)); };
    case Collective::gather:
    case Collective::gatherv:
      return gather_in_area;
    case Collective::scatter:
      return scatter_in_area;
    default:
      return nullptr;
  }
}

NodePart part_of(Collective kind) {
  return kind == Collective::broadcast || kind == Collective::scatter ? NodePart::down : NodePart::up;
}

bool serves(Operation& operation, Collective kind) {
  const NodePart part = part_of(kind);
  if (!has_team(operation, part)) return false;
  const SharedCollectives& shared =
      (operation.background ? operation.lanes().of(part) : *operation.node_team()->in_node).shared();
  if (kind == Collective::reduce) return shared.serves(reduction(operation));
  return kind != Collective::reduce_scatter || shared.serves(scattered_reduction(operation));
}

Task in_team(Operation& operation, Operation::TeamWork work, Collective kind, std::int64_t bytes,
             std::int64_t elements) {
  co_await meet(operation, part_of(kind));
  if (serves(operation, kind)) {
    co_await operation.together(part_of(kind), work);
  } else {
    operation.pass_turn(part_of(kind));
    co_await by_messages(operation, kind, bytes, elements);
  }
}

// The node's first rank chooses an area for so many teams and tells the others, among whom this is.
Task agree_on_area(Operation& operation, int teams, int* area) {
  auto* const message = reinterpret_cast<std::byte*>(area);
  if (operation.rank() == 0) {
    co_await take_area(operation, operation.node_team()->places[0], operation.size(), teams, *area);
    for (int r = 1; r < operation.size(); ++r) operation.send(r, message, sizeof(int));
  } else {
    operation.receive(0, message, sizeof(int));
  }
  co_await operation.arrived();
}

}  // namespace

Task meet(Operation& operation, NodePart part) {
  NodeTeam& team = *operation.node_team();
  if (operation.background || team.agreed || !operation.areas().of(part)) co_return;
  auto* const area = reinterpret_cast<int*>(operation.scratch(sizeof(int)));
  co_await agree_on_area(operation, 1, area);
  operation.engine().use_area(team, *area);
}

void choose_areas(Operation& operation) {
  operation.choose_areas(operation.engine().choice().areas_of_node(operation.call.kind, shape_of(operation)));
}

bool takes_turns(Operation& operation) {
  if (!operation.background) {
    choose_areas(operation);
    return false;
  }
  if (operation.node_team() == nullptr || !may_take_turns(operation)) return false;
  const NodeAreas areas = operation.engine().choice().areas_of_node(operation.call.kind, shape_of(operation));
  if (areas.up) operation.take_turn(NodePart::up);
  if (areas.down) operation.take_turn(NodePart::down);
  return (areas.up || areas.down) && !operation.lanes().agreed;
}

// The first of a communicator's operations sees to it, on all ranks the same, and the others wait for that.
Task meet_in_background(Operation& operation) {
  NodeTeam& team = *operation.node_team();
  if (std::exchange(team.lanes->begun, true)) {
    co_await operation.arrived_or(team.lanes->agreed);
    co_return;
  }
  among_node(operation);
  auto* const area = reinterpret_cast<int*>(operation.scratch(sizeof(int)));
  co_await agree_on_area(operation, NodeLanes::teams, area);
  operation.engine().use_lanes(team, *area);
  operation.among_all();
}

bool has_team(const Operation& operation, NodePart part) {
  const NodeTeam* const team = operation.node_team();
  if (team == nullptr) return false;
  return operation.background ? operation.has_turn(part) && operation.lanes().of(part).is_open()
                              : operation.areas().of(part) && team->in_node != nullptr;
}

Task best(Operation& operation, Collective kind, std::int64_t bytes, std::int64_t elements) {
  const Operation::TeamWork work = operation.node_team() == nullptr ? nullptr : team_work(operation, kind);
  return work == nullptr ? by_messages(operation, kind, bytes, elements)
                         : in_team(operation, work, kind, bytes, elements);
}

Task best_between(Operation& operation, Collective kind, std::int64_t bytes, std::int64_t elements,
                  int sharing) {
  Shape shape = shape_now(operation, bytes, elements);
  shape.nodes = shape.ranks;
  shape.most_on_node = sharing;
  shape.teams = operation.areas().down;
  return operation.engine().choice().choose(kind, shape).run(operation);
}

}  // namespace hawser::algorithms
