// Broadcast by multicast to one rank of every node, and from there within the nodes. The root decides for
// each broadcast whether multicast is to be used. If it is not, the data come down a tree among the same
// ranks. Nobody is told of the decision: whoever takes part waits for both.
//
// Within a node, the data go through its area, in pieces as they come or are sent, or down a tree of
// messages. Who listens (MulticastListener) may have them from the root's packets before its leader comes,
// and then passes them on and ends. What it has to do in the area, so that all of the node's ranks take the
// same steps, it leaves to a task in the background.
#include <optional>

#include "collective/algorithms/two_level.h"
#include "collective/engine.h"
#include "collective/multicast/multicast_group.h"
#include "collective/multicast/multicast_listener.h"
#include "collective/shared/collectives.h"
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
  Listening(MulticastGroup& group, std::optional<ProcessIndex> parent, int root, const Operation& operation)
      : group_(group) {
    const Blocks& data = operation.plan.receive;
    listening.packets.root = root;
    listening.packets.tag = operation.participants().tag;
    listening.packets.into = data.base;
    listening.packets.bytes = data.size;
    listening.timed = !operation.background;
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

// The packets of a broadcast at its root or at a leader, some of which may be under way while the node has
// its part.
struct Packets {
  std::optional<Outgoing> out;
  std::optional<Incoming> in;
};

// Whether a leader passes pieces on before it has all. If one packet has come, all will.
bool passes_pieces(const Operation& operation) {
  return operation.plan.receive.size > SharedCollectives::most_undivided &&
         has_team(operation, NodePart::down);
}

// Among the leaders, of whom the root is one: `root` is its rank in the communicator.
Task between_nodes(Operation& operation, int root, Packets& packets) {
  MulticastGroup& group = *operation.multicast();
  const Blocks data = operation.plan.receive;
  const std::int32_t tag = operation.participants().tag;
  const TreePlace place = place_of(operation, TreeShape::binomial);
  const bool at_once = data.size <= most_in_one_message;
  if (place.relative == 0) {
    if (group.chooses_multicast()) {
      operation.plan.ready = &packets.out.emplace(group, tag, data.base, data.size).send.sent;
      co_return;
    }
  } else {
    const MulticastReceive& incoming = packets.in.emplace(group, root, tag, data.base, data.size).receive;
    const bool in_pieces = passes_pieces(operation);
    operation.receive(parent_of(operation, place), data.base, at_once ? data.size : 0);
    co_await operation.arrived_or(in_pieces ? incoming.begun : incoming.done);
    if (incoming.begun && (in_pieces || incoming.done)) {
      operation.withdraw();
      co_await operation.arrived();
      if (incoming.differs) {
        co_await operation.arrived_or(incoming.done);
        operation.fail(other_amount());
      }
      if (!operation.failed()) operation.plan.ready = &incoming.in_order;
      co_return;
    }
    packets.in.reset();
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
  Listening its(group, all.group->process_of(from), root, operation);
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

// In the node's area, by all of its ranks. Who got another amount than it expects passes on nothing.
void spread(Operation& of, SharedCollectives& shared, SharedCollectives::Pieces pieces) {
  const Blocks& data = of.plan.receive;
  if (of.failed() && of.rank() == of.plan.root)
    shared.broadcast_nothing();
  else
    shared.broadcast(ByteView(data.base, data.size), of.plan.root, pieces, of.plan.ready);
}
void pass_on_packets(Operation& of, SharedCollectives& shared) {
  spread(of, shared, SharedCollectives::Pieces::small);
}
// On the root's node, which has all from the beginning.
void pass_on_what_is_sent(Operation& of, SharedCollectives& shared) {
  spread(of, shared, SharedCollectives::Pieces::largest);
}

// What a rank that listens takes from its node's area, in the background. Either ends before the other.
struct FromArea final : Counted {
  std::byte* into = nullptr;
  MulticastListening* listening = nullptr;  // null: nobody waits for it any more
};

// Ends the wait, also if the task ends in error.
class EndOfWait {
 public:
  explicit EndOfWait(FromArea& from) : from_(from) {}
  ~EndOfWait() {
    if (from_.listening == nullptr || from_.listening->done) return;
    from_.listening->done = from_.listening->by_leader = true;
    from_.listening->packets.differs = !has_data;
  }
  EndOfWait(const EndOfWait&) = delete;
  EndOfWait& operator=(const EndOfWait&) = delete;
  bool has_data = false;

 private:
  FromArea& from_;
};

// The part in the node's area of a broadcast that may be over here. `leader` is its place in the node.
Task take_from_area(Operation& operation, MulticastGroup* group, FromArea* its, int leader,
                    std::int64_t bytes) {
  const Ref<FromArea> from(its);
  const LateMessage late(*group);
  EndOfWait end(*from);
  among_node(operation);
  operation.plan = Plan{};
  operation.plan.root = leader;
  operation.plan.receive = Blocks{operation.scratch(bytes), bytes};
  co_await operation.together(NodePart::down, pass_on_packets);
  end.has_data = !operation.failed();
  if (end.has_data && from->listening != nullptr)
    operation.copy(from->into, operation.plan.receive.base, bytes);
  operation.among_all();
}

class Watch {
 public:
  Watch(FromArea& from, MulticastListening& listening) : from_(from) { from_.listening = &listening; }
  ~Watch() { from_.listening = nullptr; }
  Watch(const Watch&) = delete;
  Watch& operator=(const Watch&) = delete;

 private:
  FromArea& from_;
};

// Whether it counts how long a rank waits that is not attached. That is known only at a pass of progress, in
// which the task in the background takes the data, with a copy more: so it is not asked for all that is long.
bool is_judged(const Operation& operation) {
  constexpr std::int64_t most_always_judged = 256;
  const auto tag = static_cast<std::uint32_t>(operation.participants().tag);
  return operation.plan.receive.size <= most_always_judged || tag * 0x9E3779B9u >> 30 == 0;
}

// From the node's area, which its leader serves, or from the packets of `root`, which is on another node.
Task from_area_or_packets(Operation& operation, int root) {
  MulticastGroup& group = *operation.multicast();
  const Blocks data = operation.plan.receive;
  Listening its(group, std::nullopt, root, operation);
  if (!its.listening.attached && !is_judged(operation)) {
    its.listening.timed = false;
    co_await operation.together(NodePart::down, pass_on_packets);
    co_return;
  }
  const Ref<FromArea> from = make_counted<FromArea>();
  from->into = data.base;
  const Watch watch(*from, its.listening);
  const int leader = operation.plan.root;
  CollectiveEngine& engine = operation.engine();
  engine.start_aside(
      operation.participants(), Ref<Counted>(engine.find(group.key().context)),
      [&](Operation& aside) { return take_from_area(aside, &group, from.get(), leader, data.size); },
      operation.nodes(), operation.node_team());
  co_await operation.arrived_or(its.listening.done);
  if (its.listening.packets.differs) operation.fail(other_amount());
}

// Within the node, where plan.root has the data now, or has them piece by piece; `root` is the broadcast's.
Task within_node(Operation& operation, int root) {
  const std::int64_t bytes = operation.plan.receive.size;
  if (operation.node_team() != nullptr) co_await meet(operation, NodePart::down);
  if (has_team(operation, NodePart::down)) {
    const NodeLayout& nodes = *operation.nodes();
    const bool has_root = nodes.node_of[static_cast<std::size_t>(root)] == nodes.own_node;
    const bool may_listen = bytes <= MulticastListener::most_bytes && !operation.background &&
                            operation.rank() != operation.plan.root;
    if (has_root)
      co_await operation.together(NodePart::down, pass_on_what_is_sent);
    else if (may_listen)
      co_await from_area_or_packets(operation, root);
    else
      co_await operation.together(NodePart::down, pass_on_packets);
    co_return;
  }
  if (bytes <= MulticastListener::most_bytes) {
    const Algorithm& row = best_row(operation, Collective::broadcast, bytes);
    const bool binomial = row.run == broadcast_binomial;
    if (binomial || row.run == broadcast_linear) {
      co_await down_node(operation, root, binomial ? TreeShape::binomial : TreeShape::linear);
      co_return;
    }
  }
  co_await best(operation, Collective::broadcast, bytes);
}

}  // namespace

Task broadcast_multicast(Operation& operation) {
  const int root = operation.plan.root;
  const NodeLayout& nodes = *operation.nodes();
  const int* const leaders = leaders_with(operation, root);
  if (!operation.background) choose_areas(operation);
  Packets packets;
  if (leaders[nodes.own_node] == operation.rank()) {
    among_leaders(operation, leaders);
    operation.plan.root = nodes.node_of[static_cast<std::size_t>(root)];
    co_await between_nodes(operation, root, packets);
  }
  among_node(operation);
  operation.plan.root = place_of_leader(operation, leaders);
  if (operation.size() > 1) co_await within_node(operation, root);
  if (packets.out) co_await operation.arrived_or(packets.out->send.done);
  if (packets.in) co_await operation.arrived_or(packets.in->receive.done);
  operation.plan.ready = nullptr;
  operation.plan.root = root;
  operation.among_all();
}

}  // namespace hawser::algorithms
