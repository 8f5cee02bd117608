// AddressBook: who is where now. Rail tables come from the launcher's exchange at the start of the job; an
// address may change afterwards (the subnet manager gives another LID, an adapter is opened again). Then this
// process tells all others by datagram, connected or not, a few at a time and several times over, each time
// through other rails. Who cannot connect for long asks a third process, in case both ends have moved; and
// the launcher, in case all have: it is told of changes, too, where it keeps such things. Datagrams may be
// late and come by hearsay: the later of two addresses is found by RailAddress::later_than.
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>
#include <map>
#include <span>

#include "base/time.h"
#include "channel/exchange.h"
#include "channel/transport.h"
#include "rails/datapath/peer_table.h"
#include "rails/datapath/rail_context.h"
#include "rails/datapath/rail_resources.h"
#include "rails/datapath/timer_list.h"
#include "rails/datapath/upward.h"
#include "rails/recovery/recovery_links.h"
#include "rails/wire/rail_table.h"

namespace hawser {

class PathLookup;

class AddressBook final : private RailTableSource {
 public:
  AddressBook(RailContext& context, const RailResources& resources, const PeerTable& peers, TimerList& timers,
              Upward& upward, AddressExchange& exchange, PathLookup& paths, ControlMessages& control,
              MachineEvents& machines);

  // Tells the others of the own rails, before the first fence of the job.
  Result<> publish();
  // What all processes of the job know and nobody else; after that fence.
  Result<std::array<std::uint64_t, 2>> job_secret();

  // A datagram to a process with which nothing was ever to be connected.
  bool send_to_stranger(Rail& rail, ProcessIndex process, std::span<const std::byte> bytes);
  // The peer was not reached: asks others where it is.
  void ask(ProcessIndex about);
  void on_address(ProcessIndex from, std::span<const std::byte> body);
  void on_question(ProcessIndex from, std::span<const std::byte> body);

  // Tells others what changed here, as far as it is time to.
  void progress();
  Nanoseconds deadline() const { return std::min(due_, launcher_due_); }

 private:
  // Of a process that becomes a peer: what it published, and what was heard of it since.
  Result<RailTable> latest_table(ProcessIndex process) override;
  void keep_table(ProcessIndex process, const RailTable& table) override { kept_[process] = table; }
  Result<RailTable> known_table(ProcessIndex process);
  // Where the process's rails are, as far as known; empty: it has none.
  RailTable table_of(ProcessIndex process);
  void note_changes();
  void tell_some();
  void ask(ProcessIndex whom, ProcessIndex about);
  void ask_launcher(ProcessIndex about);
  void ask_about_unreached();
  void hear_launcher();
  void learn(ProcessIndex process, std::uint16_t rail, const RailAddress& address);
  bool tell(ProcessIndex to, ProcessIndex about, std::uint16_t rail, const RailAddress& address,
            std::uint16_t through);

  RailContext& context_;
  const RailResources& resources_;
  const PeerTable& peers_;
  TimerList& timers_;
  AddressExchange& exchange_;
  PathLookup& paths_;
  ControlMessages& control_;
  MachineEvents& machines_;
  std::map<ProcessIndex, RailTable> heard_;  // of processes that are no peers yet
  std::map<ProcessIndex, RailTable> kept_;   // of some that were
  std::array<RailAddress, max_rails> told_ = {};
  std::uint32_t changed_ = 0;  // bit i: rail i, since the start of the job
  std::uint32_t round_ = 0;
  ProcessIndex next_ = 0;  // to be told in this round
  ProcessIndex next_asked_ = 0;
  std::uint32_t turn_ = 0;
  Nanoseconds due_ = never;
  Nanoseconds launcher_asked_ = 0;    // last
  Nanoseconds launcher_due_ = never;  // when to look for its answers
};

}  // namespace hawser
