#include "collective/algorithm.h"

#include <algorithm>
#include <bit>

#include "base/enum_names.h"
#include "collective/algorithms/algorithms.h"
#include "collective/algorithms/two_level.h"
#include "collective/multicast/multicast_group.h"
#include "collective/node_layout.h"
#include "collective/operation.h"

namespace hawser {

static_assert(collective_kinds == enumerators<Collective>);
const char* name_of(Collective kind) { return enum_name(kind); }

const Algorithm* find_algorithm(std::string_view operation, std::string_view name) {
  for (const Algorithm& algorithm : algorithm_table())
    if (operation == name_of(algorithm.kind) && name == algorithm.name) return &algorithm;
  return nullptr;
}

TransferCosts over_distances(const TransferCosts& costs, const RailDistances& distances) {
  // Of a packet over links of 300 ns, as costs expect them.
  constexpr Nanoseconds usual_round_trip = 1700;
  TransferCosts farther = costs;
  const auto longer =
      static_cast<double>(std::max<Nanoseconds>(distances.round_trip - usual_round_trip, 0)) / 2;
  farther.between_step += longer;
  // To ask, to be answered and to say that all is there are ways of their own.
  farther.between_rendezvous += 3 * longer;
  farther.between_detour = static_cast<double>(distances.detour);
  return farther;
}

// What decides how this rank moves the blocks of an alltoallv or alltoallw. Both algorithms send the same
// messages, so each rank may choose for itself, as long as linear ones begin all at once. Blocks of unlike
// sizes had better not wait for each other; those of a node go through its memory.
static std::int64_t like_blocks(const Operation& operation) {
  const int ranks = operation.size();
  if (operation.nodes() == nullptr || ranks > algorithms::alltoall_window + 1) return -1;
  const Plan& plan = operation.plan;
  std::int64_t least = INT64_MAX, most = 0;
  for (int r = 0; r < ranks; ++r) {
    if (r == operation.rank()) continue;
    least = std::min({least, plan.send.bytes(r), plan.receive.bytes(r)});
    most = std::max({most, plan.send.bytes(r), plan.receive.bytes(r)});
  }
  constexpr std::int64_t alike = 4;
  if (least == 0 || least < most / alike) return -1;
  // So that ranks whose blocks differ a little mostly choose the same.
  return static_cast<std::int64_t>(std::bit_floor(static_cast<std::uint64_t>(least)));
}

namespace {

std::int64_t bytes_of(const CallSide& side) { return side.count * side.type->size; }

std::int64_t sum_of(IntegerArray counts, int ranks) {
  std::int64_t total = 0;
  for (int r = 0; r < ranks; ++r) total += counts[static_cast<std::size_t>(r)];
  return total;
}

std::int64_t most_of(IntegerArray counts, int ranks) {
  std::int64_t most = 0;
  for (int r = 0; r < ranks; ++r) most = std::max<std::int64_t>(most, counts[static_cast<std::size_t>(r)]);
  return most;
}

// Of the whole vector.
std::int64_t elements_of(const CollectiveCall& call, int ranks) {
  if (call.kind == Collective::reduce_scatter) return sum_of(call.receive.counts, ranks);
  return call.kind == Collective::reduce_scatter_block ? call.receive.count * ranks : call.receive.count;
}

}  // namespace

Shape shape_of(const Operation& operation) {
  const CollectiveCall& call = operation.call;
  Shape shape;
  shape.ranks = operation.size();
  shape.distances = operation.distances();
  if (const NodeLayout* nodes = operation.nodes()) {
    shape.nodes = nodes->nodes();
    shape.most_on_node = nodes->most;
    shape.nodes_in_order = nodes->in_order;
    shape.teams = algorithms::goes_through_teams(operation);
    shape.lanes = algorithms::may_take_turns(operation);
  }
  // Leaders agree on how others than broadcasts go, in the order of operations.
  const bool in_order = call.kind == Collective::broadcast || !operation.background;
  if (const MulticastGroup* group = operation.multicast(); group != nullptr && in_order) {
    shape.multicast_nodes = group->nodes().nodes();
    shape.multicast_most_on_node = group->nodes().most;
  }
  switch (call.kind) {
    case Collective::barrier:
      break;
    case Collective::broadcast:
      shape.bytes = bytes_of(call.receive);
      break;
    case Collective::gather:
      shape.bytes = bytes_of(operation.rank() == call.root ? call.receive : call.send);
      shape.root_first = call.root == 0;
      break;
    case Collective::scatter:
      shape.bytes = bytes_of(operation.rank() == call.root ? call.send : call.receive);
      shape.root_first = call.root == 0;
      break;
    case Collective::alltoall:
      if (const NodeLayout* nodes = operation.nodes(); nodes != nullptr && !nodes->equal)
        shape.teams = shape.lanes = false;
      shape.bytes = bytes_of(call.receive);
      break;
    case Collective::allgather:
      shape.bytes = bytes_of(call.receive);
      break;
    case Collective::allgatherv:
      shape.bytes = sum_of(call.receive.counts, shape.ranks) * call.receive.type->size / shape.ranks;
      shape.largest = most_of(call.receive.counts, shape.ranks) * call.receive.type->size;
      break;
    case Collective::gatherv:
    case Collective::scatterv:
      shape.bytes = -1;
      shape.root_first = call.root == 0;
      shape.slots = operation.slots();
      break;
    case Collective::alltoallv:
    case Collective::alltoallw:
      if (const NodeLayout* nodes = operation.nodes(); nodes != nullptr && !nodes->equal)
        shape.teams = shape.lanes = false;
      shape.bytes = like_blocks(operation);
      shape.slots = operation.slots();
      break;
    case Collective::reduce:
    case Collective::allreduce:
    case Collective::reduce_scatter_block:
    case Collective::reduce_scatter:
    case Collective::scan:
    case Collective::exscan:
      shape.elements = elements_of(call, shape.ranks);
      shape.bytes = shape.elements * call.receive.type->size;
      shape.commutative = call.op->commutative();
      break;
  }
  return shape;
}

}  // namespace hawser
