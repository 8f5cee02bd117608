#include "collective/link_costs.h"

#include <algorithm>
#include <bit>
#include <cmath>

namespace hawser::link_costs {

namespace {

using S = const Shape&;
using M = const TransferCosts&;

// The way from one rank to another. `message`: what each message more takes if one rank has several under
// way.
struct Way {
  double latency;
  double message;
  double per_byte;
  double packet;  // longer messages cost `rendezvous` more
  double rendezvous;

  double step(double bytes) const { return latency + bytes * per_byte + (bytes > packet ? rendezvous : 0); }
  double steps(double count, double bytes) const { return count * step(bytes); }
  // Without the first one's latency.
  double at_once(double count, double bytes) const { return count * (message + bytes * per_byte); }
};

Way near(M c) { return {c.latency, c.message, c.per_byte, 0, 0}; }
// `sharing` ranks of the node do the same.
Way far(M c, double sharing) {
  return {c.between_step, c.between_message, c.between_per_byte * sharing, c.between_packet,
          c.between_rendezvous};
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
  return far(c, s.most_on_node);
}
// Each sends to the rank that is `distance` further, so that of ranks in order no more than that leave the
// node.
Way to_further(S s, M c, int distance) {
  if (s.nodes == 1) return near(c);
  return far(c, node_each(s) || !s.nodes_in_order ? s.most_on_node : std::min(distance, s.most_on_node));
}
// In a tree there are fewer senders for longer distances.
Way in_tree(S s, M c, int distance) {
  if (s.nodes == 1) return near(c);
  if (node_each(s)) return far(c, 1);
  if (s.nodes_in_order) return distance < s.most_on_node ? near(c) : far(c, 1);
  return far(c, std::clamp(s.ranks / (2 * distance * s.nodes), 1, s.most_on_node));
}

// What is copied in memory, in so many pieces.
double copies(M c, double pieces, double bytes) { return pieces * 3 + bytes * c.per_byte / 2; }

// The two levels of an operation: among the ranks of a node, and among ranks of all nodes.
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

// A leader hands nothing on before it has all of its node's.
constexpr double handing_on = 600;

// To send a message takes half of the time in which one is received.
TransferCosts of_sends(M c) {
  TransferCosts costs = c;
  costs.between_message /= 2;
  return costs;
}

double cheapest_gather(S s, M c) { return std::min(gather_linear(s, c), gather_binomial(s, c)); }
double cheapest_alltoall(S s, M c) {
  return std::min({alltoall_bruck(s, c), alltoall_linear(s, c), alltoall_pairwise(s, c)});
}
double cheapest_reduce_scatter(S s, M c) {
  return std::min(reduce_scatter_halving(s, c), reduce_scatter_pairwise(s, c));
}

}  // namespace

// The root copies what its node's ranks have while the link brings the rest.
double gather_linear(S s, M c) {
  const double m = bytes(s);
  const int distant = far_others(s);
  const Way way = distant > 0 ? far(c, 1) : near(c);
  const double messages = near_others(s) * c.message + distant * c.between_message - way.message;
  return way.latency + (m > way.packet ? way.rendezvous : 0) + messages +
         m * std::max(near_others(s) * c.per_byte, distant * c.between_per_byte);
}

double gather_binomial(S s, M c) {
  double cost = 0;
  for (int distance = 1; distance < s.ranks; distance *= 2) {
    const int blocks = std::min(distance, s.ranks - distance);
    cost += in_tree(s, c, distance).step(blocks * bytes(s));
  }
  return cost + copies(c, 0, s.ranks * bytes(s));
}

double gather_two_level(S s, M c) {
  const double copied = s.nodes_in_order ? 0 : copies(c, s.ranks, s.ranks * bytes(s));
  return cheapest_gather(within(s, bytes(s)), c) +
         cheapest_gather(across(s, s.most_on_node * bytes(s), 1), c) + handing_on + copied;
}

double scatter_linear(S s, M c) { return gather_linear(s, of_sends(c)); }
double scatter_binomial(S s, M c) { return gather_binomial(s, of_sends(c)); }
double scatter_two_level(S s, M c) { return gather_two_level(s, of_sends(c)); }

double alltoall_bruck(S s, M c) {
  double cost = 0;
  const double half = s.ranks / 2 * bytes(s);
  for (int distance = 1; distance < s.ranks; distance *= 2)
    cost += to_further(s, c, distance).step(half) + copies(c, s.ranks, 4 * half);
  return cost;
}

// A rank sends as many as it receives, and for longer ones the paths are shared less well than in turns.
double alltoall_linear(S s, M c) {
  const double m = bytes(s);
  const int distant = far_others(s);
  if (distant == 0) return 0.6 * c.latency + near(c).at_once(1.5 * near_others(s), 0.8 * m);
  const Way way = far(c, s.most_on_node);
  return way.latency + (m > way.packet ? way.rendezvous : 0) + near(c).at_once(1.5 * near_others(s), m) +
         distant * (2.5 * way.message + 1.2 * m * way.per_byte);
}

double alltoall_pairwise(S s, M c) {
  if (s.nodes == 1) return near(c).steps(s.ranks - 1, bytes(s));
  const int close = s.nodes_in_order ? near_others(s) : 0;
  return near(c).steps(close, bytes(s)) + far(c, s.most_on_node).steps(s.ranks - 1 - close, bytes(s));
}

double alltoall_two_level(S s, M c) {
  const double all = s.ranks * bytes(s);
  return copies(c, 3 * s.ranks, 3 * all) + cheapest_alltoall(within(s, s.nodes * bytes(s)), c) +
         cheapest_alltoall(across(s, s.most_on_node * bytes(s), s.most_on_node), c);
}

double reduce_scatter_halving(S s, M c) {
  const auto positions = static_cast<int>(std::bit_floor(static_cast<unsigned>(s.ranks)));
  double cost = 0, reduced = 0;
  for (int distance = positions / 2; distance > 0; distance /= 2) {
    const double part = bytes(s) * distance / positions;
    cost += to_partner(s, c, distance).step(part);
    reduced += part;
  }
  if (positions != s.ranks) {
    cost += to_partner(s, c, 1).step(bytes(s)) + to_partner(s, c, 1).step(bytes(s) / s.ranks);
    reduced += bytes(s);
  }
  return cost + reduced * c.reduce_per_byte;
}

double reduce_scatter_pairwise(S s, M c) {
  const double part = bytes(s) / s.ranks;
  const Way way = s.nodes == 1 ? near(c) : far(c, s.most_on_node);
  return way.steps(s.ranks - 1, part) + part * (s.ranks - 1) * c.reduce_per_byte;
}

double reduce_scatter_two_level(S s, M c) {
  return copies(c, s.ranks, bytes(s)) + cheapest_reduce_scatter(within(s, bytes(s)), c) +
         cheapest_reduce_scatter(across(s, bytes(s) / s.most_on_node, s.most_on_node), c);
}

}  // namespace hawser::link_costs
