#include "rails/datapath/packet_sender.h"

#include <algorithm>
#include <cstring>

#include "base/crc32c.h"
#include "rails/wire/bundle.h"

namespace hawser {

namespace {

// Behind the packet; how many bytes there are then.
[[gnu::noinline]] std::uint32_t add_checksum(const WorkEntry& entry) {
  const std::uint32_t checksum = crc32c({entry.buffer->data, entry.bytes});
  std::memcpy(entry.buffer->data + entry.bytes, &checksum, sizeof(checksum));
  return entry.bytes + static_cast<std::uint32_t>(sizeof(checksum));
}

// As in TimedPacket; so many bytes are ahead of a packet of `bytes`.
Nanoseconds behind_one(const SubchannelTraffic& own, std::int64_t ahead, std::int64_t bytes,
                       Nanoseconds now) {
  const bool one = own.outstanding == 1 && own.packet_bytes > 0 && own.packet_bytes <= bytes;
  return one && ahead == own.packet_bytes ? now - own.in_flight.front()->posted : -1;
}

}  // namespace

// Inlined into post(), where it is a good part of what a small message costs.
[[gnu::always_inline]] inline rdma::SendRequest PacketSender::make_request(const Subchannel& subchannel,
                                                                           const WorkEntry& entry,
                                                                           bool fenced) const {
  const PacketBuffer& buffer = *entry.buffer;
  const bool short_of_buffers = resources_.packets.is_short();
  new (buffer.data) PacketHeader{.kind = entry.packet_kind,
                                 .checked = context_.knobs.checksum,
                                 .wants_credit = short_of_buffers,
                                 .subchannel = subchannel.index,
                                 .connection_generation = subchannel.connection_generation(),
                                 .sequence_number = entry.sequence_number,
                                 .acknowledged = window_.expected()};
  rdma::SendRequest request;
  request.id = entry.work_id();
  request.opcode = rdma::Opcode::send;
  request.solicited = short_of_buffers || needs_software(entry.packet_kind, entry.sequence_number);
  request.fenced = fenced;
  const std::uint32_t bytes = context_.knobs.checksum ? add_checksum(entry) : entry.bytes;
  request.inlined = static_cast<std::int32_t>(bytes) <= resources_.inline_bytes;
  request.segment_count = 1;
  request.segments[0] = {buffer.data, bytes, buffer.local_keys[subchannel.rail.device_number()]};
  return request;
}

rdma::SendRequest PacketSender::request(const Subchannel& subchannel, const WorkEntry& entry) const {
  return make_request(subchannel, entry, false);
}

bool PacketSender::post(Subchannel& subchannel, WorkEntry& entry, bool fenced) {
  const rdma::SendRequest request = make_request(subchannel, entry, fenced);
  RailTraffic& traffic = subchannel.rail.traffic;
  if ((belongs_to_long(entry.packet_kind) || entry.bytes >= subchannel.traffic.timed_from) &&
      traffic.timed == RailTraffic::none_timed) {
    read_clock(context_);
    traffic.timed = entry.work_id();
    entry.before.queued = traffic.bytes_ahead(subchannel.traffic.packet_bytes, context_.now);
    // What a start tells of is read only when that has come.
    const std::uint32_t of_its_own = entry.packet_kind == PacketKind::start ? 1 : 0;
    traffic.when_timed = {traffic.packets.arrived, traffic.packet_bytes,
                          nearly_idle(traffic, context_.now) && context_.open_reads.exposed <= of_its_own,
                          behind_one(subchannel.traffic, entry.before.queued, entry.bytes, context_.now)};
  }
  entry.posted = context_.now;
  entry.watched = 0;
  entry.before.delivered = subchannel.traffic.packet_flow.delivered();
  entry.before.others_posted = posted_by_others(subchannel);
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
  traffic.on_packet(entry.bytes, context_.now);
  context_.wake_sleeper();
  return true;
}

void PacketSender::open_bundle(WorkEntry& entry) {
  HAWSER_ASSERT(bundle_ == nullptr && entry.packet_kind == PacketKind::bundle);
  resources_.entries.place(entry, WorkEntry::Place::waiting);
  waiting_.push_back(&entry);
  bundle_ = &entry;
  bundled_ = 0;
  ++resources_.open_bundles;
  read_clock(context_);
  bundle_start_ = {context_.now, sends()};
  if (context_.settings.thread_use != nullptr && resources_.bundles.watches()) [[unlikely]] {
    bundle_start_.use = context_.settings.thread_use();
    bundle_start_.watched = true;
  }
  context_.wake_sleeper();
}

void PacketSender::note_bundle_due() {
  if (bundle_start_.due) return;
  bundle_start_.due = true;
  read_clock(context_);
  const Nanoseconds waited = context_.now - bundle_start_.at;
  const Nanoseconds in_vain = waited - BundleAccount::usual(sends() - bundle_start_.sends);
  if (in_vain <= 0) [[likely]]
    return resources_.bundles.on_time(bundled_);
  Nanoseconds computed = waited;
  if (bundle_start_.watched) {
    const ThreadUse use = context_.settings.thread_use();
    if (use.pauses == bundle_start_.use.pauses)
      computed = use.processor_time - bundle_start_.use.processor_time;
  }
  resources_.bundles.on_late(std::min(in_vain, computed));
}

void PacketSender::close_bundle() {
  bundle_ = nullptr;
  --resources_.open_bundles;
}

bool PacketSender::add_to_bundle(std::span<const std::byte> header, const ByteSequence& payload) {
  if (bundle_ == nullptr || bundle_full()) return false;
  const auto size = static_cast<std::size_t>(payload.size);
  const std::size_t taken = bundled_bytes(size);
  if (bundle_->bytes + taken + context_.trailer() > resources_.packet_bytes()) return false;
  HAWSER_ASSERT(header.size() == sizeof(TransportHeader));
  std::byte* const at = bundle_->buffer->data + bundle_->bytes;
  TransportHeader message;
  std::memcpy(&message, header.data(), sizeof(message));
  message.channel_word = static_cast<std::uint32_t>(size);
  std::memcpy(at, &message, sizeof(message));
  if (size > 0) std::memset(at + taken - 8, 0, 8);  // no byte of another packet goes out
  if (!payload.contiguous())
    payload.packer->pack(0, at + sizeof(message), payload.size);
  else if (size > 0)
    std::memcpy(at + sizeof(message), payload.data, size);
  bundle_->bytes += static_cast<std::uint32_t>(taken);
  ++bundled_;
  ++context_.counters.messages_bundled;
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

void PacketSender::retain_datagram(WorkEntry& entry) {
  entry.posted = context_.now;
  entry.watched = 0;
  entry.subchannel = nullptr;
  retain(entry);
}

void PacketSender::take_back_datagrams() {
  for (WorkEntry* entry = retained_.front(); entry != nullptr;) {
    WorkEntry* const next = retained_.next(entry);
    if (entry->subchannel == nullptr) {
      retained_.remove(entry);
      --retained_count_;
      wait_again(*entry);
    }
    entry = next;
  }
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
  if (bundle_ != nullptr) close_bundle();
  while (WorkEntry* entry = waiting_.pop_front()) resources_.free_entry(entry);
  while (WorkEntry* entry = retained_.pop_front()) resources_.free_entry(entry);
  retained_count_ = 0;
  datagrams_.end();
}

void PacketSender::check_invariants() const {
  const WorkEntry* last = nullptr;
  for (WorkEntry* e = waiting_.front(); e != nullptr; last = e, e = waiting_.next(e)) {
    HAWSER_ASSERT(e->place == WorkEntry::Place::waiting);
    HAWSER_ASSERT(last == nullptr || sequence_distance(e->sequence_number, last->sequence_number) > 0);
  }
  HAWSER_ASSERT(bundle_ == nullptr || waiting_.back() == bundle_);
}

}  // namespace hawser
