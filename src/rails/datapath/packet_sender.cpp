#include "rails/datapath/packet_sender.h"

#include <cstring>

#include "base/crc32c.h"

namespace hawser {

rdma::SendRequest PacketSender::request(const Subchannel& subchannel, const WorkEntry& entry) const {
  PacketHeader header;
  header.kind = entry.packet_kind;
  header.sequence_number = entry.sequence_number;
  header.subchannel = subchannel.index;
  header.connection_generation = subchannel.connection_generation();
  header.acknowledged = window_.expected();
  header.checked = context_.knobs.checksum;
  header.wants_credit = resources_.packets.is_short();
  std::memcpy(entry.buffer->data, &header, sizeof(header));
  const auto bytes = entry.bytes + static_cast<std::uint32_t>(context_.trailer());
  if (context_.knobs.checksum) {
    const std::uint32_t checksum = crc32c({entry.buffer->data, entry.bytes});
    std::memcpy(entry.buffer->data + entry.bytes, &checksum, sizeof(checksum));
  }

  rdma::SendRequest request;
  request.id = entry.work_id();
  request.opcode = rdma::Opcode::send;
  request.solicited = header.wants_credit || needs_software(header.kind, header.sequence_number);
  request.inlined = static_cast<std::int32_t>(bytes) <= resources_.inline_bytes;
  request.segment_count = 1;
  request.segments[0] = {entry.buffer->data, bytes,
                         entry.buffer->local_keys[subchannel.rail.device_number()]};
  return request;
}

bool PacketSender::post(Subchannel& subchannel, WorkEntry& entry) {
  const rdma::SendRequest request = this->request(subchannel, entry);
  entry.posted = context_.now;
  entry.watched = 0;
  entry.before.delivered = subchannel.traffic.packet_flow.delivered();
  if (subchannel.queue_pair->post_send({&request, 1}) != 1) [[unlikely]] {
    // The queue is full against our count, or the connection is on its way to failure.
    if (entry.sequenced)
      wait_again(entry);
    else
      resources_.free_entry(&entry);
    return false;
  }
  window_.note_acknowledged_to_peer();
  ++context_.counters.packets_sent;
  entry.ordinal = subchannel.traffic.sent++;
  resources_.entries.place(entry, WorkEntry::Place::in_flight);
  subchannel.add(entry);
  context_.note_posted();
  return true;
}

void PacketSender::wait_again(WorkEntry& entry) {
  HAWSER_ASSERT(entry.kind == WorkEntry::Kind::packet && entry.sequenced && !entry.link.linked());
  resources_.entries.place(entry, WorkEntry::Place::waiting);
  entry.subchannel = nullptr;
  // In sequence number order: what failed on several subchannels comes back in several lots.
  WorkEntry* behind = waiting_.front();
  while (behind != nullptr && sequence_distance(behind->sequence_number, entry.sequence_number) < 0)
    behind = waiting_.next(behind);
  waiting_.insert(behind, &entry);
}

void PacketSender::retain(WorkEntry& entry) {
  if (window_.acknowledged(entry.sequence_number)) {
    resources_.free_entry(&entry);
    return;
  }
  resources_.entries.place(entry, WorkEntry::Place::retained);
  // They complete in sequence number order, but for those of other subchannels.
  WorkEntry* before = retained_.back();
  while (before != nullptr && sequence_distance(before->sequence_number, entry.sequence_number) > 0)
    [[unlikely]] before = retained_.previous(before);
  retained_.insert_behind(before, &entry);
  ++retained_count_;
}

void PacketSender::take_back(const Subchannel& subchannel, std::uint32_t received) {
  for (WorkEntry* entry = retained_.front(); entry != nullptr;) {
    WorkEntry* const next = retained_.next(entry);
    if (entry->subchannel == &subchannel &&
        entry->connection_generation == subchannel.connection_generation() &&
        sequence_distance(entry->ordinal, received) >= 0) {
      retained_.remove(entry);
      --retained_count_;
      ++context_.counters.taken_back;
      wait_again(*entry);
    }
    entry = next;
  }
}

void PacketSender::release_acknowledged() {
  while (WorkEntry* entry = retained_.front()) {
    if (!window_.acknowledged(entry->sequence_number)) break;
    retained_.remove(entry);
    --retained_count_;
    resources_.free_entry(entry);
  }
}

void PacketSender::clear() {
  while (WorkEntry* entry = waiting_.pop_front()) resources_.free_entry(entry);
  while (WorkEntry* entry = retained_.pop_front()) resources_.free_entry(entry);
  retained_count_ = 0;
}

void PacketSender::check_invariants() const {
  const WorkEntry* last = nullptr;
  for (WorkEntry* e = waiting_.front(); e != nullptr; last = e, e = waiting_.next(e)) {
    HAWSER_ASSERT(e->place == WorkEntry::Place::waiting);
    HAWSER_ASSERT(last == nullptr || sequence_distance(e->sequence_number, last->sequence_number) > 0);
  }
}

}  // namespace hawser
