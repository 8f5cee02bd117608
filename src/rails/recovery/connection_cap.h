// ConnectionCap: how many queue pairs this process has (knob `connections`; CT-2). Whoever wants to connect
// agrees with the peer first that both have room (room_agreement.h). Where there is none, it asks peers that
// are not needed to part, chosen by a policy (victim_choice.h). Only the peer knows what it has under way,
// reads and writes of this process's memory above all; so nobody closes a connection whose other end did not
// agree (CT-5), and a peer with something under way refuses.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <unordered_map>
#include <vector>

#include "base/time.h"
#include "channel/shortage.h"
#include "rails/datapath/peer_table.h"
#include "rails/datapath/rail_context.h"
#include "rails/datapath/rail_resources.h"
#include "rails/datapath/stripe_engine.h"
#include "rails/datapath/timer_list.h"
#include "rails/decision/room_agreement.h"
#include "rails/decision/victim_choice.h"
#include "rails/recovery/recovery_links.h"

namespace hawser {

class Closer;

class ConnectionCap final : public ParkedListener {
 public:
  struct Neighbours {
    ControlMessages& control;
    Closer& closer;
  };
  ConnectionCap(RailContext& context, const RailResources& resources, TimerList& timers,
                const StripeEngine& stripes, PeerTable& peers, const Neighbours& neighbours);

  // The devices are open.
  void start();
  // Who wants a connection: this process, which is then told to connect; or the peer, whose request waits.
  enum class Wanted : std::uint8_t { here, there };
  // Whether there is a limit.
  bool caps() const { return most_ > 0; }
  // Whether the peer may be connected with now. False: it waits, and is let in by progress().
  bool admits(VirtualChannel& peer, Wanted wanted) { return most_ == 0 || may_connect(peer, wanted); }
  // The peer asks whether there is room here, or answers.
  void on_room(VirtualChannel& peer, DatagramKind kind);
  // The peer asks to part, or refused to.
  void on_request(VirtualChannel& peer, std::span<const std::byte> body, bool refused);
  void on_parked(VirtualChannel& peer) override;
  // A queue pair was made for the peer, or could not be: the adapter has none left, or this process no memory
  // or descriptors.
  void on_made(VirtualChannel& peer) {
    queue_pairs_short_.end();
    if (most_ > 0) note_made(peer);
  }
  void on_none_left(const Subchannel& subchannel, const Error& why);
  // The peer's VirtualChannel goes. What the choice of victims remembers of it stays.
  void forget(const VirtualChannel& peer) { std::erase(connected_, &peer); }
  // Whether there is room for one that could be done without.
  bool has_spare() const {
    return resources_.queue_pairs < (most_ > 0 ? most_ : most_on_demand_) && room_.idle();
  }

  // True if it let anybody in: requests of peers can be answered now.
  bool progress();
  Nanoseconds deadline() const { return due_; }

 private:
  // What is remembered of a peer for the choice.
  struct Record {
    Nanoseconds ask_again = -1;  // not before
    std::uint32_t tear_downs = 0;
    bool refused = false;  // when it was asked last
    bool leaves = false;   // it asked, and was refused: it is asked as soon as nothing is under way
  };
  Record& record_of(const VirtualChannel& peer) { return records_[peer.process()]; }
  bool may_connect(VirtualChannel& peer, Wanted wanted);
  void note_made(VirtualChannel& peer);
  bool act();
  bool send_room(VirtualChannel& peer, DatagramKind kind);
  void look_soon();
  void look_now();
  static Nanoseconds used(VirtualChannel& peer);
  bool busy(VirtualChannel& peer) const;
  void ask_victims();
  void ask_to_part(VirtualChannel& victim);
  bool closable(VirtualChannel& peer) const;
  bool forgotten(VirtualChannel& peer) const;
  void send(VirtualChannel& peer, const CloseRequestBody& body, bool refusal);

  RailContext& context_;
  const RailResources& resources_;
  TimerList& timers_;
  const StripeEngine& stripes_;
  PeerTable& peers_;
  Neighbours neighbours_;
  const bool fixed_;                 // by the user
  std::int32_t most_on_demand_ = 0;  // queue pairs up to which some are made on demand
  std::int32_t most_;                // queue pairs; 0: no limit
  RoomAgreement room_;
  Shortage queue_pairs_short_;  // for peers that have none
  std::unique_ptr<VictimPolicy> policy_;
  std::unordered_map<ProcessIndex, Record> records_;
  std::vector<VirtualChannel*> connected_;  // that have queue pairs, or had at the last look
  Nanoseconds due_ = never;
  Nanoseconds pause_ = 0;
  int leaving_ = 0;             // peers that are to be asked for they asked
  Nanoseconds rested_ = never;  // when the next one can be asked to part
  std::uint32_t turn_ = 0;
  std::vector<RoomAgreement::Action> actions_;  // scratch
  std::vector<VirtualChannel*> candidates_;     // scratch
  std::vector<VictimView> views_;               // scratch
};

}  // namespace hawser
