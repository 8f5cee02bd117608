#include "collective/link_costs.h"

#include <algorithm>
#include <bit>
#include <cmath>

#include "collective/node_costs.h"

namespace hawser::link_costs {

namespace {

using S = const Shape&;
using M = const TransferCosts&;

// The way from one rank to another. `message`: what each message more takes if one rank has several under
// way at once.
struct Way {
  double latency;
  double message;
  double per_byte;
  double short_per_byte;  // of no more than a packet
  double packet;          // longer messages cost `rendezvous` more
  double rendezvous;
  double nearest_per_byte;  // over the nearest rail alone
  double detour;            // what the other rails more take one way, by their share of the bytes

  double waits(double bytes) const { return latency + (bytes > packet ? rendezvous : 0); }
  double moves(double bytes) const {
    return bytes > packet ? over_all(bytes, bytes * per_byte) : bytes * short_per_byte;
  }
  // Over all rails, which takes so long where none is farther, or over the nearest alone. What is asked for
  // goes to and fro, and packets leave the nearest rail late.
  double over_all(double bytes, double without) const {
    return detour == 0 ? without : std::min(bytes * nearest_per_byte, without + 2 * detour);
  }
  double step(double bytes) const { return waits(bytes) + moves(bytes); }
  // Of several that a rank receives, without the first one's latency.
  double at_once(double count, double bytes) const { return count * (message + bytes * per_byte); }
};

Way near(M c) {
  return {c.latency, c.message, c.per_byte, c.short_per_byte, c.packet, c.rendezvous, c.per_byte, 0};
}
// `sharing` ranks of the node do the same.
Way far(M c, double sharing, bool other_switch) {
  const double shared = c.between_per_byte * sharing;
  const double more = other_switch ? c.between_switches : 0,
               more_asked = other_switch ? c.between_switches_asked - c.between_switches : 0;
  return {c.between_step + more,
          c.between_message,
          shared,
          std::max(shared, c.between_short_per_byte),
          c.between_packet,
          c.between_rendezvous + more_asked,
          c.between_short_per_byte * sharing,
          c.between_detour * (1 - c.between_per_byte / c.between_short_per_byte)};
}

// Whether some of the nodes that are `distance` ranks apart have different switches, so that who waits for
// all in turn waits for those; and whether the way down a tree crosses to another switch there.
bool several_switches(S s, M c) { return s.nodes > c.switch_nodes; }
double node_distance(S s, int distance) { return static_cast<double>(distance) * s.nodes / s.ranks; }
bool some_cross(S s, M c, int distance) {
  return several_switches(s, c) && 4 * node_distance(s, distance) >= c.switch_nodes;
}
bool tree_crosses(S s, M c, int distance) {
  return several_switches(s, c) && 2 * node_distance(s, distance) >= c.switch_nodes;
}

// Among one rank of each node there are no others on its node. `most_on_node` then says how many share the
// link.
bool node_each(S s) { return s.nodes > 1 && s.nodes == s.ranks; }
int near_others(S s) { return s.nodes == 1 ? s.ranks - 1 : node_each(s) ? 0 : s.most_on_node - 1; }
int far_others(S s) { return s.ranks - 1 - near_others(s); }

// Ranks that are `distance` apart exchange messages or hand them on.
Way to_partner(S s, M c, int distance) {
  if (s.nodes == 1) return near(c);
  if (!node_each(s) && s.nodes_in_order && distance < s.most_on_node) return near(c);
  return far(c, s.most_on_node, some_cross(s, c, distance));
}
// Within a node, who sends before it takes what came for it is later by this.
constexpr double taking_turns = 200;
// Each sends to the rank that is `distance` further: of ranks in order no more than that leave the node. A
// short message that was handed on thus waits long only between nodes; for longer ones all wait for the
// slowest, and the slowest link's rate counts for all.
double shift(S s, M c, int distance, double bytes) {
  if (s.nodes == 1) return near(c).step(bytes);
  const bool cross = some_cross(s, c, distance) || (several_switches(s, c) && bytes > c.between_packet);
  if (node_each(s) || !s.nodes_in_order) return far(c, s.most_on_node, cross).step(bytes);
  const int leaving = std::min(distance, s.most_on_node);
  const Way way = far(c, leaving, cross), close = near(c);
  if (bytes > way.packet) return std::max(way.step(bytes), close.step(bytes));
  const double share = static_cast<double>(leaving) / s.most_on_node;
  return std::max(share * way.step(bytes) + (1 - share) * (close.step(bytes) + taking_turns),
                  std::max(way.moves(bytes), close.moves(bytes)));
}
// In a tree there are fewer senders for longer distances.
Way in_tree(S s, M c, int distance) {
  if (s.nodes == 1) return near(c);
  const bool cross = tree_crosses(s, c, distance);
  if (node_each(s)) return far(c, 1, cross);
  if (s.nodes_in_order) return distance < s.most_on_node ? near(c) : far(c, 1, cross);
  return far(c, std::clamp(s.ranks / (2 * distance * s.nodes), 1, s.most_on_node), cross);
}

// What is copied in memory, in so many pieces.
double copies(M c, double pieces, double bytes) { return pieces * c.copy + bytes * c.copy_per_byte; }

double others(S s) { return s.ranks - 1; }
int positions(S s) { return static_cast<int>(std::bit_floor(static_cast<unsigned>(s.ranks))); }
bool folded(S s) { return positions(s) != s.ranks; }

// Steps of a ring. What is asked for is asked while the rank serves its other neighbour: the answers cost its
// processor time, and to another switch they wait behind a packet.
constexpr double both_neighbors = 450;
double around_ring(S s, M c, double steps, double bytes) {
  const double step = shift(s, c, 1, bytes);
  if (s.nodes == 1 || bytes <= c.between_packet) return steps * step;
  return steps *
         (step + both_neighbors + (several_switches(s, c) ? c.between_packet * c.between_per_byte : 0));
}

// Partners at each of the distances 1, 2, 4 ... exchange as much.
double doubling(S s, M c, double bytes) {
  double cost = 0;
  for (int distance = 1; distance < positions(s); distance *= 2)
    cost += to_partner(s, c, distance).step(bytes);
  return cost;
}
// Each of them has a part in proportion to the distance, and all together nearly `bytes`.
double halving(S s, M c, double bytes) {
  double cost = 0;
  for (int distance = 1; distance < positions(s); distance *= 2)
    cost += to_partner(s, c, distance).step(bytes * distance / positions(s));
  return cost;
}
double halved(S s, double bytes) { return bytes * (positions(s) - 1) / positions(s); }
// Ranks that stand aside hand what they have to their neighbours, or get the result.
double fold(S s, M c, double bytes) { return folded(s) ? to_partner(s, c, 1).step(bytes) : 0; }

double rounds(S s) { return std::ceil(std::log2(s.ranks)); }

// The same data go down a binomial tree, or up. Or each subtree's blocks.
double down_tree(S s, M c, double bytes) {
  double cost = 0;
  for (int distance = 1; distance < s.ranks; distance *= 2) cost += in_tree(s, c, distance).step(bytes);
  return cost;
}
double blocks_down_tree(S s, M c, double block) {
  double cost = 0;
  for (int distance = 1; distance < s.ranks; distance *= 2)
    cost += in_tree(s, c, distance).step(std::min(distance, s.ranks - distance) * block);
  return cost;
}

// The first message that the root of a tree sends crosses to another switch while it sends the others.
double crosses_first(S s, M c, double bytes) {
  return several_switches(s, c) && bytes <= c.between_packet ? 0.8 * c.between_switches : 0;
}

// Each position has the sum of its part of `bytes`; then all parts go up a tree, where senders become fewer.
double scattered_sums(S s, M c, double m) {
  return fold(s, c, m) + halving(s, c, m) + (halved(s, m) + (folded(s) ? m : 0)) * c.reduce_per_byte;
}
double parts_up_tree(S s, M c, double m) {
  double cost = 0;
  for (int distance = 1; distance < positions(s); distance *= 2)
    cost += in_tree(s, c, distance).step(m * distance / positions(s));
  return cost;
}

// How many times longer than in turns links take where every rank of several nodes sends to each. Below one
// switch, single ranks' messages that are not long meet only at their receivers; but over several rails more
// of them than the others on one rail.
double unevenness_at_once(S s, M c, double m, bool several_rails) {
  if (s.nodes == 2) return 1.1;
  if (!node_each(s)) return m > c.between_packet ? 2 : 1.7;
  const bool only_at_receivers = s.most_on_node == 1 && !several_switches(s, c) && !several_rails;
  return only_at_receivers && m <= 4 * c.between_packet ? 1.15 : 2;
}

// Every rank sends to each, of several nodes. It receives as many; and the links are shared less well than in
// turns, where more than two nodes send to one. While one is asked, what others have sent comes.
double all_at_once(S s, M c, double m) {
  const Way way = far(c, s.most_on_node, several_switches(s, c));
  const double close = near(c).at_once(1.5 * near_others(s), m);
  const bool several = c.between_short_per_byte > c.between_per_byte;
  const double count = far_others(s), all = count * m * way.per_byte;
  const double alone = unevenness_at_once(s, c, m, false) * count * m;
  const double link = way.over_all(alone, unevenness_at_once(s, c, m, several) * all) / std::max(count, 1.0);
  const double message = (node_each(s) && m <= way.packet ? 1.7 : 2.2) * way.message;
  const double each =
      m > way.packet ? message + std::max(0.4 * way.rendezvous, link) : std::max(message, link);
  return way.waits(m) + std::max(close, far_others(s) * each);
}

// Ranks in a tree copy their own block. A root that is not rank 0 has the others' blocks in another order
// than its tree.
double in_other_order(S s, M c) {
  const int blocks = s.root_first ? 1 : s.ranks;
  return copies(c, blocks, blocks * bytes(s));
}

// A leader hands nothing on before it has all of its node's. What comes through an area is all there.
double handing_on(const NodeCost& node) { return node.by_area ? 0 : 600; }
// Of a gather, the leader has put its own there, too.
double handing_blocks_on(const NodeCost& node) { return node.by_area ? 450 : 600; }

// A link's time for messages of several ranks. Its rails get unequal shares, by a message at the end; and
// short ones more unequal ones, if each of their senders takes a rail without knowing of the others.
double over_rails(M c, const Way& way, double count, double bytes, bool one_sender) {
  const bool several = c.between_short_per_byte > c.between_per_byte, asked = bytes > way.packet;
  const double uneven = !several ? 1 : asked || one_sender ? 1.03 : 1.25;
  const double one_rail = std::max(c.between_short_per_byte - c.between_per_byte, 0.0);
  const double last = asked ? std::min(bytes, c.between_packet) * one_rail : 0;
  return std::max(way.over_all(count * bytes, count * bytes * way.per_byte * uneven + last),
                  asked ? 0 : bytes * way.short_per_byte);
}

// A root receives from every rank. Its processor and its link work at the same time, and so do its node and
// the link; what it must ask for takes its processor longer.
constexpr double asked_messages = 3.2;  // so many others
double all_to_root(S s, M c, double m) {
  if (s.nodes == 1) return near(c).waits(m) - c.message + near(c).at_once(near_others(s), m);
  const Way way = far(c, 1, several_switches(s, c));
  const double count = far_others(s), link = over_rails(c, way, count, m, false);
  const double all = m > way.packet
                         ? std::max(count * asked_messages * way.message, count * way.message + link)
                         : std::max(count * way.message, link);
  return way.waits(m) - way.message + std::max(near(c).at_once(near_others(s), m), all);
}
// To send a message takes less time than to receive one, and those who get it ask for it at the same time.
// All are sent before the first is copied.
TransferCosts of_sends(M c) {
  TransferCosts costs = c;
  costs.between_message *= 0.75;
  return costs;
}
double root_to_all(S s, M given, double m) {
  const TransferCosts c = of_sends(given);
  if (s.nodes == 1) return all_to_root(s, c, m);
  const Way way = far(c, 1, several_switches(s, c));
  const double count = far_others(s);
  const double close = near(c).at_once(near_others(s), m);
  const double both = std::max((m > way.packet ? asked_messages : 1) * count * way.message,
                               over_rails(c, way, count, m, true));
  return way.waits(m) - way.message + (m > way.packet ? std::max(close, both) : close + both);
}

// Where ranks of a node do not follow each other, blocks are put in the order of nodes, or out of it.
double node_by_node(S s, M c) { return s.nodes_in_order ? 0 : copies(c, s.ranks, s.ranks * bytes(s)); }

}  // namespace

double barrier_dissemination(S s, M c) {
  double cost = 0;
  for (int distance = 1; distance < s.ranks; distance *= 2) cost += shift(s, c, distance, 0);
  return cost;
}
double barrier_two_level(S s, M c) {
  const double node = s.teams || s.lanes ? team_arrives(s, c) + team_broadcast(c, 0)
                                         : down_tree(within(s, 0), c, 0) * 2 + handing_on({});
  return node + barrier_dissemination(across(s, 0, 1), c);
}

// Unless ranks are a power of two, nobody is as many steps from the root as there are distances: while its
// first message is on the way, the next one follows.
double broadcast_binomial(S s, M c) {
  const Way first = in_tree(s, c, positions(s));
  const bool follows = s.nodes > 1 && folded(s) && bytes(s) <= first.packet;
  return down_tree(s, c, bytes(s)) - crosses_first(s, c, bytes(s)) -
         (follows ? first.latency - first.message : 0);
}
// A leader with an area comes to its node's part when all that it sends has gone.
double broadcast_linear(S s, M c) {
  const double node_waits = node_each(s) && s.teams ? others(s) * of_sends(c).between_message : 0;
  return root_to_all(s, c, bytes(s)) + node_waits;
}
double broadcast_scatter_allgather(S s, M c) {
  const double piece = bytes(s) / s.ranks;
  return blocks_down_tree(s, c, piece) + around_ring(s, c, others(s), piece);
}
double broadcast_two_level(S s, M c) {
  Shape node = s;
  node.lanes = s.lanes && !root_serves_leaders(s, c);
  return cheapest_broadcast(across(s, bytes(s), 1), c) + node_broadcast(node, c, bytes(s)).cost;
}

double gather_linear(S s, M c) { return all_to_root(s, c, bytes(s)); }

// Whoever has several children between nodes receives from one after the other.
double gather_binomial(S s, M c) {
  const double children = s.nodes > 1 ? std::log2(s.nodes) * c.between_message : 0;
  return blocks_down_tree(s, c, bytes(s)) + children + in_other_order(s, c);
}

double gather_two_level(S s, M c) {
  const NodeCost node = node_gather(s, c, bytes(s));
  return node.cost + handing_blocks_on(node) + cheapest_gather(across(s, s.most_on_node * bytes(s), 1), c) +
         node_by_node(s, c);
}

// Through an area, a root's node gets its blocks when all others are sent, and what came of that is taken
// out.
double scatter_linear(S s, M c) {
  const double node_waits = node_each(s) && s.teams ? others(s) * 1.6 * of_sends(c).between_message : 0;
  return std::max(root_to_all(s, c, bytes(s)), node_waits);
}
double scatter_binomial(S s, M c) {
  return blocks_down_tree(s, c, bytes(s)) - crosses_first(s, c, s.ranks * bytes(s) / 2) +
         in_other_order(s, c);
}
double scatter_two_level(S s, M c) { return scatter_levels(s, c).cost + node_by_node(s, c); }

double allgather_recursive_doubling(S s, M c) {
  double cost = 0;
  for (int distance = 1; distance < s.ranks; distance *= 2)
    cost += to_partner(s, c, distance).step(distance * bytes(s));
  return cost;
}
double allgather_bruck(S s, M c) {
  double cost = copies(c, s.ranks, 2 * others(s) * bytes(s));
  for (int distance = 1; distance < s.ranks; distance *= 2)
    cost += shift(s, c, distance, std::min(distance, s.ranks - distance) * bytes(s));
  return cost;
}
double allgather_ring(S s, M c) { return around_ring(s, c, others(s), bytes(s)); }
double allgather_linear(S s, M c) {
  const double m = bytes(s);
  const Way close = near(c);
  if (s.nodes == 1) return 0.6 * close.latency + others(s) * (0.7 * close.latency + 1.1 * m * close.per_byte);
  return all_at_once(s, c, m);
}
double allgather_two_level(S s, M c) {
  const NodeCost node = node_gather(s, c, bytes(s));
  return (node.by_area ? node.cost : gather_linear(within(s, bytes(s)), c)) +
         cheapest_allgather(across(s, s.most_on_node * bytes(s), 1), c) +
         node_broadcast(s, c, s.ranks * bytes(s)).cost + node_by_node(s, c);
}

double alltoall_bruck(S s, M c) {
  double cost = 0;
  const double half = s.ranks / 2 * bytes(s);
  for (int distance = 1; distance < s.ranks; distance *= 2)
    cost += shift(s, c, distance, half) + copies(c, s.ranks, 4 * half);
  return cost;
}

double alltoall_linear(S s, M c) {
  const double m = bytes(s);
  if (s.nodes == 1) return 0.6 * c.latency + near(c).at_once(1.5 * near_others(s), 0.8 * m);
  return all_at_once(s, c, m);
}

double alltoall_pairwise(S s, M c) {
  if (s.nodes == 1) return (s.ranks - 1) * near(c).step(bytes(s));
  const int close = s.nodes_in_order ? near_others(s) : 0;
  // Among carriers, several of a node send to one other at once, and some over the same rail.
  const Way way = far(c, s.most_on_node, several_switches(s, c));
  const bool meet = (node_each(s) && s.most_on_node > 1) || several_switches(s, c);
  const double crowded = meet && bytes(s) <= way.packet ? 1.5 : 1;
  return close * near(c).step(bytes(s)) +
         (s.ranks - 1 - close) * (way.waits(bytes(s)) + crowded * way.moves(bytes(s)));
}

double alltoall_two_level(S s, M c) {
  const double all = s.ranks * bytes(s), to_each = s.nodes * bytes(s);
  const NodeCost node = node_alltoall(s, c, to_each);
  const double copied = node.by_area ? copies(c, 2 * s.ranks, 2 * to_each) : copies(c, 3 * s.ranks, 3 * all);
  return copied + node.cost + cheapest_alltoall(across(s, s.most_on_node * bytes(s), s.most_on_node), c);
}

// Each message is taken out alone.
double reduce_binomial(S s, M c) {
  const double alone =
      s.nodes > 1 && bytes(s) <= c.between_packet ? std::log2(s.nodes) * c.between_message / 2 : 0;
  return down_tree(s, c, bytes(s)) + alone + rounds(s) * bytes(s) * c.reduce_per_byte;
}
// The root receives from one after the other. So it asks for each alone, though what it asks for was told
// long before, and takes out each message alone.
double reduce_linear(S s, M c) {
  const double m = bytes(s);
  const Way close = near(c), way = s.nodes == 1 ? close : far(c, 1, several_switches(s, c));
  const double close_one = m > close.packet ? close.step(m) : close.message + close.moves(m);
  const double far_one =
      m > way.packet ? 0.8 * way.rendezvous + way.moves(m) : std::max(1.5 * way.message, way.moves(m));
  return way.latency + near_others(s) * close_one + far_others(s) * far_one +
         others(s) * m * c.reduce_per_byte;
}
double reduce_rabenseifner(S s, M c) {
  const double m = bytes(s);
  return scattered_sums(s, c, m) + parts_up_tree(s, c, m);
}
double reduce_two_level(S s, M c) {
  const NodeCost node = node_reduce(s, c, bytes(s));
  return node.cost + handing_on(node) + cheapest_reduce(across(s, bytes(s), 1), c);
}

double allreduce_recursive_doubling(S s, M c) {
  const double m = bytes(s);
  return 2 * fold(s, c, m) + doubling(s, c, m) + rounds(s) * m * c.reduce_per_byte;
}
double allreduce_rabenseifner(S s, M c) {
  const double m = bytes(s);
  return scattered_sums(s, c, m) + halving(s, c, m) + fold(s, c, m);
}
double allreduce_ring(S s, M c) {
  return around_ring(s, c, 2 * others(s), bytes(s) / s.ranks) +
         bytes(s) * others(s) / s.ranks * c.reduce_per_byte;
}
double allreduce_two_level(S s, M c) {
  return node_reduce(s, c, bytes(s)).cost + cheapest_allreduce(across(s, bytes(s), 1), c) +
         node_broadcast(s, c, bytes(s)).cost;
}

double reduce_scatter_halving(S s, M c) {
  const double m = bytes(s);
  return fold(s, c, m) + fold(s, c, m / s.ranks) + halving(s, c, m) +
         (halved(s, m) + (folded(s) ? m : 0)) * c.reduce_per_byte;
}

// While some reduce, others of their node have the link.
double reduce_scatter_pairwise(S s, M c) {
  const double part = bytes(s) / s.ranks;
  const int close = s.nodes == 1 || s.nodes_in_order ? near_others(s) : 0;
  const double far_ones = s.nodes == 1 ? 0 : far(c, s.most_on_node, several_switches(s, c)).step(part);
  return close * near(c).step(part) + (s.ranks - 1 - close) * far_ones +
         (close > 0 && s.nodes > 1 ? 0.7 : 1) * part * (s.ranks - 1) * c.reduce_per_byte;
}

double reduce_scatter_two_level(S s, M c) {
  return copies(c, s.ranks, bytes(s)) + node_reduce_scatter(s, c, bytes(s)).cost +
         cheapest_reduce_scatter(across(s, bytes(s) / s.most_on_node, s.most_on_node), c);
}

// Each round brings two partial results, the last one a single one.
double scan_recursive_doubling(S s, M c) {
  double cost = fold(s, c, 2 * bytes(s));
  for (int distance = 1; distance < positions(s); distance *= 2)
    cost += to_partner(s, c, distance).step((2 * distance < positions(s) ? 2 : 1) * bytes(s));
  return cost;
}
double scan_linear(S s, M c) {
  const int between = s.nodes - 1;
  return (others(s) - between) * near(c).step(bytes(s)) +
         between * far(c, 1, several_switches(s, c)).step(bytes(s));
}

}  // namespace hawser::link_costs
