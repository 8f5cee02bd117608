// Broadcast by multicast to one rank of every node, and from there within the nodes. The root decides for
// each broadcast whether multicast is to be used. If it is not, the data come down a tree among the same
// ranks. Nobody is told of the decision: whoever takes part waits for both.
#include "collective/algorithms/two_level.h"
#include "collective/multicast/multicast_group.h"
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

struct TreePlace {
  int relative = 0;  // to the root
  int distance = 1;  // to the parent; of the root: more than to any child
};

TreePlace place_of(const Operation& operation) {
  const int ranks = operation.size();
  TreePlace place;
  place.relative = (operation.rank() - operation.plan.root + ranks) % ranks;
  while (place.distance < ranks && (place.relative & place.distance) == 0) place.distance *= 2;
  return place;
}

void send_down(Operation& operation, const TreePlace& place, std::int64_t bytes) {
  const int ranks = operation.size();
  for (int distance = place.distance / 2; distance > 0; distance /= 2) {
    if (place.relative + distance >= ranks) continue;
    operation.send((place.relative + distance + operation.plan.root) % ranks, operation.plan.receive.base,
                   bytes);
  }
}

// Among the leaders, of whom the root is one: `root` is its rank in the communicator.
Task between_nodes(Operation& operation, int root) {
  MulticastGroup& group = *operation.multicast();
  const Blocks data = operation.plan.receive;
  const std::int32_t tag = operation.participants().tag;
  const TreePlace place = place_of(operation);
  const bool at_once = data.size <= most_in_one_message;
  if (place.relative == 0) {
    if (group.chooses_multicast()) {
      Outgoing outgoing(group, tag, data.base, data.size);
      co_await operation.arrived_or(outgoing.send.done);
      co_return;
    }
  } else {
    Incoming incoming(group, root, tag, data.base, data.size);
    const int ranks = operation.size();
    operation.receive((place.relative - place.distance + operation.plan.root) % ranks, data.base,
                      at_once ? data.size : 0);
    co_await operation.arrived_or(incoming.receive.done);
    if (incoming.receive.done) {
      operation.withdraw();
      co_await operation.arrived();
      if (incoming.receive.differs)
        operation.fail(failure(ErrorClass::truncate,
                               "the root of the broadcast sends a different amount of data than this rank "
                               "expects"));
      co_return;
    }
  }
  // Who got another amount than it expected passes on nothing, so that everyone below notices, too.
  send_down(operation, place, at_once && !operation.failed() ? data.size : 0);
  co_await operation.arrived();
  if (!at_once) co_await best_between(operation, Collective::broadcast, data.size);
}

}  // namespace

Task broadcast_multicast(Operation& operation) {
  const int root = operation.plan.root;
  const NodeLayout& nodes = *operation.nodes();
  const int* const leaders = leaders_with(operation, root);
  if (leaders[nodes.own_node] == operation.rank()) {
    among_leaders(operation, leaders);
    operation.plan.root = nodes.node_of[static_cast<std::size_t>(root)];
    co_await between_nodes(operation, root);
  }
  among_node(operation);
  operation.plan.root = place_of_leader(operation, leaders);
  if (operation.size() > 1) co_await best(operation, Collective::broadcast, operation.plan.receive.size);
  operation.plan.root = root;
  operation.among_all();
}

}  // namespace hawser::algorithms
