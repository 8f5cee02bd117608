// Broadcast by multicast to one rank of every node, and from there within the nodes. The root decides for
// each broadcast whether multicast is to be used. If it is not, the data come down a tree among the same
// ranks. Nobody is told of the decision: whoever takes part waits for both.
//
// Within a node, the data go down a tree of messages. Who listens (MulticastListener) may have them from the
// root's packets before its parent's message comes, and then passes them on and ends.
#include "collective/algorithms/two_level.h"
#include "collective/engine.h"
#include "collective/multicast/multicast_group.h"
#include "collective/multicast/multicast_listener.h"
#include "mpi/failure.h"

namespace hawser::algorithms {

namespace {

// Up to this size, the tree is binomial and its first message has the data. Beyond, this message is empty,
// and the best algorithm for the size follows.
constexpr std::int64_t most_in_one_message = 16384;

class Outgoing {
 public:
  Outgoing(MulticastGroup& group, std::int32_t tag, const std::byte* data, std::int64_t bytes)
      : group_(group) {
    send.tag = tag;
    send.data = data;
    send.bytes = bytes;
    group_.begin(send);
  }
  ~Outgoing() { group_.withdraw(send); }
  Outgoing(const Outgoing&) = delete;
  Outgoing& operator=(const Outgoing&) = delete;
  MulticastSend send;

 private:
  MulticastGroup& group_;
};

class Incoming {
 public:
  Incoming(MulticastGroup& group, int root, std::int32_t tag, std::byte* into, std::int64_t bytes)
      : group_(group) {
    receive.root = root;
    receive.tag = tag;
    receive.into = into;
    receive.bytes = bytes;
    group_.begin(receive);
  }
  ~Incoming() { group_.end(receive); }
  Incoming(const Incoming&) = delete;
  Incoming& operator=(const Incoming&) = delete;
  MulticastReceive receive;

 private:
  MulticastGroup& group_;
};

class Listening {
 public:
  Listening(MulticastGroup& group, ProcessIndex parent, const MulticastListening& what)
      : listening(what), group_(group) {
    group_.begin(listening, parent);
  }
  ~Listening() { group_.end(listening); }
  Listening(const Listening&) = delete;
  Listening& operator=(const Listening&) = delete;
  MulticastListening listening;

 private:
  MulticastGroup& group_;
};

enum class TreeShape : std::uint8_t { binomial, linear };

struct TreePlace {
  int relative = 0;  // to the root
  int distance = 1;  // to the parent; of the root: more than to any child
  TreeShape shape = TreeShape::binomial;
};

TreePlace place_of(const Operation& operation, TreeShape shape) {
  const int ranks = operation.size();
  TreePlace place;
  place.shape = shape;
  place.relative = (operation.rank() - operation.plan.root + ranks) % ranks;
  if (shape == TreeShape::linear)
    place.distance = place.relative == 0 ? ranks : place.relative;
  else
    while (place.distance < ranks && (place.relative & place.distance) == 0) place.distance *= 2;
  return place;
}

int parent_of(const Operation& operation, const TreePlace& place) {
  return (place.relative - place.distance + operation.plan.root) % operation.size();
}

void send_down(Operation& operation, const TreePlace& place, std::int64_t bytes) {
  const int ranks = operation.size();
  const auto send = [&](int distance) {
    operation.send((place.relative + distance + operation.plan.root) % ranks, operation.plan.receive.base,
                   bytes);
  };
  if (place.shape == TreeShape::linear) {
    for (int distance = 1; place.relative == 0 && distance < ranks; ++distance) send(distance);
    return;
  }
  for (int distance = place.distance / 2; distance > 0; distance /= 2)
    if (place.relative + distance < ranks) send(distance);
}

// Among the leaders, of whom the root is one: `root` is its rank in the communicator.
Task between_nodes(Operation& operation, int root) {
  MulticastGroup& group = *operation.multicast();
  const Blocks data = operation.plan.receive;
  const std::int32_t tag = operation.participants().tag;
  const TreePlace place = place_of(operation, TreeShape::binomial);
  const bool at_once = data.size <= most_in_one_message;
  if (place.relative == 0) {
    if (group.chooses_multicast()) {
      Outgoing outgoing(group, tag, data.base, data.size);
      co_await operation.arrived_or(outgoing.send.done);
      co_return;
    }
  } else {
    Incoming incoming(group, root, tag, data.base, data.size);
    operation.receive(parent_of(operation, place), data.base, at_once ? data.size : 0);
    co_await operation.arrived_or(incoming.receive.done);
    if (incoming.receive.done) {
      operation.withdraw();
      co_await operation.arrived();
      if (incoming.receive.differs) operation.fail(other_amount());
      co_return;
    }
  }
  // Who got another amount than it expected passes on nothing, so that everyone below notices, too.
  send_down(operation, place, at_once && !operation.failed() ? data.size : 0);
  co_await operation.arrived();
  if (!at_once) co_await best_between(operation, Collective::broadcast, data.size);
}

// Counts a message while it is expected.
class LateMessage {
 public:
  explicit LateMessage(MulticastGroup& group) : group_(group) { group_.count_late_messages(1); }
  ~LateMessage() { group_.count_late_messages(-1); }
  LateMessage(const LateMessage&) = delete;
  LateMessage& operator=(const LateMessage&) = delete;

