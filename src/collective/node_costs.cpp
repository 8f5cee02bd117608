#include "collective/node_costs.h"

#include <algorithm>
#include <bit>
#include <cmath>

#include "collective/algorithms/algorithms.h"
#include "collective/link_costs.h"

namespace hawser::link_costs {

using S = const Shape&;
using M = const TransferCosts&;

Shape within(S s, double bytes) {
  Shape level = s;
  level.ranks = s.most_on_node;
  level.nodes = 1;
  level.bytes = static_cast<std::int64_t>(bytes);
  return level;
}
Shape across(S s, double bytes, int sharing) {
  Shape level = s;
  level.ranks = s.nodes;
  level.most_on_node = sharing;
  level.bytes = static_cast<std::int64_t>(bytes);
  return level;
}

double cheapest_broadcast(S s, M c) {
  return std::min({broadcast_binomial(s, c), broadcast_linear(s, c), broadcast_scatter_allgather(s, c)});
}
double cheapest_reduce(S s, M c) {
  const double whole = std::min(reduce_binomial(s, c), reduce_linear(s, c));
  return divisible(s) ? std::min(whole, reduce_rabenseifner(s, c)) : whole;
}
double cheapest_allreduce(S s, M c) {
  const double whole = allreduce_recursive_doubling(s, c);
  return divisible(s) ? std::min({whole, allreduce_rabenseifner(s, c), allreduce_ring(s, c)}) : whole;
}
double cheapest_allgather(S s, M c) {
  const double any = std::min({allgather_bruck(s, c), allgather_ring(s, c), allgather_linear(s, c)});
  return std::has_single_bit(static_cast<unsigned>(s.ranks))
             ? std::min(any, allgather_recursive_doubling(s, c))
             : any;
}
double cheapest_gather(S s, M c) { return std::min(gather_linear(s, c), gather_binomial(s, c)); }
double cheapest_scatter(S s, M c) { return std::min(scatter_linear(s, c), scatter_binomial(s, c)); }
double cheapest_alltoall(S s, M c) {
  return std::min({alltoall_bruck(s, c), alltoall_linear(s, c), alltoall_pairwise(s, c)});
}
double cheapest_reduce_scatter(S s, M c) {
  return std::min(reduce_scatter_halving(s, c), reduce_scatter_pairwise(s, c));
}

// Through areas (shared/movement.cpp, shared/exchange.cpp, shared/reduction.cpp). All read what the root of a
// broadcast writes, piece by piece, and bytes take as long as in a message. The root of a reduction reads the
// lines and operands of all, and reduces as it reads. Lines that came while it read others cost half.
namespace {

constexpr double piece_bytes = 16 << 10;
double later_pieces(M c, double m) { return std::max(std::ceil(m / piece_bytes) - 1, 0.0) * c.area_piece; }

// Of one that blocks; such a broadcast or reduction always goes there. Several operations in the background
// are under way. Then it counts how long the leader's processor is busy, which reads what all have in an
// area, while others share the work of messages. So areas must win clearly.
constexpr double clearly = 0.75;
NodeCost cheaper(S s, double area, double messages) {
  const bool by_area = s.teams ? area < messages : s.lanes && area < clearly * messages;
  return {by_area ? area : messages, by_area};
}
NodeCost by_area_where_blocking(S s, double area, double messages) {
  return s.teams ? NodeCost{area, true} : cheaper(s, area, messages);
}

}  // namespace

double team_arrives(S s, M c) { return c.area_step + s.most_on_node * c.area_line / 2; }
double team_broadcast(M c, double m) {
  return c.area_step + c.area_line + later_pieces(c, m) + (m + std::min(m, piece_bytes)) * c.area_per_byte;
}

NodeCost node_broadcast(S s, M c, double m) {
  return by_area_where_blocking(s, team_broadcast(c, m), cheapest_broadcast(within(s, m), c));
}
NodeCost node_reduce(S s, M c, double m) {
  const double area = team_arrives(s, c) + s.most_on_node * m * c.area_per_byte;
  return by_area_where_blocking(s, area, cheapest_reduce(within(s, m), c));
}
NodeCost node_gather(S s, M c, double m) {
  const double area = team_arrives(s, c) + s.most_on_node * m * c.area_per_byte;
  return cheaper(s, area, cheapest_gather(within(s, m), c));
}
// The root writes the others' blocks, and each of them reads one.
NodeCost node_scatter(S s, M c, double m) {
  const double all = (s.most_on_node - 1) * m;
  const double area = c.area_step + c.area_line + later_pieces(c, all) + (all + m) * c.area_per_byte;
  return cheaper(s, area, cheapest_scatter(within(s, m), c));
}
NodeCost node_alltoall(S s, M c, double m) {
  const double area = team_arrives(s, c) + 2 * (s.most_on_node - 1) * m * c.area_per_byte;
  return cheaper(s, area, cheapest_alltoall(within(s, m), c));
}
// Each rank writes the whole vector, and reads its part of the others'.
NodeCost node_reduce_scatter(S s, M c, double m) {
  const double read = m * (s.most_on_node - 1) / s.most_on_node;
  const double area = team_arrives(s, c) + (m + read) * c.area_per_byte;
  return cheaper(s, area, cheapest_reduce_scatter(within(s, m), c));
}

bool root_serves_leaders(S s, M c) {
  if (s.nodes == 2 || bytes(s) > c.between_packet) return false;
  const Shape leaders = across(s, bytes(s), 1);
  return broadcast_linear(leaders, c) <
         std::min(broadcast_binomial(leaders, c), broadcast_scatter_allgather(leaders, c));
}

// A root's node waits until all that other nodes get is sent, so an area must win together with that. In the
// background it must not be so.
NodeCost scatter_levels(S s, M c) {
  const NodeCost node = node_scatter(s, c, bytes(s));
  Shape leaders = across(s, s.most_on_node * bytes(s), 1);
  const bool in_turn = s.nodes > 2 && scatter_linear(leaders, c) < scatter_binomial(leaders, c);
  leaders.teams = true;
  const double area = node.cost + cheapest_scatter(leaders, c);
  leaders.teams = false;
  const double messages = cheapest_scatter(within(s, bytes(s)), c) + cheapest_scatter(leaders, c);
  if (!node.by_area || (s.teams ? area > messages : in_turn)) return {messages, false};
  return {s.teams ? area : node.cost + cheapest_scatter(leaders, c), true};
}

// Blocking barriers, broadcasts and reductions go through an area wherever there is one.
NodeAreas areas_of_node(Collective kind, S s, M c) {
  if (!s.teams && !s.lanes) return {};
  const double m = bytes(s);
  switch (kind) {
    case Collective::barrier:
      return {true, true};
    case Collective::broadcast:
      return {false, !s.lanes || (node_broadcast(s, c, m).by_area && !root_serves_leaders(s, c))};
    case Collective::reduce:
      return {!s.lanes || node_reduce(s, c, m).by_area, false};
    case Collective::allreduce:
      return {!s.lanes || node_reduce(s, c, m).by_area, !s.lanes || node_broadcast(s, c, m).by_area};
    case Collective::gather:
      return {node_gather(s, c, m).by_area, false};
    case Collective::scatter:
      return {false, scatter_levels(s, c).by_area};
    case Collective::allgather:
    case Collective::allgatherv:
      return {node_gather(s, c, m).by_area, !s.lanes || node_broadcast(s, c, s.ranks * m).by_area};
    case Collective::alltoall:
      return {node_alltoall(s, c, s.nodes * m).by_area, false};
    case Collective::alltoallv:
    case Collective::alltoallw:
      return {
          node_alltoall(s, c, s.nodes * static_cast<double>(algorithms::slot_bytes(s.slots.room))).by_area,
          false};
    case Collective::reduce_scatter_block:
    case Collective::reduce_scatter:
      return {node_reduce_scatter(s, c, m).by_area, false};
    case Collective::gatherv:
      return {node_gather(s, c, static_cast<double>(algorithms::slot_bytes(s.slots.room))).by_area, false};
    case Collective::scatterv: {
      Shape slots = s;
      slots.bytes = algorithms::slot_bytes(s.slots.room);
      return {false, scatter_levels(slots, c).by_area};
    }
    case Collective::scan:
    case Collective::exscan:
      break;
  }
  return {};
}

}  // namespace hawser::link_costs
