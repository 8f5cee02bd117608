// The declared algorithms. A row that always fits must stand for every operation. Costs are those of the
// literature in the model of algorithm.h, `n` ranks and `m` bytes; where two rows cost the same the first one
// wins.
#include <algorithm>
#include <bit>
#include <cmath>

#include "collective/algorithm.h"
#include "collective/algorithms/algorithms.h"
#include "collective/link_costs.h"

namespace hawser {

namespace {

using S = const Shape&;
using M = const TransferCosts&;
using link_costs::bytes;

bool always(S) { return true; }
bool power_of_two(S s) { return std::has_single_bit(static_cast<unsigned>(s.ranks)); }
bool commutative(S s) { return s.commutative; }
bool divisible(S s) { return s.commutative && s.elements >= s.ranks; }

double rounds(S s) { return std::ceil(std::log2(std::max(s.ranks, 1))); }
double others(S s) { return s.ranks - 1; }
// Of the whole vector, what all ranks but one hold.
double fraction(S s) { return others(s) / s.ranks; }
double folded(S s) { return power_of_two(s) ? 0 : 1; }

// A message costs `latency`, and `m` bytes of it `m * per_byte`.
double messages(M c, double count, double m) { return count * c.latency + m * c.per_byte; }
// Each goes to the next rank, which is on another node but rarely.
double to_next(M c, double count, double m) { return count * c.latency + m * c.neighbor_per_byte; }

// Two levels: the same among the ranks of a node, and among the nodes, each of which has its link alone.
bool has_levels(S s) { return s.nodes > 1 && s.ranks > s.nodes; }
bool levels_in_order(S s) { return has_levels(s) && (s.commutative || s.nodes_in_order); }
double node_rounds(S s) { return std::ceil(std::log2(s.most_on_node)); }
double between(M c, double count, double m) { return count * c.between_latency + m * c.between_per_byte; }
double between_rounds(S s) { return std::ceil(std::log2(s.nodes)); }
double between_fraction(S s) { return (s.nodes - 1.0) / s.nodes; }
double broadcast_between(S s, M c) {
  return std::min(between(c, between_rounds(s), between_rounds(s) * bytes(s)),
                  between(c, between_rounds(s) + s.nodes - 1, 2 * between_fraction(s) * bytes(s)));
}
bool has_multicast(S s) { return s.multicast_nodes > 1; }
// One message's time and a half, and every packet costs the root's and the leaders' processors. Where every
// rank has a node of its own, there is but one level in the costs. To two other nodes, small messages were
// faster.
double multicast_between(S s, M c) {
  if (s.multicast_nodes < 4 && s.bytes < 2048) return 1e18;
  const bool levels = s.nodes > 1;
  const double packets = std::ceil(bytes(s) / 2000);
  return (1.5 + packets * 0.075) * (levels ? c.between_latency : c.latency) +
         bytes(s) * (levels ? c.between_per_byte : c.per_byte);
}
double broadcast_after_multicast(S s, M c) {
  const double rounds = std::ceil(std::log2(s.multicast_most_on_node));
  return messages(c, rounds, rounds * bytes(s));
}
double broadcast_on_node(S s, M c, double m) { return messages(c, node_rounds(s), node_rounds(s) * m); }
double reduce_on_node(S s, M c) {
  return messages(c, node_rounds(s), node_rounds(s) * bytes(s)) +
         node_rounds(s) * bytes(s) * c.reduce_per_byte;
}
double allgather_two_levels(S s, M c) {
  const double all = s.ranks * bytes(s), node = s.most_on_node * bytes(s);
  const double copies = s.nodes_in_order ? 0 : 0.5 * all * c.per_byte;
  return messages(c, 0.6 + 0.4 * s.most_on_node, node) + between(c, between_rounds(s), all - node) +
         broadcast_on_node(s, c, all) + copies;
}

const Algorithm table[] = {
    {Collective::barrier, "dissemination", "Hensgen, Finkel, Manber 1988", always,
     [](S s, M c) { return messages(c, rounds(s), 0); }, algorithms::barrier_dissemination},
    {Collective::barrier, "two_level", "", has_levels,
     [](S s, M c) { return messages(c, 2 * node_rounds(s), 0) + between(c, between_rounds(s), 0); },
     algorithms::barrier_two_level, true},

    {Collective::broadcast, "binomial", "Chan et al. 2007", always,
     [](S s, M c) { return messages(c, rounds(s), rounds(s) * bytes(s)); }, algorithms::broadcast_binomial},
    {Collective::broadcast, "linear", "", always,
     [](S s, M c) { return messages(c, 0.6 + 0.4 * others(s), others(s) * bytes(s)); },
     algorithms::broadcast_linear},
    {Collective::broadcast, "scatter_allgather", "Thakur, Gropp 2003", always,
     [](S s, M c) { return messages(c, rounds(s) + others(s), 2 * fraction(s) * bytes(s)); },
     algorithms::broadcast_scatter_allgather},
    {Collective::broadcast, "two_level", "Karonis et al. 2000", has_levels,
     [](S s, M c) { return broadcast_between(s, c) + broadcast_on_node(s, c, bytes(s)); },
     algorithms::broadcast_two_level, true},
    {Collective::broadcast, "multicast", "Mamidala et al. 2006", has_multicast,
     [](S s, M c) { return multicast_between(s, c) + broadcast_after_multicast(s, c); },
     algorithms::broadcast_multicast, true},

    {Collective::gather, "binomial", "Chan et al. 2007", always, link_costs::gather_binomial,
     algorithms::gather_binomial, false, true},
    {Collective::gather, "linear", "", always, link_costs::gather_linear, algorithms::gather_linear, false,
     true},
    {Collective::gather, "two_level", "Karonis et al. 2000", has_levels, link_costs::gather_two_level,
     algorithms::gather_two_level, true},
    {Collective::gatherv, "linear", "", always, [](S, M) { return 0.0; }, algorithms::gather_linear},
    {Collective::scatter, "binomial", "Chan et al. 2007", always, link_costs::scatter_binomial,
     algorithms::scatter_binomial, false, true},
    {Collective::scatter, "linear", "", always, link_costs::scatter_linear, algorithms::scatter_linear, false,
     true},
    {Collective::scatter, "two_level", "Karonis et al. 2000", has_levels, link_costs::scatter_two_level,
     algorithms::scatter_two_level, true},
    {Collective::scatterv, "linear", "", always, [](S, M) { return 0.0; }, algorithms::scatter_linear},

    {Collective::allgather, "recursive_doubling", "Thakur, Rabenseifner, Gropp 2005", power_of_two,
     [](S s, M c) { return messages(c, rounds(s), others(s) * bytes(s)); },
     algorithms::allgather_recursive_doubling},
    {Collective::allgather, "bruck", "Bruck et al. 1997", always,
     [](S s, M c) { return messages(c, rounds(s), 2 * others(s) * bytes(s)); }, algorithms::allgather_bruck},
    {Collective::allgather, "ring", "Chan et al. 2007", always,
     [](S s, M c) { return to_next(c, others(s), others(s) * bytes(s)); }, algorithms::allgather_ring},
    {Collective::allgather, "linear", "", always,
     [](S s, M c) { return messages(c, 0.6 + 0.7 * others(s), 1.1 * others(s) * bytes(s)); },
     algorithms::allgather_linear},
    {Collective::allgather, "two_level", "", has_levels, allgather_two_levels,
     algorithms::allgather_two_level, true},
    {Collective::allgatherv, "bruck", "Bruck et al. 1997", always,
     [](S s, M c) { return messages(c, rounds(s), 2 * others(s) * bytes(s)); }, algorithms::allgather_bruck},
    {Collective::allgatherv, "ring", "Chan et al. 2007", always,
     [](S s, M c) { return to_next(c, others(s), others(s) * bytes(s)); }, algorithms::allgather_ring},
    {Collective::allgatherv, "linear", "", always,
     [](S s, M c) { return messages(c, 0.6 + 0.7 * others(s), 1.1 * others(s) * bytes(s)); },
     algorithms::allgather_linear},
    {Collective::allgatherv, "two_level", "", has_levels, allgather_two_levels,
     algorithms::allgather_two_level, true},

    {Collective::alltoall, "bruck", "Bruck et al. 1997", always, link_costs::alltoall_bruck,
     algorithms::alltoall_bruck, false, true},
    {Collective::alltoall, "linear", "", always, link_costs::alltoall_linear, algorithms::alltoall_linear,
     false, true},
    {Collective::alltoall, "pairwise", "Thakur, Rabenseifner, Gropp 2005", always,
     link_costs::alltoall_pairwise, algorithms::alltoall_pairwise, false, true},
    {Collective::alltoall, "two_level", "", has_levels, link_costs::alltoall_two_level,
     algorithms::alltoall_two_level, true},
    {Collective::alltoallv, "linear", "", always, [](S, M) { return 0.0; }, algorithms::alltoall_linear},
    {Collective::alltoallv, "pairwise", "", always, [](S, M) { return 1.0; }, algorithms::alltoall_pairwise},
    {Collective::alltoallw, "linear", "", always, [](S, M) { return 0.0; }, algorithms::alltoall_linear},
    {Collective::alltoallw, "pairwise", "", always, [](S, M) { return 1.0; }, algorithms::alltoall_pairwise},

    {Collective::reduce, "binomial", "Chan et al. 2007", always,
     [](S s, M c) {
       return messages(c, rounds(s), rounds(s) * bytes(s)) + rounds(s) * bytes(s) * c.reduce_per_byte;
     },
     algorithms::reduce_binomial},
    {Collective::reduce, "linear", "", always,
     [](S s, M c) {
       return messages(c, 0.6 + 0.5 * others(s), others(s) * bytes(s)) +
              others(s) * bytes(s) * c.reduce_per_byte;
     },
     algorithms::reduce_linear},
    {Collective::reduce, "rabenseifner", "Rabenseifner 2004", divisible,
     [](S s, M c) {
       return messages(c, 2 * rounds(s), (2 * fraction(s) + folded(s)) * bytes(s)) +
              (fraction(s) + folded(s)) * bytes(s) * c.reduce_per_byte;
     },
     algorithms::reduce_rabenseifner},
    {Collective::reduce, "two_level", "Karonis et al. 2000", levels_in_order,
     [](S s, M c) {
       return reduce_on_node(s, c) + broadcast_between(s, c) +
              std::min(between_rounds(s), 1.5) * bytes(s) * c.reduce_per_byte;
     },
     algorithms::reduce_two_level, true},

    {Collective::allreduce, "recursive_doubling", "Thakur, Rabenseifner, Gropp 2005", always,
     [](S s, M c) {
       const double times = rounds(s) + folded(s);
       return messages(c, times, times * bytes(s)) + rounds(s) * bytes(s) * c.reduce_per_byte;
     },
     algorithms::allreduce_recursive_doubling},
    {Collective::allreduce, "rabenseifner", "Rabenseifner 2004", divisible,
     [](S s, M c) {
       return messages(c, 2 * rounds(s) + folded(s), (2 * fraction(s) + 2 * folded(s)) * bytes(s)) +
              (fraction(s) + folded(s)) * bytes(s) * c.reduce_per_byte;
     },
     algorithms::allreduce_rabenseifner},
    {Collective::allreduce, "ring", "Patarasuk, Yuan 2009", divisible,
     [](S s, M c) {
       return to_next(c, 2 * others(s), 2 * fraction(s) * bytes(s)) +
              fraction(s) * bytes(s) * c.reduce_per_byte;
     },
     algorithms::allreduce_ring},
    {Collective::allreduce, "two_level", "Thakur, Gropp 2003", levels_in_order,
     [](S s, M c) {
       const double few = between(c, between_rounds(s), between_rounds(s) * bytes(s));
       const double many = between(c, 2 * between_rounds(s), 2 * between_fraction(s) * bytes(s));
       return reduce_on_node(s, c) + std::min(few, many) + bytes(s) * c.reduce_per_byte +
              broadcast_on_node(s, c, bytes(s));
     },
     algorithms::allreduce_two_level, true},

    {Collective::reduce_scatter_block, "recursive_halving", "Thakur, Rabenseifner, Gropp 2005", commutative,
     link_costs::reduce_scatter_halving, algorithms::reduce_scatter_recursive_halving, false, true},
    {Collective::reduce_scatter_block, "pairwise", "Thakur, Rabenseifner, Gropp 2005", commutative,
     link_costs::reduce_scatter_pairwise, algorithms::reduce_scatter_pairwise, false, true},
    {Collective::reduce_scatter_block, "two_level", "", levels_in_order, link_costs::reduce_scatter_two_level,
     algorithms::reduce_scatter_two_level, true},
    {Collective::reduce_scatter_block, "reduce_scatter", "", always, [](S, M) { return 1e18; },
     algorithms::reduce_scatter_reduce_scatter},
    {Collective::reduce_scatter, "recursive_halving", "Thakur, Rabenseifner, Gropp 2005", commutative,
     link_costs::reduce_scatter_halving, algorithms::reduce_scatter_recursive_halving, false, true},
    {Collective::reduce_scatter, "pairwise", "Thakur, Rabenseifner, Gropp 2005", commutative,
     link_costs::reduce_scatter_pairwise, algorithms::reduce_scatter_pairwise, false, true},
    {Collective::reduce_scatter, "two_level", "", levels_in_order, link_costs::reduce_scatter_two_level,
     algorithms::reduce_scatter_two_level, true},
    {Collective::reduce_scatter, "reduce_scatter", "", always, [](S, M) { return 1e18; },
     algorithms::reduce_scatter_reduce_scatter},

    {Collective::scan, "recursive_doubling", "Hillis, Steele 1986", always,
     [](S s, M c) { return messages(c, rounds(s), rounds(s) * bytes(s) * 2); },
     algorithms::scan_recursive_doubling},
    {Collective::scan, "linear", "", always,
     [](S s, M c) { return messages(c, others(s), others(s) * bytes(s)); }, algorithms::scan_linear},
    {Collective::exscan, "recursive_doubling", "Hillis, Steele 1986", always,
     [](S s, M c) { return messages(c, rounds(s), rounds(s) * bytes(s) * 2); },
     algorithms::scan_recursive_doubling},
    {Collective::exscan, "linear", "", always,
     [](S s, M c) { return messages(c, others(s), others(s) * bytes(s)); }, algorithms::scan_linear},
};

}  // namespace

std::span<const Algorithm> algorithm_table() { return table; }

}  // namespace hawser
