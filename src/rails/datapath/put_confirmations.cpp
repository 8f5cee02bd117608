#include "rails/datapath/put_confirmations.h"

#include <algorithm>

#include "rails/datapath/virtual_channel.h"

namespace hawser {
namespace {

// Behind so many bytes, and behind this part of what is not confirmed, another read is posted while others
// are under way: who waits for puts one after the other then hears of them one after the other, as an adapter
// tells of writes, and puts others in their place. With one read behind many puts the queue would run empty
// before that one tells of any. Nor are there more than adapters have under way, or requests would wait.
constexpr std::int64_t worth_a_read = 16384;

bool is_due(const PutTrail& trail) {
  const std::int32_t most = trail.subchannel.ends.outstanding_reads;
  return trail.confirmations < most &&
         trail.uncovered >= std::max(worth_a_read, trail.unconfirmed / std::max(most / 2, 1));
}

}  // namespace

bool PutConfirmations::post_put(WorkEntry& entry, Subchannel& subchannel, const rdma::SendRequest& put,
                                std::span<const rdma::Segment> list) {
  if (subchannel.puts == nullptr) [[unlikely]]
    subchannel.puts = std::make_unique<PutTrail>(subchannel);
  PutTrail& trail = *subchannel.puts;
  if (!entry.light || trail.confirmations > 0) {
    if (!post_one(*subchannel.queue_pair, put, list)) return false;
    note_posted(entry, trail, put);
    return true;
  }
  rdma::SendRequest requests[2] = {put, {}};
  WorkEntry* const read = prepare(trail, 2, requests[1]);
  requests[1].remote_address = put.remote_address;
  requests[1].remote_key = put.remote_key;
  requests[0].signaled = read == nullptr;
  const std::size_t count = read == nullptr ? 1 : 2;
  const auto posted = static_cast<std::size_t>(subchannel.queue_pair->post_send({requests, count}));
  if (read != nullptr && posted < 2) resources_.free_entry(read);
  if (posted == 0) return false;
  note_posted(entry, trail, put);
  if (posted == 2) {
    behind_put_ = read;
    read->subchannel = &subchannel;
    read->ordinal = trail.posted;
    cover(trail);
  }
  return true;
}

void PutConfirmations::note_posted(WorkEntry& entry, PutTrail& trail, const rdma::SendRequest& put) {
  entry.ordinal = trail.posted++;
  trail.uncovered += entry.size;
  trail.unconfirmed += entry.size;
  trail.last_address = put.remote_address;
  trail.last_key = put.remote_key;
  if (!trail.uncovered_link.linked()) uncovered_.push_back(&trail);
}

void PutConfirmations::keep(WorkEntry& entry) {
  resources_.entries.place(entry, WorkEntry::Place::retained);
  entry.subchannel->puts->acknowledged.push_back(&entry);
}

bool PutConfirmations::post_some() {
  bool any = false;
  for (PutTrail* trail = uncovered_.front(); trail != nullptr;) {
    PutTrail* const next = uncovered_.next(trail);
    if (trail->confirmations == 0 || is_due(*trail)) any |= post(*trail);
    trail = next;
  }
  return any;
}

void PutConfirmations::confirm_now(VirtualChannel& peer) {
  for (Subchannel& subchannel : peer.subchannels())
    if (subchannel.puts != nullptr && subchannel.puts->uncovered_link.linked()) post(*subchannel.puts);
}

// A read behind what was put last, which is to be one of so many requests; null: no room now, or the
// connection is failing; then what is kept will be taken back.
WorkEntry* PutConfirmations::prepare(const PutTrail& trail, std::int32_t requests,
                                     rdma::SendRequest& request) {
  const Subchannel& subchannel = trail.subchannel;
  const bool usable = subchannel.in_service() || subchannel.machine().closing();
  if (!usable || !subchannel.room_for(requests, static_cast<std::int32_t>(context_.knobs.rail_send_depth)))
    return nullptr;
  PacketBuffer* const buffer = resources_.small_packets.take_for_protocol();
  if (buffer == nullptr) return nullptr;
  WorkEntry& entry = *resources_.entries.take();
  entry.kind = WorkEntry::Kind::confirmation;
  entry.sequenced = false;
  entry.light = true;
  entry.small = true;
  entry.buffer = buffer;
  entry.bytes = 0;
  entry.size = 0;
  entry.ordinal = trail.posted;
  entry.posted = context_.now;
  entry.watched = 0;
  request.id = entry.work_id();
  request.opcode = rdma::Opcode::read;
  request.segment_count = 1;
  request.segments[0] = {buffer->data, 1, buffer->local_keys[subchannel.rail.device_number()]};
  request.remote_address = trail.last_address;
  request.remote_key = trail.last_key;
  return &entry;
}

bool PutConfirmations::post(PutTrail& trail) {
  rdma::SendRequest request;
  WorkEntry* const entry = prepare(trail, 1, request);
  if (entry == nullptr) return false;
  if (trail.subchannel.queue_pair->post_send({&request, 1}) != 1) {
    resources_.free_entry(entry);
    return false;
  }
  entry->subchannel = &trail.subchannel;
  cover(trail);
  add(*entry);
  return true;
}

void PutConfirmations::on_put_in_flight(const Subchannel& subchannel) {
  if (behind_put_ != nullptr) {
    add(*std::exchange(behind_put_, nullptr));
    return;
  }
  PutTrail& trail = *subchannel.puts;
  if (is_due(trail)) post(trail);
}

// A read was posted behind all puts of the trail.
void PutConfirmations::cover(PutTrail& trail) {
  ++trail.confirmations;
  trail.uncovered = 0;
  uncovered_.remove(&trail);
}

void PutConfirmations::add(WorkEntry& confirmation) {
  ++context_.counters.confirming_reads;
  resources_.entries.place(confirmation, WorkEntry::Place::in_flight);
  confirmation.subchannel->add(confirmation);
  context_.wake_sleeper();
}

void PutConfirmations::on_read(const WorkEntry& confirmation) {
  --confirmation.subchannel->puts->confirmations;
}

WorkEntry* PutConfirmations::take_confirmed(Subchannel& subchannel, std::uint32_t before) {
  EntryList& acknowledged = subchannel.puts->acknowledged;
  WorkEntry* const first = acknowledged.front();
  if (first == nullptr || sequence_distance(first->ordinal, before) >= 0) return nullptr;
  acknowledged.remove(first);
  subchannel.puts->unconfirmed -= first->size;
  return first;
}

WorkEntry* PutConfirmations::take_unconfirmed(Subchannel& subchannel) {
  if (subchannel.puts == nullptr) return nullptr;
  PutTrail& trail = *subchannel.puts;
  if (trail.uncovered_link.linked()) uncovered_.remove(&trail);
  trail.posted = 0;
  trail.uncovered = trail.unconfirmed = 0;
  trail.confirmations = 0;
  return trail.acknowledged.pop_front();
}

}  // namespace hawser
