// Connector: executes what the subchannel's machine decides on the way up: connecting on demand and again
// after a failure, probing, and coming into use. Between it and the peer's stands the connection manager's
// handshake over datagrams, whose host this is.
//
// Who drives: at first whoever has something to send; after a failure the process with the lower index tries,
// and the other one asks it to (a reconnect request) when it would try itself or when its port is back.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "rails/datapath/path_report.h"
#include "rails/datapath/peer_table.h"
#include "rails/datapath/poll_schedule.h"
#include "rails/datapath/rail_context.h"
#include "rails/datapath/rail_resources.h"
#include "rails/datapath/subchannel.h"
#include "rails/datapath/timer_list.h"
#include "rails/decision/connection_manager.h"
#include "rails/recovery/recovery_links.h"
#include "rails/wire/packet.h"

namespace hawser {

class AddressBook;
class AlternatePaths;
class Closer;
class ConnectionCap;
class DatagramPackets;
class Failover;
class PathLookup;
class PathOpener;

class Connector final : public ControlMessages, private ConnectionHost {
 public:
  // What else connecting has to do with.
  struct Neighbours {
    Failover& failover;
    AlternatePaths& alternates;
    AddressBook& addresses;
    PathLookup& paths;
    ConnectionCap& cap;
    Closer& closer;
    DatagramPackets& packets;
    PathOpener& opener;
    MachineEvents& machines;
  };
  Connector(RailContext& context, RailResources& resources, PeerTable& peers, TimerList& timers,
            PathReport& report, PollSchedule& schedule, const Neighbours& neighbours);
  ~Connector();

  // The job's secret is known: from now on it takes and sends datagrams, and connects.
  void start(const std::array<std::uint64_t, 2>& secret);
  bool started() const { return manager_.has_value(); }

  void want(VirtualChannel& peer) override;
  bool send_control(Subchannel& subchannel, DatagramKind kind, std::span<const std::byte> body,
                    std::uint32_t turn) override;
  bool send_control(ProcessIndex process, std::uint16_t rail, DatagramKind kind,
                    std::span<const std::byte> body) override {
    return manager_->send_control({process, no_subchannel}, rail, kind, body);
  }

  // The first packet of the present generation, or a later one while the subchannel is not ready.
  void on_packet(Subchannel& subchannel, PacketKind kind);
  void on_probe(Subchannel& subchannel, PacketKind kind, std::span<const std::byte> packet);
  void on_port(Rail& rail, bool came_back);
  void on_moved(Rail& rail);  // to another address, perhaps

  // Takes datagrams; true if there were any.
  bool receive();
  void progress();
  // Path records that were missing are known, or are not to be had, or there is room for connections: goes on
  // with what waits for them.
  void on_paths_settled();
  Nanoseconds deadline() const { return manager_->deadline(); }
  ConnectionCounters counters() const { return started() ? manager_->counters() : ConnectionCounters(); }

  // Actions of the machine, for the driver. Those that report back return what came of it.
  using Report = std::optional<SubchannelEvent>;
  Report connect(Subchannel& subchannel);
  void request(Subchannel& subchannel);
  void allow_to_accept() { accepting_ = true; }
  Report send_probes(Subchannel& subchannel);
  void answer_probe(Subchannel& subchannel);
  void enter_service(Subchannel& subchannel, const SubchannelAction& action);
  void reconnect_request(Subchannel& subchannel, std::uint32_t turn);
  void forget(const Subchannel& subchannel);

 private:
  bool answers(const SubchannelName& name, const ConnectionEnd& remote) override;
  bool accept(const SubchannelName& name, const ConnectionEnd& remote, ConnectionEnd& own) override;
  void connected(const SubchannelName& name, const ConnectionEnd& remote) override;
  void abandon(const SubchannelName& name, bool gave_up) override;
  void on_control(ProcessIndex peer, std::uint16_t index, DatagramKind kind,
                  std::span<const std::byte> body) override;
  void on_address(ProcessIndex peer, std::uint16_t index, const ConnectionEnd& end) override;
  void on_malformed(ProcessIndex process, std::string what) override;
  bool send_datagram(std::uint16_t rail, ProcessIndex peer, std::uint16_t index,
                     std::span<const std::byte> bytes) override;
  bool rail_up(std::uint16_t rail) const override;

  Nanoseconds acknowledge_time(const Subchannel& subchannel) const;
  bool paths_settled(Subchannel& subchannel, const rdma::PortAddress& to);
  bool make_queue_pair(Subchannel& subchannel);
  // Where the peer's end says that it is.
  void learn(Subchannel& subchannel, const ConnectionEnd& remote);
  bool use_record(Subchannel& subchannel, const ConnectionEnd& remote, rdma::Route& route);
  bool join(Subchannel& subchannel, const ConnectionEnd& remote);
  void take(std::uint16_t rail, std::span<const std::byte> datagram);
  ConnectionEnd own_end(Subchannel& subchannel, const rdma::PortAddress& to) const;
  void count_connected(Subchannel& subchannel);
  void fail(Subchannel& subchannel, PathReason reason);
  void on_port_down(Subchannel& subchannel, const Rail& rail);
  void on_reconnect_request(VirtualChannel& peer, std::span<const std::byte> body);
  const Subchannel* datagram_way(VirtualChannel& peer, std::uint16_t rail, std::uint16_t index);
  Subchannel* find(const SubchannelName& name);

  RailContext& context_;
  RailResources& resources_;
  PeerTable& peers_;
  TimerList& timers_;
  PathReport& report_;
  PollSchedule& schedule_;
  Failover& failover_;
  AlternatePaths& alternates_;
  AddressBook& addresses_;
  PathLookup& paths_;
  ConnectionCap& cap_;
  Closer& closer_;
  DatagramPackets& packets_;
  PathOpener& opener_;
  MachineEvents& machines_;
  std::optional<ConnectionManager> manager_;
  // What waits for path records: own requests, and datagrams that came. Requests of peers for whom there is
  // no room wait there, too.
  std::vector<SubchannelName> requests_;
  struct Deferred {
    std::uint16_t rail;
    SubchannelName name;
    std::vector<std::byte> bytes;
  };
  std::vector<Deferred> deferred_;
  bool to_wait_ = false;    // the datagram that is being handled,
  SubchannelName waits_;    // which is about this connection
  bool accepting_ = false;  // the machine allows the request that is being handled
  ProbeBody probe_;         // that is being handled
  std::size_t probe_filling_ = 0;
  std::array<Nanoseconds, max_rails> unsent_since_;  // datagrams of a rail; -1: all have left
};

}  // namespace hawser
