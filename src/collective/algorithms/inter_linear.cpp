// Operations that move blocks between two groups, straight from their senders to their receivers. In the v
// forms nobody knows the amounts of the other processes of his own group, so nobody could pass blocks on.
#include "collective/algorithms/inter.h"
#include "collective/place.h"

namespace hawser::algorithms {

namespace {

enum class Pattern : std::uint8_t { gather, scatter, same_to_all, each_to_each };

Pattern pattern_of(Collective kind) {
  if (kind == Collective::gather || kind == Collective::gatherv) return Pattern::gather;
  if (kind == Collective::scatter || kind == Collective::scatterv) return Pattern::scatter;
  if (kind == Collective::allgather || kind == Collective::allgatherv) return Pattern::same_to_all;
  return Pattern::each_to_each;
}

void send(Operation& operation, int to, const Place& place) {
  operation.send_elements(to, place.buffer, place.count, *place.type);
}

void receive(Operation& operation, int from, const Place& place) {
  operation.receive_elements(from, place.buffer, place.count, *place.type);
}

}  // namespace

Task inter_linear(Operation& operation) {
  const CollectiveCall& call = operation.call;
  const Pattern pattern = pattern_of(call.kind);
  const bool rooted = pattern == Pattern::gather || pattern == Pattern::scatter;
  if (rooted && call.root == proc_null) co_return;
  const bool at_leaf = rooted && call.root != root_rank;

  if (at_leaf) {
    if (pattern == Pattern::gather) send(operation, call.root, whole(call.send));
    if (pattern == Pattern::scatter) receive(operation, call.root, whole(call.receive));
  } else {
    for (int r = 0; r < operation.size() && pattern != Pattern::scatter; ++r)
      receive(operation, r, block(call.receive, r));
    for (int r = 0; r < operation.size() && pattern != Pattern::gather; ++r)
      send(operation, r, pattern == Pattern::same_to_all ? whole(call.send) : block(call.send, r));
  }
  co_await operation.arrived();
}

}  // namespace hawser::algorithms
