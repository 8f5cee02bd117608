// Runs OpenSM, the subnet manager of real clusters, over ibsim, which plays the switches and adapters of a
// topology to it, and takes the forwarding tables that it writes.
//
// Both programs run in a scratch folder and under a socket name of their own, so that several may run at
// once, and are ended and cleaned up after on every way out, an interrupt included.
#pragma once

#include "base/time.h"
#include "fabric/topology/routing.h"
#include "fabric/topology/topology.h"

namespace hawser::emulator {

struct OpenSmOptions {
  int lmc = 0;
  // updn, minhop, dnup, ftree, dfsssp, sssp, lash, nue. ftree has no LMC > 0.
  std::string engine = "updn";
  // Not 0: the ports are routed in an order drawn with this seed, instead of leaf switch by leaf switch. This
  // is what OpenSM before 2009 did where adapters were plugged in as they came: it went by their GUIDs.
  std::uint64_t port_order_seed = 0;
  Nanoseconds patience = 120 * second;  // for each subnet
};

// Asks OpenSM once per subnet. Fails if it is not installed, does not come to an end in time, or routes by
// another engine than the one asked for.
Result<fabric::RoutingTables> route_by_opensm(const fabric::Topology& topology, const OpenSmOptions& options);

// What is missing for it, as a sentence; empty if nothing is.
std::string opensm_missing();

}  // namespace hawser::emulator
