// Completions: takes what adapters finished: sends, stripes and packets that arrived.
#pragma once

#include <array>

#include "access/rdma.h"
#include "rails/datapath/rail_context.h"
#include "rails/datapath/rail_resources.h"
#include "rails/datapath/stripe_engine.h"
#include "rails/datapath/subchannel.h"
#include "rails/datapath/upward.h"
#include "rails/datapath/virtual_channel.h"

namespace hawser {

class Completions {
 public:
  Completions(RailContext& context, RailResources& resources, StripeEngine& stripes, Upward& upward)
      : context_(context), resources_(resources), stripes_(stripes), upward_(upward) {}

  // Takes some completions of a rail and deals with them; how many. Not to be called while it does.
  int poll(Rail& rail);
  void poll_all(Rail& rail) {
    while (poll(rail) > 0) {
    }
  }

 private:
  void on_completion(Rail& rail, const rdma::Completion& completion);
  // A packet to the peer is done, and dealt with.
  void count_done(VirtualChannel& peer) {
    peer.paths().latencies().count_done();
    look_at_latencies(peer);
  }
  // Rails may be idle now.
  void look_at_latencies(VirtualChannel& peer) {
    if (peer.paths().latencies().wants_look()) [[unlikely]]
      time_idle_rails(peer);
  }
  [[gnu::cold]] void time_idle_rails(VirtualChannel& peer);
  void end_puts_before(const WorkEntry& confirmation);
  void on_receive(Rail& rail, const rdma::Completion& completion);
  bool take_packet(Subchannel& subchannel, PacketBuffer* buffer);

  RailContext& context_;
  RailResources& resources_;
  StripeEngine& stripes_;
  Upward& upward_;
  std::array<rdma::Completion, 16> batch_;  // scratch
  bool polling_ = false;
};

}  // namespace hawser
