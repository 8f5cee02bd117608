// RailEngine: the top of the rails. Owns the parts of all floors, joins them, and runs a pass of progress;
// what they do is in them.
#pragma once

#include <memory>

#include "rails/datapath/completions.h"
#include "rails/datapath/path_report.h"
#include "rails/datapath/peer_table.h"
#include "rails/datapath/poll_schedule.h"
#include "rails/datapath/rail_context.h"
#include "rails/datapath/rail_resources.h"
#include "rails/datapath/stripe_engine.h"
#include "rails/datapath/timer_list.h"
#include "rails/datapath/upward.h"
#include "rails/protocol/eager_messages.h"
#include "rails/protocol/remote_windows.h"
#include "rails/protocol/rendezvous.h"
#include "rails/recovery/recovery.h"

namespace hawser {

struct RailEngine {
  // Opens the devices.
  static Result<std::unique_ptr<RailEngine>> open(const RailSettings& settings, AddressExchange& exchange,
                                                  rdma::DeviceSource& devices, const Knobs& knobs,
                                                  std::uint64_t seed);
  ~RailEngine();

  bool progress(TransportEvents& channel_events, Nanoseconds now);
  void give_up(ProcessIndex process, const Error& error, TransportEvents& channel_events);
  bool in_progress() const { return context.events != nullptr; }
  // Whether transfers go on while the program computes.
  bool moves_at_once() const { return moves_at_once_; }
  // Outside of progress: lets bytes move that were asked for.
  void begin_transfers() {
    rendezvous.send_answers();
    stripes.progress();
  }
  // The same of what was asked for since the last pass only.
  void begin_added_transfers() {
    rendezvous.send_added_answers();
    stripes.post_added_reads();
  }
  Nanoseconds deadline() const;
  // Whether something goes on only with completions that are not solicited: of requests of this process, or
  // of a packet for which others wait that came before it.
  bool awaits_any_completion() const;
  // Brings the counters that others keep up to date: registration cache, datagrams.
  const RailCounters& count();
  // The full walk over peers, subchannels, transfers and registrations. progress() itself checks what is
  // counted at its begin and its end, and walks as often as the settings want.
  void check_invariants() const;

  // In the order in which they may be destroyed from the last to the first.
  RailContext context;
  RailResources resources;
  Upward upward;
  PeerTable peers;
  TimerList timers;
  PathReport report;
  PollSchedule schedule;
  StripeEngine stripes;
  Completions completions;
  EagerMessages eager;
  Rendezvous rendezvous;
  RemoteWindows windows;
  Recovery recovery;

 private:
  RailEngine(const RailSettings& settings, AddressExchange& exchange, const Knobs& knobs, std::uint64_t seed);
  void show_weights();
  void read_clock_if_needed();

  const bool moves_at_once_;
  std::uint32_t passes_ = 0;
  std::size_t taken_at_end_ = 0;   // entries, of the last pass
  Nanoseconds next_show_ = never;  // of weights and counters; they wake nobody
};

}  // namespace hawser
