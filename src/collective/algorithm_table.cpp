// The declared algorithms. A row that always fits must stand for every operation. Where two rows cost the
// same the first one wins.
#include <algorithm>
#include <bit>

#include "collective/algorithm.h"
#include "collective/algorithms/algorithms.h"
#include "collective/link_costs.h"

namespace hawser {

namespace {

using S = const Shape&;
using M = const TransferCosts&;

bool always(S) { return true; }
bool power_of_two(S s) { return std::has_single_bit(static_cast<unsigned>(s.ranks)); }
bool commutative(S s) { return s.commutative; }
// Among the ranks of a node, and among the nodes.
bool has_levels(S s) { return s.nodes > 1 && s.ranks > s.nodes; }
bool levels_in_order(S s) { return has_levels(s) && (s.commutative || s.nodes_in_order); }
bool has_multicast(S s) { return s.multicast_nodes > 1; }

// Allgathers of blocks that are not alike, as if they were, and so large. In a ring each step takes as long
// as the largest block, and so does one that is sent to all at once. Where what a rank holds doubles, the
// largest is part of each message on its way.
Shape with_blocks_of(S s, std::int64_t bytes) {
  Shape shape = s;
  shape.bytes = std::max(s.bytes, bytes);
  return shape;
}
Shape with_doubled_blocks(S s) {
  std::int64_t sent = 0;
  for (int held = 1; held < s.ranks; held *= 2)
    sent += std::min({held * s.largest, (s.ranks - held) * s.largest, s.ranks * s.bytes});
  return with_blocks_of(s, sent / std::max(s.ranks - 1, 1));
}
double unlike_ring(S s, M c) { return link_costs::allgather_ring(with_blocks_of(s, s.largest), c); }
double unlike_linear(S s, M c) { return link_costs::allgather_linear(with_blocks_of(s, s.largest), c); }
double unlike_bruck(S s, M c) { return link_costs::allgather_bruck(with_doubled_blocks(s), c); }
double unlike_doubling(S s, M c) {
  return link_costs::allgather_recursive_doubling(with_doubled_blocks(s), c);
}

// Of blocks that are not alike, all at once.
double blocks_linear(S s, M c) { return s.bytes < 0 ? 0 : link_costs::alltoall_linear(s, c); }
double blocks_pairwise(S s, M c) { return s.bytes < 0 ? 1 : link_costs::alltoall_pairwise(s, c); }
// By slots where all ranks know that this takes clearly less than to send to each of as many partners, which
// also read nothing twice; else never. What a rank knows of its own blocks does not count.
double blocks_by_slots(S s, M c, double (*by_messages)(S, M), double (*by_levels)(S, M)) {
  constexpr double clearly = 0.85, never = 1e18;
  if (s.slots.partners == 0) return never;
  Shape alike = s;
  alike.bytes = 8;
  const double direct =
      by_messages(alike, c) * static_cast<double>(s.slots.partners) / std::max(s.ranks - 1, 1);
  alike.bytes = algorithms::slot_bytes(s.slots.room);
  return by_levels(alike, c) < clearly * direct ? -1 : never;
}
double blocks_two_level(S s, M c) {
  return blocks_by_slots(s, c, link_costs::alltoall_linear, link_costs::alltoall_two_level);
}
// The messages of a few leaders may all take the same rail.
double gather_over_one_rail(S s, M c) {
  TransferCosts costs = c;
  costs.between_per_byte = costs.between_short_per_byte;
  return link_costs::gather_two_level(s, costs);
}
double gatherv_two_level(S s, M c) {
  return blocks_by_slots(s, c, link_costs::gather_linear, gather_over_one_rail);
}
double scatterv_two_level(S s, M c) {
  return blocks_by_slots(s, c, link_costs::scatter_linear, link_costs::scatter_two_level);
}

const Algorithm table[] = {
    {Collective::barrier, "dissemination", "Hensgen, Finkel, Manber 1988", always,
     link_costs::barrier_dissemination, algorithms::barrier_dissemination},
    {Collective::barrier, "two_level", "", has_levels, link_costs::barrier_two_level,
     algorithms::barrier_two_level},

    {Collective::broadcast, "binomial", "Chan et al. 2007", always, link_costs::broadcast_binomial,
     algorithms::broadcast_binomial},
    {Collective::broadcast, "linear", "", always, link_costs::broadcast_linear, algorithms::broadcast_linear},
    {Collective::broadcast, "scatter_allgather", "Thakur, Gropp 2003", always,
     link_costs::broadcast_scatter_allgather, algorithms::broadcast_scatter_allgather},
    {Collective::broadcast, "two_level", "Karonis et al. 2000", has_levels, link_costs::broadcast_two_level,
     algorithms::broadcast_two_level},
    {Collective::broadcast, "multicast", "Mamidala et al. 2006", has_multicast,
     link_costs::broadcast_multicast, algorithms::broadcast_multicast},

    {Collective::gather, "binomial", "Chan et al. 2007", always, link_costs::gather_binomial,
     algorithms::gather_binomial},
    {Collective::gather, "linear", "", always, link_costs::gather_linear, algorithms::gather_linear},
    {Collective::gather, "two_level", "Karonis et al. 2000", has_levels, link_costs::gather_two_level,
     algorithms::gather_two_level},
    {Collective::gatherv, "linear", "", always, [](S, M) { return 0.0; }, algorithms::gather_linear},
    {Collective::gatherv, "two_level", "", has_levels, gatherv_two_level, algorithms::gatherv_two_level},
    {Collective::scatter, "binomial", "Chan et al. 2007", always, link_costs::scatter_binomial,
     algorithms::scatter_binomial},
    {Collective::scatter, "linear", "", always, link_costs::scatter_linear, algorithms::scatter_linear},
    {Collective::scatter, "two_level", "Karonis et al. 2000", has_levels, link_costs::scatter_two_level,
     algorithms::scatter_two_level},
    {Collective::scatterv, "linear", "", always, [](S, M) { return 0.0; }, algorithms::scatter_linear},
    {Collective::scatterv, "two_level", "", has_levels, scatterv_two_level, algorithms::scatterv_two_level},

    {Collective::allgather, "recursive_doubling", "Thakur, Rabenseifner, Gropp 2005", power_of_two,
     link_costs::allgather_recursive_doubling, algorithms::allgather_recursive_doubling},
    {Collective::allgather, "bruck", "Bruck et al. 1997", always, link_costs::allgather_bruck,
     algorithms::allgather_bruck},
    {Collective::allgather, "ring", "Chan et al. 2007", always, link_costs::allgather_ring,
     algorithms::allgather_ring},
    {Collective::allgather, "linear", "", always, link_costs::allgather_linear, algorithms::allgather_linear},
    {Collective::allgather, "two_level", "", has_levels, link_costs::allgather_two_level,
     algorithms::allgather_two_level},
    {Collective::allgather, "multicast", "Khalilov et al. 2024", has_multicast,
     link_costs::allgather_multicast, algorithms::allgather_multicast},
    {Collective::allgatherv, "recursive_doubling", "Thakur, Rabenseifner, Gropp 2005", power_of_two,
     unlike_doubling, algorithms::allgather_recursive_doubling},
    {Collective::allgatherv, "bruck", "Bruck et al. 1997", always, unlike_bruck, algorithms::allgather_bruck},
    {Collective::allgatherv, "ring", "Chan et al. 2007", always, unlike_ring, algorithms::allgather_ring},
    {Collective::allgatherv, "linear", "", always, unlike_linear, algorithms::allgather_linear},
    {Collective::allgatherv, "two_level", "", has_levels, link_costs::allgather_two_level,
     algorithms::allgather_two_level},

    {Collective::alltoall, "bruck", "Bruck et al. 1997", always, link_costs::alltoall_bruck,
     algorithms::alltoall_bruck},
    {Collective::alltoall, "linear", "", always, link_costs::alltoall_linear, algorithms::alltoall_linear},
    {Collective::alltoall, "pairwise", "Thakur, Rabenseifner, Gropp 2005", always,
     link_costs::alltoall_pairwise, algorithms::alltoall_pairwise},
    {Collective::alltoall, "two_level", "", has_levels, link_costs::alltoall_two_level,
     algorithms::alltoall_two_level},
    {Collective::alltoallv, "linear", "", always, blocks_linear, algorithms::alltoall_linear},
    {Collective::alltoallv, "pairwise", "", always, blocks_pairwise, algorithms::alltoall_pairwise},
    {Collective::alltoallv, "two_level", "", has_levels, blocks_two_level, algorithms::alltoallv_two_level},
    {Collective::alltoallw, "linear", "", always, blocks_linear, algorithms::alltoall_linear},
    {Collective::alltoallw, "pairwise", "", always, blocks_pairwise, algorithms::alltoall_pairwise},
    {Collective::alltoallw, "two_level", "", has_levels, blocks_two_level, algorithms::alltoallv_two_level},

    {Collective::reduce, "binomial", "Chan et al. 2007", always, link_costs::reduce_binomial,
     algorithms::reduce_binomial},
    {Collective::reduce, "linear", "", always, link_costs::reduce_linear, algorithms::reduce_linear},
    {Collective::reduce, "rabenseifner", "Rabenseifner 2004", link_costs::divisible,
     link_costs::reduce_rabenseifner, algorithms::reduce_rabenseifner},
    {Collective::reduce, "two_level", "Karonis et al. 2000", levels_in_order, link_costs::reduce_two_level,
     algorithms::reduce_two_level},

    {Collective::allreduce, "recursive_doubling", "Thakur, Rabenseifner, Gropp 2005", always,
     link_costs::allreduce_recursive_doubling, algorithms::allreduce_recursive_doubling},
    {Collective::allreduce, "rabenseifner", "Rabenseifner 2004", link_costs::divisible,
     link_costs::allreduce_rabenseifner, algorithms::allreduce_rabenseifner},
    {Collective::allreduce, "ring", "Patarasuk, Yuan 2009", link_costs::divisible, link_costs::allreduce_ring,
     algorithms::allreduce_ring},
    {Collective::allreduce, "two_level", "Thakur, Gropp 2003", levels_in_order,
     link_costs::allreduce_two_level, algorithms::allreduce_two_level},

    {Collective::reduce_scatter_block, "recursive_halving", "Thakur, Rabenseifner, Gropp 2005", commutative,
     link_costs::reduce_scatter_halving, algorithms::reduce_scatter_recursive_halving},
    {Collective::reduce_scatter_block, "pairwise", "Thakur, Rabenseifner, Gropp 2005", commutative,
     link_costs::reduce_scatter_pairwise, algorithms::reduce_scatter_pairwise},
    {Collective::reduce_scatter_block, "two_level", "", levels_in_order, link_costs::reduce_scatter_two_level,
     algorithms::reduce_scatter_two_level},
    {Collective::reduce_scatter_block, "reduce_scatter", "", always, [](S, M) { return 1e18; },
     algorithms::reduce_scatter_reduce_scatter},
    {Collective::reduce_scatter, "recursive_halving", "Thakur, Rabenseifner, Gropp 2005", commutative,
     link_costs::reduce_scatter_halving, algorithms::reduce_scatter_recursive_halving},
    {Collective::reduce_scatter, "pairwise", "Thakur, Rabenseifner, Gropp 2005", commutative,
     link_costs::reduce_scatter_pairwise, algorithms::reduce_scatter_pairwise},
    {Collective::reduce_scatter, "two_level", "", levels_in_order, link_costs::reduce_scatter_two_level,
     algorithms::reduce_scatter_two_level},
    {Collective::reduce_scatter, "reduce_scatter", "", always, [](S, M) { return 1e18; },
     algorithms::reduce_scatter_reduce_scatter},

    {Collective::scan, "recursive_doubling", "Hillis, Steele 1986", always,
     link_costs::scan_recursive_doubling, algorithms::scan_recursive_doubling},
    {Collective::scan, "linear", "", always, link_costs::scan_linear, algorithms::scan_linear},
    {Collective::exscan, "recursive_doubling", "Hillis, Steele 1986", always,
     link_costs::scan_recursive_doubling, algorithms::scan_recursive_doubling},
    {Collective::exscan, "linear", "", always, link_costs::scan_linear, algorithms::scan_linear},
};

}  // namespace

std::span<const Algorithm> algorithm_table() { return table; }

}  // namespace hawser
