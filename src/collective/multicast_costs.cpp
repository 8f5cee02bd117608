// What the rows cost that go by multicast, fitted to what experiment/multicast_broadcast and
// experiment/collective_choice measure with two rails of 1 and of 12.5 GB/s.
#include <algorithm>
#include <cmath>

#include "collective/link_costs.h"
#include "collective/multicast/multicast_sender.h"
#include "collective/node_costs.h"

namespace hawser::link_costs {

namespace {

constexpr double packet_size = 2000, area_piece_size = 16 << 10, window = MulticastSender::window;

Shape one_node(const Shape& shape) {
  Shape node = shape;
  node.nodes = 1;
  node.ranks = shape.multicast_most_on_node;
  node.lanes = false;
  return node;
}

// Within the nodes. `last`: what is passed on after all has come.
double spread(const Shape& shape, const TransferCosts& costs, double bytes, double last) {
  if (shape.multicast_most_on_node == 1) return 0;
  Shape node = one_node(shape);
  node.bytes = static_cast<std::int64_t>(bytes);
  return shape.teams ? team_broadcast(costs, last) : broadcast_binomial(node, costs);
}

}  // namespace

// Besides more than two messages' time, every packet takes the processors of root and leaders some, or its
// time on the links. A root that has to hand several pieces to its node meanwhile is the slowest, and what
// exceeds its window waits for acknowledgements. To two other nodes, small messages were faster.
double broadcast_multicast(const Shape& shape, const TransferCosts& costs) {
  if (shape.multicast_nodes < 4 && shape.bytes < 2048) return 1e18;
  const double m = bytes(shape), packets = std::ceil(m / packet_size);
  const bool pieces = shape.multicast_most_on_node > 1 && m > area_piece_size;
  const double packet = pieces || packets > window ? 800 : 275;
  const double last = m <= 8192 ? m : std::min(m / 4, area_piece_size);
  return 2.3 * costs.between_step + std::max(packets * packet, 1.05 * m * costs.between_per_byte) +
         spread(shape, costs, m, last);
}

// Every leader takes a packet of each other one at least. Of more than 16 leaders, 4 send at a time.
double allgather_multicast(const Shape& shape, const TransferCosts& costs) {
  constexpr double at_once = 16, of_more = 4;
  const double m = bytes(shape), all = shape.ranks * m, nodes = shape.multicast_nodes;
  const double packets = nodes * std::ceil(shape.multicast_most_on_node * m / packet_size);
  const double turns = nodes <= at_once ? 0 : nodes / of_more;
  const double out_of_order = shape.nodes_in_order ? 0 : all * costs.copy_per_byte + shape.ranks * costs.copy;
  return gather_linear(one_node(shape), costs) + 2.3 * costs.between_step +
         nodes * 1.4 * costs.between_message + turns * 4 * costs.between_step +
         std::max(packets * costs.between_message,
                  1.06 * (nodes - 1) / nodes * all * costs.between_per_byte) +
         spread(shape, costs, all, all) + out_of_order;
}

}  // namespace hawser::link_costs
