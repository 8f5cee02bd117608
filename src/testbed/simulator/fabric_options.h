// FabricOptions: the virtual fabric under a simulated job.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "base/time.h"
#include "fabric/parameters.h"
#include "fabric/topology/routing.h"
#include "fabric/topology/topology.h"
#include "rails/rail_channel.h"
#include "testbed/simulator/network_cost.h"

namespace hawser {

// A fault that begins by itself and ends after a time.
struct Incident {
  // It begins when so many packets have been sent in the whole fabric, which is when there is traffic to
  // hurt, or at a time, whatever comes first.
  std::uint64_t after_packets = UINT64_MAX;
  Nanoseconds at = never;
  Nanoseconds lasts = 0;
  // Commands as in fabric/fault/fault.h. The word {rc} stands for one of the reliable connections of that
  // adapter that are ready to send, drawn at random, {ud} for one of its datagram queue pairs; where there is
  // none the command is passed over.
  std::vector<std::string> begin;
  std::vector<std::string> end;
};

// A fabric that is laid out already.
struct LaidOutFabric {
  fabric::Topology topology;
  fabric::Parameters parameters;
  fabric::RoutingTables tables;
};

struct FabricOptions {
  // In place of topology, rails, ports and parameters; null: as these say.
  std::shared_ptr<const LaidOutFabric> laid_out;
  // A built-in topology (back-to-back, single-switch, two-switch, fat-tree-144), or the text of one, as
  // ibnetdiscover prints it.
  std::string topology = "two-switch";
  int rails = 2;           // adapters of a host; built-in topologies
  int ports = 1;           // of an adapter; the same
  int ranks_per_host = 1;  // blocks of neighbouring ranks; hosts as many as needed
  // Ranks of one host talk over their adapters too, not over the model network.
  bool rails_within_host = false;
  std::string parameters;  // lines as in fabric/parameters.h
  std::string faults;      // lines of `<time> <fault>` as in fabric/fault/fault.h, from the job's start
  std::vector<Incident> incidents;
  // Packets and times of incidents count from when all ranks have joined the job; else from the start, which
  // is for programs without MPI.
  bool incidents_after_join = true;
  // Carried out whenever the last incident under way has ended; must make the fabric whole.
  std::vector<std::string> heal;
  // How long the job may go on when no incident is under way, since the last one ended; then it ends with
  // SimulationOutcome::Kind::time_limit.
  Nanoseconds patience = never;
  VerbsCost cost;
  // A completion queue that is armed while it holds completions of which nobody was told makes an event at
  // once. Many adapters do; the standard does not ask for it.
  bool tells_of_earlier = true;
  // Events between two checks of the fabric's counters; 0: only at the end.
  std::uint64_t check_every = 0;
};

}  // namespace hawser
