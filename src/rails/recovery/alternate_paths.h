// AlternatePaths: runs automatic path migration (path_migration.h) for all subchannels: agrees with the peer
// on an alternate route as soon as a subchannel is ready, has both adapters load it, and again after each
// migration. The process with the lower index decides. What adapters cannot save is left to the failover.
//
// An offer is handled only after the device's events of before were taken: an adapter that has just migrated
// must be known to have, or the new alternate would be taken for the one that it left by.
#pragma once

#include <optional>
#include <span>
#include <vector>

#include "rails/datapath/poll_schedule.h"
#include "rails/datapath/rail_context.h"
#include "rails/datapath/rail_resources.h"
#include "rails/datapath/subchannel.h"
#include "rails/datapath/timer_list.h"
#include "rails/decision/path_migration.h"
#include "rails/wire/packet.h"

namespace hawser {

class PathLookup;

class AlternatePaths {
 public:
  AlternatePaths(RailContext& context, const RailResources& resources, TimerList& timers,
                 PollSchedule& schedule, PathLookup& paths);

  // The subchannel is connected, and data passes.
  void on_ready(Subchannel& subchannel);
  void on_message(Subchannel& subchannel, std::span<const std::byte> body);
  // The adapter migrated. True: by itself, or as the peer's did, because the route failed.
  bool on_migrated(Subchannel& subchannel);
  // A port of the subchannel's device went down. False: the subchannel has to fail.
  bool survives(Subchannel& subchannel, const Rail& port);
  // Asks the adapter to take the alternate now. False: none is armed.
  bool leave(Subchannel& subchannel);
  void on_port_back(Subchannel& subchannel, const Rail& port);
  void on_due(Subchannel& subchannel);
  // The rail whose port it uses now.
  const Rail& rail_of(const Subchannel& subchannel) const {
    return rail_of(subchannel, subchannel.connected());
  }
  // `connected`: as if it were, or were not.
  const Rail& rail_of(const Subchannel& subchannel, bool connected) const;

 private:
  struct Ports {
    std::vector<DevicePort> local, remote;
  };
  bool possible(const Subchannel& subchannel) const;
  Ports ports_of(const Subchannel& subchannel) const;
  Rail* rail_at(const Subchannel& subchannel, std::uint8_t port) const;
  std::optional<rdma::Route> route_of(const Subchannel& subchannel, const AlternateBody& offer) const;
  enum class RecordUse : std::uint8_t { unknown, done, unfit };
  RecordUse use_record(const Subchannel& subchannel, rdma::Route& route);
  void answer_offer(Subchannel& subchannel);
  void propose(Subchannel& subchannel);
  void send_proposal(Subchannel& subchannel, const rdma::Route& route);
  void answer(Subchannel& subchannel, AlternateBody offer, AlternateBody::Meaning meaning);
  void send_message(Subchannel& subchannel);
  void note_left(Subchannel& subchannel);
  bool send_notices(Subchannel& subchannel);

  RailContext& context_;
  const RailResources& resources_;
  TimerList& timers_;
  PollSchedule& schedule_;
  PathLookup& paths_;
  MigrationSettings settings_;
};

}  // namespace hawser
