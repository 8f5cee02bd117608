// ReadFinishes: packets that tell the peer that its bytes were read, which leave when the reads are done,
// without this end's software (S06's fenced FIN).
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "rails/datapath/rail_context.h"
#include "rails/datapath/rail_resources.h"
#include "rails/datapath/striped_transfer.h"
#include "rails/decision/finish_choice.h"

namespace hawser {

class ReadFinishes {
 public:
  ReadFinishes(RailContext& context, RailResources& resources) : context_(context), resources_(resources) {}

  // It was posted in this pass, of a transfer that wants finishes.
  void add(WorkEntry& read) { added_.push_back(&read); }
  // At the end of the pass.
  void post() {
    if (!added_.empty()) post_added();
  }
  // The peer is to be told in another way.
  void forget(StripedTransfer& transfer);
  // Its bytes are here, and it is off its subchannel.
  void on_read(const WorkEntry& read);
  // The peer was told of the end of a message with a packet, which is not what the program sends.
  void on_told(const VirtualChannel& peer) { ++with(peer).told; }
  // A stripe of the transfer was carried out or failed.
  void on_end_of_flight(const StripedTransfer& transfer) { reads_ -= counts(transfer); }

  // In flight whose ends nothing waits for at this end.
  std::int64_t reads() const { return reads_; }

 private:
  using Reads = std::span<WorkEntry*>;
  // The next step of a collective operation begins when they are done.
  static bool counts(const StripedTransfer& transfer) {
    return transfer.finished_ && transfer.traffic_ != TrafficClass::collective;
  }
  struct Peer {
    FinishChoice begins, computes;
    std::uint32_t told = 0;
    FinishChoice& choice(ProgramState program) { return program == ProgramState::begins ? begins : computes; }
  };
  Peer& with(const VirtualChannel& peer);
  std::uint32_t sent_to(const VirtualChannel& peer);
  void post_added();
  void learn(const StripedTransfer& transfer);
  bool post(StripedTransfer& transfer, Reads reads);
  bool post_one(StripedTransfer& transfer, Reads reads);

  RailContext& context_;
  RailResources& resources_;
  std::vector<WorkEntry*> added_;
  std::vector<Peer> peers_;  // by process
  std::int64_t reads_ = 0;
};

}  // namespace hawser