 private:
  MulticastGroup& group_;
};

// The parent's message of a broadcast that is over here. `from`: rank of the communicator.
Task take_late_message(Operation& operation, MulticastGroup* group, int from, std::int64_t bytes) {
  const LateMessage late(*group);
  operation.receive(from, operation.scratch(bytes), bytes);
  co_await operation.arrived();
}

// From the parent on the node, or from the packets of `root`, which is on another node.
Task from_parent_or_packets(Operation& operation, int root, int parent) {
  MulticastGroup& group = *operation.multicast();
  const Participants& all = operation.participants();
  const Blocks data = operation.plan.receive;
  const int from = operation.nodes()->mine[static_cast<std::size_t>(parent)];
  MulticastListening what;
  what.packets = {root, all.tag, data.base, data.size};
  what.timed = !operation.background;
  Listening its(group, all.group->process_of(from), what);
  operation.receive(parent, data.base, data.size);
  co_await operation.arrived_or(its.listening.done);
  if (!its.listening.done) co_return;
  const bool late = operation.withdraw() > 0;
  co_await operation.arrived();
  if (its.listening.packets.differs) operation.fail(other_amount());
  if (!late) co_return;
  CollectiveEngine& engine = operation.engine();
  const auto task = [&](Operation& aside) { return take_late_message(aside, &group, from, data.size); };
  engine.start_aside(all, Ref<Counted>(engine.find(group.key().context)), task);
}

// Among the ranks of a node, from that one that has the data. All of them know `shape`.
Task down_node(Operation& operation, int root, TreeShape shape) {
  const TreePlace place = place_of(operation, shape);
  const int parent = parent_of(operation, place);
  const Blocks data = operation.plan.receive;
  const NodeLayout& nodes = *operation.nodes();
  if (place.relative != 0) {
    if (nodes.node_of[static_cast<std::size_t>(root)] != nodes.own_node) {
      co_await from_parent_or_packets(operation, root, parent);
    } else {
      operation.receive(parent, data.base, data.size);
      co_await operation.arrived();
    }
  }
  send_down(operation, place, operation.failed() ? 0 : data.size);
  co_await operation.arrived();
}

// Within the node, where plan.root has the data now; `root` is the broadcast's.
Task within_node(Operation& operation, int root) {
  const std::int64_t bytes = operation.plan.receive.size;
  if (bytes <= MulticastListener::most_bytes) {
    const Algorithm& row = best_row(operation, Collective::broadcast, bytes);
    if (row.run == broadcast_binomial) return down_node(operation, root, TreeShape::binomial);
    if (row.run == broadcast_linear) return down_node(operation, root, TreeShape::linear);
  }
  return best(operation, Collective::broadcast, bytes);
}

}  // namespace

Task broadcast_multicast(Operation& operation) {
  const int root = operation.plan.root;
  const NodeLayout& nodes = *operation.nodes();
  const int* const leaders = leaders_with(operation, root);
  if (!operation.background) choose_areas(operation);
  if (leaders[nodes.own_node] == operation.rank()) {
    among_leaders(operation, leaders);
    operation.plan.root = nodes.node_of[static_cast<std::size_t>(root)];
    co_await between_nodes(operation, root);
  }
  among_node(operation);
  operation.plan.root = place_of_leader(operation, leaders);
  if (operation.size() > 1) co_await within_node(operation, root);
  operation.plan.root = root;
  operation.among_all();
}

}  // namespace hawser::algorithms
