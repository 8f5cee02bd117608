// PutConfirmations: when the peer's memory has what was put there. An adapter acknowledges what it accepted;
// it may die with it, and nobody at the peer counts puts. So a byte is read behind them on the same queue
// pair: requests of a connection are carried out in order, and what is read has pushed all that was written
// before it into memory. A put is over when such a read was carried out; until then, it is moved again if its
// connection fails (doc/rails.md).
//
// The read is of a byte that the last put wrote, so its window cannot be gone while the read is under way.
#pragma once

#include <cstdint>
#include <span>
#include <utility>

#include "rails/datapath/rail_context.h"
#include "rails/datapath/rail_resources.h"
#include "rails/datapath/subchannel.h"

namespace hawser {

class VirtualChannel;

// False: the adapter does not take it now.
inline bool post_one(rdma::QueuePair& queue_pair, const rdma::SendRequest& request,
                     std::span<const rdma::Segment> list) {
  return list.empty() ? queue_pair.post_send({&request, 1}) == 1 : queue_pair.post_list(request, list);
}

class PutConfirmations {
 public:
  PutConfirmations(RailContext& context, RailResources& resources)
      : context_(context), resources_(resources) {}

  // Posts the entry's put; a light one with a read behind it, in the same call, if no other read is under
  // way: who puts a few bytes and flushes waits for one round trip, and the adapter is told once. False: the
  // adapter does not take the put now.
  // `list`: of a put that is not light, where its bytes lie, if not in one piece.
  bool post_put(WorkEntry& entry, Subchannel& subchannel, const rdma::SendRequest& put,
                std::span<const rdma::Segment> list);
  // That put is in flight now; and so is the read behind it, if there was one. Posts one if it is time for
  // it.
  void on_put_in_flight(const Subchannel& subchannel);
  // The peer's adapter has it; the entry is kept here.
  void keep(WorkEntry& entry);
  // Reads behind puts that no other read covers: one at a time on each connection, or some if much is put.
  // True if any was posted.
  bool progress() { return uncovered_.empty() ? false : post_some(); }
  // The same for a peer, at once, though others are under way.
  void confirm_now(VirtualChannel& peer);
  // A read was carried out. Then, one by one: the puts that it confirms, which are the caller's now; null: no
  // more.
  void on_read(const WorkEntry& confirmation);
  WorkEntry* take_confirmed(Subchannel& subchannel, std::uint32_t before);
  // The connection is over: likewise all that are kept, unconfirmed.
  WorkEntry* take_unconfirmed(Subchannel& subchannel);

 private:
  bool post_some();
  bool post(PutTrail& trail);
  WorkEntry* prepare(const PutTrail& trail, std::int32_t requests, rdma::SendRequest& request);
  void note_posted(WorkEntry& entry, PutTrail& trail, const rdma::SendRequest& put);
  void cover(PutTrail& trail);
  void add(WorkEntry& confirmation);

  RailContext& context_;
  RailResources& resources_;
  WorkEntry* behind_put_ = nullptr;  // posted with a put that is not among those in flight yet
  IntrusiveList<PutTrail, &PutTrail::uncovered_link> uncovered_;  // with puts that no read covers
};

}  // namespace hawser
