// Recovery: the door of this floor. It owns what connects subchannels, repairs them, and keeps adapters and
// addresses; takes what the data path tells of failures, packets and devices to the part that is concerned;
// and runs their timers.
#pragma once

#include <string>
#include <vector>

#include "rails/datapath/upward.h"
#include "rails/recovery/adapter_recovery.h"
#include "rails/recovery/address_book.h"
#include "rails/recovery/alternate_paths.h"
#include "rails/recovery/closer.h"
#include "rails/recovery/connection_cap.h"
#include "rails/recovery/connector.h"
#include "rails/recovery/datagram_packets.h"
#include "rails/recovery/failover.h"
#include "rails/recovery/multicast_rails.h"
#include "rails/recovery/path_lookup.h"
#include "rails/recovery/path_opener.h"
#include "rails/recovery/quarantine.h"
#include "rails/recovery/subchannel_driver.h"

namespace hawser {

class Recovery final : private SubchannelEvents, private PacketHandler {
 public:
  // What of the lower floors recovery works with; all of it outlives this.
  struct LowerFloors {
    RailContext& context;
    RailResources& resources;
    PeerTable& peers;
    TimerList& timers;
    PathReport& report;
    PollSchedule& schedule;
    Completions& completions;
    StripeEngine& stripes;
    Rendezvous& rendezvous;
    RemoteWindows& windows;
    Upward& upward;
  };
  Recovery(const LowerFloors& lower, AddressExchange& exchange);

  Result<> publish() { return addresses_.publish(); }
  bool started() const { return connector_.started(); }
  // Starts as soon as the job's secret can be known.
  Result<> start();

  void on_wanted(VirtualChannel& peer) override;
  void on_paths_wanted(VirtualChannel& peer) override { opener_.want(peer); }
  // Takes datagrams and the devices' events; true if there were datagrams.
  bool look();
  void run_timers();
  bool timers_due() const { return context_.now >= timers_.next_run() || context_.now >= next_watch_; }
  // When timers_due() wants to be asked though nothing comes: requests that hang bring nothing.
  Nanoseconds next_run() const;
  ConnectionCounters datagrams() const { return connector_.counters(); }
  MulticastRails& multicast() { return multicast_; }
  const MulticastRails& multicast() const { return multicast_; }
  // The process has failed.
  void give_up(VirtualChannel& peer, const Error& error) { failover_.lose(peer, error); }
  // Whether connections are closed on purpose.
  bool capped() const { return cap_.caps(); }

 private:
  void on_failed(Subchannel& subchannel, PathReason reason) override {
    driver_.on(subchannel, {.kind = SubchannelEvent::Kind::fail, .reason = reason});
  }
  void on_damaged(Subchannel& subchannel) override {
    driver_.on(subchannel, {.kind = SubchannelEvent::Kind::damaged});
  }
  void on_half_posted(Subchannel& subchannel) override {
    driver_.on(subchannel, {.kind = SubchannelEvent::Kind::post_failed});
  }
  void on_drained(Subchannel& subchannel) override {
    driver_.on(subchannel, {.kind = SubchannelEvent::Kind::drained,
                            .received = subchannel.traffic.received,
                            .sent = subchannel.traffic.sent});
  }
  void on_early_packet(Subchannel& subchannel, PacketKind kind) override {
    connector_.on_packet(subchannel, kind);
  }
  void on_reissued(std::int64_t bytes) override { failover_.note_resumed(bytes); }
  void on_device_gone(std::uint16_t device) override;
  void on_packet(const ReceivedPacket& packet) override;

  void take_events(rdma::Device& device, std::uint16_t device_number);
  void on_event(Rail& rail, const rdma::DeviceEvent& event);
  void look_at_subchannels();
  void watch_peers();
  void judge_rates();
  void retire_peers();
  Nanoseconds watch_interval() const;

  RailContext& context_;
  RailResources& resources_;
  PeerTable& peers_;
  TimerList& timers_;
  const PollSchedule& schedule_;
  const StripeEngine& stripes_;
  const Rendezvous& rendezvous_;
  const RemoteWindows& windows_;

  PathLookup paths_;
  MulticastRails multicast_;
  AlternatePaths alternates_;
  Quarantine quarantine_;
  Failover failover_;
  AddressBook addresses_;
  AdapterRecovery adapters_;
  Connector connector_;
  ConnectionCap cap_;
  Closer closer_;
  DatagramPackets packets_;
  PathOpener opener_;
  SubchannelDriver driver_;

  Nanoseconds next_watch_ = 0, next_credits_ = 0, next_rates_ = 0;
  std::size_t next_retired_ = 0;        // of the peers known: where the last look ended
  std::vector<Subchannel*> looked_at_;  // scratch
};

}  // namespace hawser
