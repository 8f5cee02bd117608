#include "rails/datapath/completions.h"

#include <algorithm>
#include <cstring>
#include <utility>

#include "base/crc32c.h"

namespace hawser {
namespace {

PathReason reason_of(rdma::Status status) {
  switch (status) {
    case rdma::Status::rnr_exceeded:
      return PathReason::receiver_not_ready;
    case rdma::Status::remote_access:
      return PathReason::remote_access;
    case rdma::Status::fatal:
      return PathReason::device_fatal;
    case rdma::Status::success:
    case rdma::Status::flushed:
    case rdma::Status::retry_exceeded:
    case rdma::Status::local_error:
    case rdma::Status::other:
      break;
  }
  return PathReason::completion_error;
}

// Takes the checksum off.
bool undamaged(PacketBuffer& buffer) {
  PacketHeader header;
  if (!read_body({buffer.data, buffer.bytes}, 0, header) || header.checked == 0) return true;
  if (buffer.bytes < sizeof(header) + checksum_bytes) return false;
  buffer.bytes -= checksum_bytes;
  std::uint32_t sent;
  std::memcpy(&sent, buffer.data + buffer.bytes, sizeof(sent));
  return sent == crc32c({buffer.data, buffer.bytes});
}

}  // namespace

// A dead device's too: what it had acknowledged to peers lies in memory, and so does what was flushed.
int Completions::poll(Rail& rail) {
  HAWSER_ASSERT(!polling_);
  const int count = rail.completions().poll(batch_);
  if (count < 0) [[unlikely]] {
    upward_.subchannels->on_device_gone(rail.device_number());
    return 0;
  }
  rail.polling.note(count, count < static_cast<int>(batch_.size()), context_.now);
  if (count == 0) return 0;
  polling_ = true;
  for (int i = 0; i < count; ++i) on_completion(rail, batch_[static_cast<std::size_t>(i)]);
  polling_ = false;
  rail.fill();
  return count;
}

// Whether no packet to others went over the rail beside this one.
static bool was_alone(const WorkEntry& packet) {
  return packet.before.others_posted != others_under_way &&
         packet.before.others_posted == posted_by_others(*packet.subchannel);
}

void Completions::on_completion(Rail& rail, const rdma::Completion& completion) {
  if ((completion.id & receive_work_id) != 0) {
    on_receive(rail, completion);
    return;
  }
  WorkEntry* const entry = resources_.entries.find(completion.id);
  if (entry == nullptr) return;  // the finish behind a write that failed, or its subchannel was closed
  Subchannel& subchannel = *entry->subchannel;
  if (entry->kind == WorkEntry::Kind::marker) {
    upward_.subchannels->on_drained(subchannel);
    return;
  }
  if (completion.status != rdma::Status::success) [[unlikely]] {
    if (completion.status != rdma::Status::flushed) ++context_.counters.errors_completed;
    if (completion.status == rdma::Status::remote_access || completion.status == rdma::Status::local_error)
      ++context_.counters.protection_errors;
    if (completion.status == rdma::Status::remote_access) stripes_.on_refused(*entry);
    upward_.subchannels->on_failed(subchannel, reason_of(completion.status));
    return;
  }
  subchannel.traffic.remove(*entry, rail.traffic);
  subchannel.traffic.last_completion = context_.now;
  subchannel.traffic.last_proof = entry->posted;
  const Nanoseconds before = std::clamp(rail.polling.polled_before(), entry->posted, context_.now);
  if (entry->kind == WorkEntry::Kind::confirmation) {
    end_puts_before(*entry);
    stripes_.on_confirmation(*entry);
    return count_done(subchannel.peer);
  }
  if (counts_as_packet(*entry)) {
    if (completion.id == rail.traffic.timed) {
      rail.traffic.timed = RailTraffic::none_timed;
      subchannel.peer.paths().on_packet_timed(subchannel, *entry, before);
      if (subchannel.peer.paths().wants_more()) [[unlikely]]
        upward_.subchannels->on_paths_wanted(subchannel.peer);
    }
    // So few bytes on an idle rail say nothing of how many it moves.
    if (!times_latency(*entry)) {
      const Nanoseconds least =
          std::max<Nanoseconds>(before - std::max(entry->posted, context_.presence.resumed), 0);
      subchannel.traffic.packet_flow.on_done(entry->bytes, entry->before.delivered, entry->posted,
                                             entry->posted + least, context_.now, was_alone(*entry));
    }
    context_.status.sent(subchannel.status_row, entry->bytes);
    if (subchannel.peer.paths().measures_packets()) [[unlikely]] {
      if (subchannel.peer.paths().on_packet_done(subchannel, before))
        upward_.subchannels->on_paths_wanted(subchannel.peer);
    }
    // Delivered to the peer's adapter, which may still die before its software has seen it.
    if (entry->light)
      stripes_.on_done(*entry);
    else if (entry->sequenced)
      subchannel.peer.packets().retain(*entry);
    else
      resources_.free_entry(entry);
    return count_done(subchannel.peer);
  }
  context_.status.completed(subchannel.status_row, entry->size);
  subchannel.peer.paths().on_stripe_done(subchannel, *entry);
  if (subchannel.peer.paths().wants_more()) [[unlikely]]
    upward_.subchannels->on_paths_wanted(subchannel.peer);
  subchannel.traffic.stripe_flow.on_done(entry->size, entry->before.delivered, entry->posted, before,
                                         context_.now);
  rail.traffic.flow_of(side_of(*entry))
      .on_done(entry->size, entry->before.port_delivered, entry->posted, before, context_.now);
  VirtualChannel& peer = subchannel.peer;
  stripes_.on_done(*entry);
  look_at_latencies(peer);
}

// Whether rails that are to be timed are busy with messages that this process reads, and idle as soon as
// these are over: where nothing else is sent, no other moment is better. Of puts and gets nobody knows what
// the peer has under way, which would delay the packet.
static bool ends_reading_first(VirtualChannel& peer) {
  bool reading = false;
  for (const Subchannel& each : peer.subchannels()) {
    if (peer.paths().lacks_latency(each)) return false;
    const WorkEntry* const oldest = each.traffic.in_flight.front();
    reading |= oldest != nullptr && oldest->kind == WorkEntry::Kind::read &&
               oldest->transfer->sides() == Sides::two && stands_for_rail(each) &&
               peer.paths().latencies().lacks(each.place.pair);
  }
  return reading;
}

// A smallest packet on each idle rail that is not known well enough; of a rail alone the program's own tell.
// Now the process is in a call that looks for what is done, so it is likely to find it in time; when the
// program sends, it may compute next.
void Completions::time_idle_rails(VirtualChannel& peer) {
  RailLatencies& latencies = peer.paths().latencies();
  if (latencies.rails() == 1) {
    (void)latencies.begin_look(context_.now);
    for (Subchannel& each : peer.subchannels())
      if (stands_for_rail(each)) each.traffic.timed_from = 0;
    return;
  }
  if (context_.program != ProgramState::waits || context_.open_reads.exposed > 0) return;
  if (ends_reading_first(peer)) return;
  if (!latencies.begin_look(context_.now)) return;
  for (Subchannel& each : peer.subchannels()) {
    if (!peer.paths().lacks_latency(each)) continue;
    const std::uint32_t timed_from = std::exchange(each.traffic.timed_from, 0);
    if (peer.send_on(each, PacketKind::measure, {})) latencies.on_posted(each.place.pair);
    each.traffic.timed_from = timed_from;
  }
}

// A put that a confirmation went out with has no completion of its own (put_confirmations.h).
void Completions::end_puts_before(const WorkEntry& confirmation) {
  SubchannelTraffic& traffic = confirmation.subchannel->traffic;
  Rail& rail = confirmation.subchannel->rail;
  for (WorkEntry* put = traffic.in_flight.front(); put != nullptr && put->kind == WorkEntry::Kind::put &&
                                                   sequence_distance(put->ordinal, confirmation.ordinal) < 0;
       put = traffic.in_flight.front()) {
    HAWSER_ASSERT(put->light);
    traffic.remove(*put, rail.traffic);
    const Nanoseconds before = std::clamp(rail.polling.polled_before(), put->posted, context_.now);
    traffic.packet_flow.on_done(put->bytes, put->before.delivered, put->posted, before, context_.now,
                                was_alone(*put));
    context_.status.sent(confirmation.subchannel->status_row, put->bytes);
    stripes_.on_done(*put);
  }
}

void Completions::on_receive(Rail& rail, const rdma::Completion& completion) {
  PacketBuffer* const buffer = resources_.packets.at(static_cast<std::uint32_t>(completion.id & 0xFFFFFFFF));
  HAWSER_ASSERT(buffer != nullptr);
  rail.count_receive();
  buffer->receiver = -1;
  bool kept = false;
  if (completion.status == rdma::Status::success) [[likely]] {
    buffer->bytes = completion.bytes;
    rail.traffic.packets.arrived += completion.bytes;
    Subchannel* const subchannel = rail.queue_pairs.find(completion.queue_pair);
    if (subchannel != nullptr)
      kept = take_packet(*subchannel, buffer);
    else
      ++context_.counters.dropped_stale;
  }
  if (!kept) resources_.packets.give_back(buffer);
}

bool Completions::take_packet(Subchannel& subchannel, PacketBuffer* buffer) {
  if (subchannel.machine().poisoned()) return false;
  ++context_.counters.packets_received;
  if (!undamaged(*buffer)) [[unlikely]] {
    ++context_.counters.checksum_errors;
    upward_.subchannels->on_damaged(subchannel);
    return false;
  }
  subchannel.traffic.last_arrival = context_.now;
  ++subchannel.traffic.received;  // whatever it is: the peer's count goes on, too
  PacketHeader header;
  if (!read_body({buffer->data, buffer->bytes}, 0, header)) [[unlikely]] {
    context_.report_short(subchannel.peer.process(), "a packet", buffer->bytes);
    return false;
  }
  if (header.subchannel != subchannel.index ||
      header.connection_generation != subchannel.connection_generation()) {
    ++context_.counters.dropped_stale;
    return false;
  }
  if (!subchannel.in_service()) [[unlikely]]
    upward_.subchannels->on_early_packet(subchannel, header.kind);
  VirtualChannel& peer = subchannel.peer;
  const bool kept = peer.take_packet(subchannel, buffer, header);
  // It may have said that nothing is read from here any more.
  look_at_latencies(peer);
  return kept;
}

}  // namespace hawser
