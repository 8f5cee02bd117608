// RailCore: what the parts of a RailChannel share: devices, rails, buffers, entries, transfers, peers. The
// parts are the peers' data path (virtual_channel.h), large messages (rendezvous.h), connecting and recovery
// (connector.h) and failover (failover.h); RailChannel runs them.
#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "base/knobs.h"
#include "base/random.h"
#include "channel/channel.h"
#include "channel/exchange.h"
#include "rails/datapath/rail.h"
#include "rails/datapath/subchannel.h"
#include "rails/datapath/transfer.h"
#include "rails/datapath/virtual_channel.h"
#include "rails/datapath/work_entry.h"
#include "rails/memory/registration_cache.h"
#include "rails/protocol/rendezvous.h"
#include "rails/rail_channel.h"
#include "rails/recovery/adapter_recovery.h"
#include "rails/recovery/address_book.h"
#include "rails/recovery/alternate_paths.h"
#include "rails/recovery/connector.h"
#include "rails/recovery/containment.h"
#include "rails/recovery/failover.h"
#include "rails/wire/rail_table.h"

namespace hawser {

struct RailCore {
  RailCore(const RailSettings& rail_settings, AddressExchange& address_exchange, const Knobs& knob_values,
           std::uint64_t seed);
  ~RailCore();

  VirtualChannel* find_peer(ProcessIndex process) {
    return process >= 0 && static_cast<std::size_t>(process) < peers.size()
               ? peers[static_cast<std::size_t>(process)].get()
               : nullptr;
  }
  // Makes it when it is first needed. Null: the peer has no rails that fit ours.
  VirtualChannel* peer(ProcessIndex process);

  PacketPool& pool(bool small) { return small ? small_packets : packets; }
  // Leaves no trace of the entry, which is in no list.
  void free_entry(WorkEntry* entry) {
    if (entry->buffer != nullptr) pool(entry->small).give_back(entry->buffer);
    entries.give_back(entry);
  }
  // To be looked at by the timers, and now.
  void watch(Subchannel& subchannel) {
    if (!subchannel.attention.linked()) attention.push_back(&subchannel);
    timer = now;
  }
  // Whether its datagrams and its device's events are passed over in this look.
  bool passes_over(const Rail& rail) const { return looks != 0 && spares && rail.costly_to_poll(); }
  // Takes some completions of a rail and deals with them; how many.
  int poll(Rail& rail);
  void poll_all(Rail& rail) {
    while (poll(rail) > 0) {
    }
  }
  // Makes the connector as soon as the job's secret can be known.
  Result<> connect_up();
  // What the process told of its rails before the first fence.
  Result<RailTable> exchanged_table(ProcessIndex process);
  Result<> publish();
  void want(VirtualChannel& to) {
    if (connector != nullptr || connect_up()) connector->want(to);
  }
  void take_events(rdma::Device& device, std::uint16_t device_number);
  void look_at_timers();
  bool timers_due() const { return now >= timer || now >= next_watch_; }
  // When timers_due() wants to be asked though nothing comes: requests that hang bring nothing.
  Nanoseconds next_look() const;
  // Tells the outside how a subchannel stands, after every change.
  void show(Subchannel& subchannel, PathReason reason);
  // And of attempts to connect again that could not even begin: the 1st, 2nd, 4th, 8th... since the failure.
  void show_vain_attempt(Subchannel& subchannel, PathReason reason);
  void show_weights();
  // Brings the counters that others keep up to date: registration cache, datagrams.
  void count_more();
  void device_gone(std::uint16_t device_number);
  // A peer sent what no process of this job can mean, however late or often it came; `what` goes on after
  // "rank 3 sent ". To be told within progress.
  void report_malformed(ProcessIndex process, std::string what);
  void report_short(ProcessIndex process, std::string_view kind, std::size_t bytes);
  // Bytes behind every packet.
  std::size_t trailer() const { return knobs.checksum ? checksum_bytes : 0; }
  // How long an adapter is silent, with the knobs as they are, before it gives a connection up.
  Nanoseconds adapter_patience() const { return knobs.rail_acknowledge_time * (knobs.rail_retries + 1); }
  bool bug(PlantedBug which) const { return settings.planted_bug == which; }

  const RailSettings settings;
  RailStatus no_status;
  RailStatus& status;
  AddressExchange& exchange;
  const Knobs knobs;
  Random random;
  HealthSettings health;
  FlowSettings flow, port_flow, packet_flow;
  RailCounters counters;
  Nanoseconds now = 0;
  ChannelEvents* events = nullptr;  // during progress
  bool read_rendezvous = true;
  std::int32_t inline_bytes = 0;  // of all queue pairs
  Nanoseconds looked = 0;         // for datagrams and events
  bool look_now = true;
  // Rails that are costly to poll, if others are not, are polled and looked at less often.
  bool spares = false;
  std::uint32_t looks = 0;  // while 0 at them, too
  bool look_skipped = false;
  Nanoseconds next_show = never;  // of weights and counters; they wake nobody
  Nanoseconds timer = 0;          // when the timers are to be looked at next

  // In the order in which they may be destroyed from the last to the first.
  std::vector<std::unique_ptr<rdma::Device>> devices;
  DeviceMask dead_devices = 0;
  PacketPool small_packets;
  PacketPool packets;
  std::vector<std::unique_ptr<Rail>> rails;
  EntryPool entries;
  std::unique_ptr<RegistrationCache> registrations;
  TransferTable exposures;
  TransferTable fetches;
  RailTable table;  // the own one
  std::array<std::int32_t, max_rails> receives_wanted = {};
  std::vector<bool> unreachable;  // peers without rails that fit
  std::vector<std::unique_ptr<VirtualChannel>> peers;
  std::vector<VirtualChannel*> known_peers;  // in the order they became known
  IntrusiveList<VirtualChannel, &VirtualChannel::in_due> due;
  IntrusiveList<Subchannel, &Subchannel::attention> attention;

  Rendezvous rendezvous;
  Failover failover;
  AlternatePaths alternates;
  Containment containment;
  AdapterRecovery recovery;
  AddressBook addresses;
  std::unique_ptr<Connector> connector;  // once the job's secret is known

 private:
  void on_completion(Rail& rail, const rdma::Completion& completion);
  void on_receive(Rail& rail, const rdma::Completion& completion);
  bool take_packet(Subchannel& subchannel, PacketBuffer* buffer);

  Nanoseconds watch_interval() const;

  Nanoseconds next_watch_ = 0, next_credits_ = 0;
  std::vector<Subchannel*> attention_now_;
};

}  // namespace hawser
