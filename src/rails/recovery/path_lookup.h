// PathLookup: asks the administrators of this process's subnets for path records (path_records.h has what is
// known and when to ask), and says what a connection or a datagram from one port to another is to use: the
// record, or what the knobs `rail_service_level` and `rail_partition` say in its place. InfiniBand only.
#pragma once

#include <array>
#include <memory>
#include <optional>

#include "access/path_record.h"
#include "rails/datapath/rail_context.h"
#include "rails/datapath/rail_resources.h"
#include "rails/datapath/timer_list.h"
#include "rails/decision/path_records.h"

namespace hawser {

class PathLookup {
 public:
  PathLookup(RailContext& context, const RailResources& resources, TimerList& timers);

  // Of the way from the rail's port to another one, by the LIDs of these path bits. Nothing: it is being
  // asked for. Whoever waits looks again when progress() or receive() has said that something was settled.
  std::optional<rdma::PathRecord> find(Rail& rail, const rdma::PortAddress& to, unsigned source_path_bits,
                                       unsigned destination_path_bits);
  std::optional<rdma::PathRecord> find(Rail& rail, const rdma::Route& route) {
    return find(rail, route.destination, route.source_path_bits, route.destination_path_bits);
  }
  // Of datagrams, which go by the ports' first LIDs.
  std::optional<rdma::PathRecord> find(Rail& rail, const rdma::PortAddress& to) {
    return find(rail, to, 0, 0);
  }

  // Takes answers. True: something was settled.
  bool receive();
  // Repeats queries, and gives them up. True: something was settled.
  bool progress();
  Nanoseconds deadline() const { return records_.deadline(); }
  // The subnet manager may have changed something.
  void forget(const Rail& rail) { records_.forget(rail.number()); }
  // Nothing that was made from the rail's device is left here.
  void on_device_gone(const Rail& rail);

 private:
  rdma::DatagramQueuePair* administrator(const Rail& rail);
  bool asks(const Rail& rail, const rdma::PortAddress& to) const;
  void send_questions();
  void say_unavailable(const Rail& rail);

  RailContext& context_;
  const RailResources& resources_;
  TimerList& timers_;
  PathRecords records_;
  // To ask with, by rail; made for the first query.
  std::array<std::unique_ptr<rdma::DatagramQueuePair>, max_rails> administrators_;
  ServiceLevelChoice choice_;
  std::uint16_t partition_ = 0;
  std::uint32_t said_ = 0;  // bit i: the log says that rail i has no administrator that answers
};

}  // namespace hawser
