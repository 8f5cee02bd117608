// Allgather by multicast (Khalilov et al. 2024): the first rank of every node, its leader, has the blocks of
// the node, and sends them once to all other leaders. So every block goes once over each link. Of many
// leaders a few send at a time, each as soon as it has the blocks of one before it, so that receivers
// are not flooded.
#include <vector>

#include "collective/algorithms/two_level.h"
#include "collective/engine.h"
#include "collective/multicast/multicast_group.h"

namespace hawser::algorithms {

namespace {

// Leaders that send at a time. Up to 16 were the faster the more of them; 64 at once took twice as long as 4.
int senders_among(int nodes) {
  constexpr int all_at_once = 16, of_many = 4;
  return nodes <= all_at_once ? nodes : of_many;
}

// The packets of this leader and of all others.
class EveryRoot {
 public:
  EveryRoot(Operation& operation, const Blocks& blocks)
      : group_(*operation.multicast()), nodes_(*operation.nodes()) {
    receives_.resize(static_cast<std::size_t>(nodes_.nodes()));
    for (int node = 0; node < nodes_.nodes(); ++node) {
      if (node == nodes_.own_node) continue;
      MulticastReceive& receive = of(node);
      receive.root = nodes_.leaders[static_cast<std::size_t>(node)];
      receive.tag = operation.participants().tag;
      receive.into = blocks.at(node);
      receive.bytes = blocks.bytes(node);
      receive.expected = false;
      group_.begin(receive);
    }
    send_.tag = operation.participants().tag;
    send_.data = blocks.at(nodes_.own_node);
    send_.bytes = blocks.bytes(nodes_.own_node);
    send_.flags = group_.chooses_multicast() ? 0 : multicast_no_more;
    flags_ = send_.flags;
  }
  ~EveryRoot() {
    for (int node = 0; node < nodes_.nodes(); ++node)
      if (node != nodes_.own_node) group_.end(of(node));
    group_.withdraw(send_);
  }
  EveryRoot(const EveryRoot&) = delete;
  EveryRoot& operator=(const EveryRoot&) = delete;

  // It is this node's turn, if there is such a node.
  void begin(int node) {
    if (node >= nodes_.nodes()) return;
    node == nodes_.own_node ? group_.begin(send_) : group_.expect(of(node));
  }
  const bool& done(int node) { return node == nodes_.own_node ? send_.done : of(node).done; }
  bool all_go_on() {
    for (const MulticastReceive& receive : receives_) flags_ |= receive.flags;
    return (flags_ & multicast_no_more) == 0;
  }
  bool differ() const {
    for (const MulticastReceive& receive : receives_)
      if (receive.differs) return true;
    return false;
  }

 private:
  MulticastReceive& of(int node) { return receives_[static_cast<std::size_t>(node)]; }

  MulticastGroup& group_;
  const NodeLayout& nodes_;
  std::vector<MulticastReceive> receives_;  // by node
  MulticastSend send_;
  std::uint32_t flags_ = 0;
};

Task by_multicast(Operation& operation) {
  MulticastGroup& group = *operation.multicast();
  const int nodes = operation.size();
  EveryRoot roots(operation, operation.plan.receive);
  const int senders = senders_among(nodes);
  for (int node = 0; node < senders; ++node) roots.begin(node);
  for (int node = 0; node < nodes; ++node) {
    co_await operation.arrived_or(roots.done(node));
    roots.begin(node + senders);
  }
  group.agreement().on_end(roots.all_go_on());
  if (roots.differ()) operation.fail(other_amount());
}

// Whether all leaders can send: in rounds, each hears of twice as many.
Task ask_all(Operation& operation, std::byte* all_can) {
  const int nodes = operation.size(), own = operation.rank();
  std::byte* const heard = operation.scratch(1);
  for (int distance = 1; distance < nodes; distance *= 2) {
    operation.send((own + distance) % nodes, all_can, 1);
    operation.receive((own - distance + nodes) % nodes, heard, 1);
    co_await operation.arrived();
    *all_can &= *heard;
  }
}

}  // namespace

Task allgather_leaders(Operation& operation, std::int64_t bytes) {
  MulticastGroup& group = *operation.multicast();
  MulticastAgreement::Turn turn = group.agreement().begin();
  if (turn == MulticastAgreement::Turn::question) {
    std::byte* const all_can = operation.scratch(1);
    *all_can = std::byte{group.chooses_multicast()};
    co_await ask_all(operation, all_can);
    group.introduce();
    const bool goes = group.agreement().on_answer(*all_can != std::byte{0});
    turn = goes ? MulticastAgreement::Turn::multicast : MulticastAgreement::Turn::messages;
  }
  if (turn == MulticastAgreement::Turn::multicast)
    co_await by_multicast(operation);
  else
    co_await best_between(operation, Collective::allgatherv, bytes);
}

}  // namespace hawser::algorithms
