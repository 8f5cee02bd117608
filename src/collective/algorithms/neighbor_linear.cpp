// Neighbourhood collectives (MPI-5.0 section 8.7), straight from and to every neighbour.
//
// Several edges may lead from one process to another; their messages are matched in the order of the edges.
// In a grid whose period is 1 or 2 both directions lead to the same process, and what it sent in the
// negative direction comes first, which belongs to our positive one: so pairs are received the other way
// round.
#include "collective/algorithms/algorithms.h"
#include "collective/place.h"
#include "communicator/topology.h"

namespace hawser::algorithms {

Task neighbor_linear(Operation& operation) {
  const CollectiveCall& call = operation.call;
  const std::vector<int>& sources = call.neighbors->sources;
  const std::vector<int>& destinations = call.neighbors->destinations;
  const std::size_t turn = call.neighbors->opposite_pairs ? 1 : 0;
  const bool same_to_all = call.kind == Collective::allgather || call.kind == Collective::allgatherv;

  for (std::size_t i = 0; i < sources.size(); ++i) {
    const std::size_t k = i ^ turn;
    if (sources[k] == proc_null) continue;
    const Place place = block(call.receive, static_cast<int>(k));
    operation.receive_elements(sources[k], place.buffer, place.count, *place.type);
  }
  for (std::size_t i = 0; i < destinations.size(); ++i) {
    if (destinations[i] == proc_null) continue;
    const Place place = same_to_all ? whole(call.send) : block(call.send, static_cast<int>(i));
    operation.send_elements(destinations[i], place.buffer, place.count, *place.type);
  }
  co_await operation.arrived();
}

}  // namespace hawser::algorithms
