// DatagramPackets: small packets to and from peers with which there is no connection (CT-1). They go by the
// datagram queue pair at once, beside the handshake if there is one, with the sequence numbers that all
// packets to the peer have. Each is kept until the peer acknowledges it, and sent again another way when that
// takes long; when there is a connection by then, over that. datagram_use.h decides how many go so.
//
// A way is a pair of rails, one here and one there. Where both processes have the same rails, each rail has
// one partner, and one way is taken. Else a rail has several, and nobody says which of them are on its
// network: packets take all ways until the peer is heard of, and then the one that its packet or answer came.
//
// A datagram is one of the connection manager's, so nobody without the job's secret can make one.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "rails/datapath/rail_context.h"
#include "rails/datapath/rail_resources.h"
#include "rails/datapath/timer_list.h"
#include "rails/datapath/upward.h"
#include "rails/datapath/virtual_channel.h"
#include "rails/recovery/connection_cap.h"
#include "rails/recovery/path_lookup.h"
#include "rails/recovery/recovery_links.h"

namespace hawser {

class DatagramPackets final : public DatagramWay {
 public:
  struct Neighbours {
    ControlMessages& control;
    PathLookup& paths;
    const ConnectionCap& cap;
  };
  DatagramPackets(RailContext& context, const RailResources& resources, TimerList& timers,
                  const Neighbours& neighbours);

  Answer takes(VirtualChannel& peer, PacketKind kind, std::size_t bytes) override;
  void send(VirtualChannel& peer, WorkEntry& packet) override;
  // `index`: the subchannel whose way it came.
  void on_packet(VirtualChannel& peer, std::uint16_t index, std::span<const std::byte> packet);
  // Acknowledges what came since the last time, unless something that was sent meanwhile did.
  void answer();
  // The peer's VirtualChannel goes.
  void forget(const VirtualChannel& peer) {
    std::erase(under_way_, &peer);
    std::erase(answers_, &peer);
  }
  // Sends again what is due.
  void progress();
  Nanoseconds deadline() const { return due_; }

 private:
  // So many messages of late are worth a connection; 0: any.
  std::uint32_t connected_after() const;
  using Ways = std::span<Subchannel* const>;  // each the first of its pair of rails
  void find_ways(VirtualChannel& peer);
  Subchannel* heard_way(VirtualChannel& peer) const;
  Ways ways_of_packets(VirtualChannel& peer);
  Ways ways_of_answer(VirtualChannel& peer);
  bool put_on_way(VirtualChannel& peer, Ways ways, std::span<const std::byte> packet);
  void put_on_way(VirtualChannel& peer, const WorkEntry& packet);
  void repeat(VirtualChannel& peer);
  void look_in(Nanoseconds pause);

  RailContext& context_;
  const RailResources& resources_;
  TimerList& timers_;
  Neighbours neighbours_;
  std::vector<VirtualChannel*> under_way_;  // peers that may lack packets
  std::vector<VirtualChannel*> answers_;    // peers that are to be told what came
  Nanoseconds due_ = never;
  std::uint32_t turn_ = 0;  // of answers
  // To one peer, by ports that are up here; the first of them by such as were up there at the start.
  std::vector<Subchannel*> ways_;
  std::size_t likely_ways_ = 0;
  bool ambiguous_ = false;  // some of these have a rail in common
};

}  // namespace hawser
