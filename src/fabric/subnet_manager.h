// SubnetManager: what programs can learn of a subnet's manager: on which port it runs, and what its
// administrator answers when it is asked for the path record of a pair of ports (InfiniBand
// architecture 15.2.5.16) or to let a port join a multicast group (15.2.5.17). Addresses and forwarding
// tables are the router's (topology/routing.h).
//
// Each subnet has one, on its first port in the order of the hosts; move() lets the next port take over. The
// administrator is asked by a datagram to queue pair 1 of that port, and answers by one. Both cross the
// network like any other packet, so they are lost with a cable, a switch or that host. What makes no sense is
// dropped.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <vector>

#include "fabric/adapter/adapter.h"
#include "fabric/network/network.h"
#include "fabric/parameters.h"
#include "fabric/topology/routing.h"
#include "fabric/topology/topology.h"

namespace hawser::fabric {

class SubnetManager final : public ManagementPort {
 public:
  // All must outlive this.
  SubnetManager(const Topology& topology, const RoutingTables& tables, const Parameters& parameters,
                const Network& network);
  ~SubnetManager();

  // The LID of the port on which the manager of this port's subnet runs; 0: the port is in none.
  Lid lid(PortName port) const;
  // Of the way from a port to a LID.
  std::uint8_t service_level(PortName from, Lid to) const {
    return path_service_level(network_.index(from), to, parameters_.service_levels);
  }
  // In every subnet the next port that is up takes over.
  void move();
  // Questions that were answered, and datagrams that were none.
  std::uint64_t answered() const { return answered_; }
  std::uint64_t dropped() const { return dropped_; }

  void receive(Adapter& at, const Packet& packet) override;

 private:
  struct Subnet {
    std::vector<PortName> ports;  // of adapters, in the order of the hosts
    std::size_t manager = 0;      // the port that it runs on
  };
  class Sender;
  bool answer(Adapter& at, const Packet& packet);

  const RoutingTables& tables_;
  const Parameters& parameters_;
  const Network& network_;
  std::vector<Subnet> subnets_;
  std::vector<std::vector<int>> subnet_of_;               // by node and port; -1: none
  std::map<PortIndex, std::unique_ptr<Sender>> senders_;  // queue pairs 1 that have answered
  std::uint64_t answered_ = 0, dropped_ = 0;
};

}  // namespace hawser::fabric
