// What a set of forwarding tables is worth: is everything reachable, over how many different spines, and how
// is a communication pattern spread over the links. For `hawser fabric topology` and the papers' figures.
#pragma once

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "fabric/topology/routing.h"
#include "fabric/topology/topology.h"

namespace hawser::fabric {

struct Hop {
  PortName out;  // the port by which the packet leaves a node
};

struct Path {
  bool complete = false;  // it ends at the LID's owner
  std::vector<Hop> hops;  // starting with the source port
};

// Follows the tables; gives up after 64 hops, which only a loop takes.
Path trace_path(const Topology& topology, const RoutingTables& tables, PortName source, Lid destination);

struct Reachability {
  std::uint64_t pairs = 0;  // (source port, LID of another port in the same subnet)
  std::uint64_t reachable = 0;
  int fewest_spines = 0;  // over all pairs of ports on different switches: how many different middle
  int most_spines = 0;    // switches their LIDs lead over; 0 when no pair has a middle switch
  double mean_spines = 0;
  std::vector<std::uint64_t> pairs_by_spines;  // entry i: pairs whose LIDs lead over i different ones
  struct Broken {
    PortName from;
    Lid to;
  };
  std::vector<Broken> unreachable;  // the first ten
  std::size_t longest_path = 0;     // links
};
// All pairs of adapter ports. Ports of adapters that no path of cables joins are not counted.
Reachability analyse_paths(const Topology& topology, const RoutingTables& tables);

// A message from the one port to the other, over LID base + lid_offset of the destination.
struct Flow {
  PortName from;
  PortName to;
  int lid_offset = 0;
};
// V07 section 3.2: rank i on host i sends to rank (i + step) mod n.
std::vector<Flow> displaced_ring(const Topology& topology, int ranks, int step);

struct LinkLoad {
  PortName out;
  int flows = 0;
};
// The number of flows through every switch-to-switch port, ports without flows included, in order of ports.
std::vector<LinkLoad> link_loads(const Topology& topology, const RoutingTables& tables,
                                 const std::vector<Flow>& flows);

}  // namespace hawser::fabric
