#include "rails/datapath/virtual_channel.h"

#include <fmt/core.h>

#include <algorithm>
#include <cstring>
#include <utility>

#include "base/crc32c.h"
#include "base/planted_bug.h"
#include "rails/wire/pairing.h"

namespace hawser {
namespace {

constexpr std::size_t max_subchannels = max_stripes;

// What a peer costs while nothing is under way, beside its queue pairs: with two rails about 2 KiB.
static_assert(sizeof(VirtualChannel) <= 1024 && sizeof(Subchannel) <= 768, "there may be thousands of peers");

std::vector<SubchannelPlace> places(const RailContext& context, const RailResources& resources,
                                    const RailTable& remote) {
  return subchannel_places(resources.table, remote, context.knobs.rail_paths, context.knobs.rail_engines,
                           max_subchannels);
}

std::vector<std::int64_t> nominal_rates(const std::vector<SubchannelPlace>& all) {
  std::vector<std::int64_t> rates;
  for (const SubchannelPlace& place : all) rates.push_back(place.bytes_per_second);
  return rates;
}

}  // namespace

VirtualChannel::VirtualChannel(RailContext& context, RailResources& resources, Upward& upward, DuePeers& due,
                               ProcessIndex process, RailTable remote,
                               std::unique_ptr<SchedulingPolicy> policy)
    : context_(context),
      resources_(resources),
      upward_(upward),
      due_(due),
      process_(process),
      remote_(std::move(remote)),
      policy_(std::move(policy)),
      weights_(nominal_rates(places(context, resources, remote_))),
      depth_(static_cast<std::int32_t>(context.knobs.rail_send_depth)) {
  for (const SubchannelPlace& place : places(context, resources, remote_)) {
    const Subchannel& subchannel = subchannels_.emplace_back(*this, *resources.rails[place.local], place,
                                                             static_cast<std::uint16_t>(subchannels_.size()),
                                                             context, context.settings.self < process);
    reads_ &= subchannel.rail.device().attributes().outstanding_reads > 0;
    SubchannelView& view = views_.emplace_back();
    view.rail = place.pair;
    view.path = place.path;
    view.engine = place.engine;
    view.nominal = static_cast<double>(place.bytes_per_second);
  }
}

VirtualChannel::~VirtualChannel() = default;

const Subchannel* VirtualChannel::datagram_way(std::uint16_t rail, std::uint16_t index) {
  const Subchannel* own = subchannel(index);
  if (own != nullptr && own->rail.number() == rail) return own;
  const Subchannel* way = nullptr;
  std::uint64_t ways = 0;
  for (const Subchannel& each : subchannels_)
    if (each.rail.number() == rail && each.place.path == 0 && each.place.engine == 0 &&
        (++ways == 1 || context_.random.below(ways) == 0))
      way = &each;
  return way;
}

void VirtualChannel::mark_due() {
  if (!in_due.linked()) due_.push_back(this);
}

// Sending.

std::span<SubchannelView> VirtualChannel::views(std::int32_t requests) {
  const bool avoids = suspected > 0 && suspected < ready_;
  for (Subchannel& subchannel : subchannels_) {
    SubchannelView& view = views_[subchannel.index];
    view.usable = subchannel.in_service() && subchannel.room_for(requests, depth_) &&
                  !(avoids && subchannel.machine().suspected());
    if (!view.usable) continue;
    view.bytes_per_second = weights_.weight(subchannel.index);
    const WorkEntry* const oldest = subchannel.in_flight.front();
    if (oldest != nullptr && oldest->kind != WorkEntry::Kind::packet && !subchannel.rail.may_have_backlog())
      view.bytes_per_second =
          weights_.weight(subchannel.index, oldest->size, oldest->posted, subchannel.rail.polled);
    view.probe = weights_.wants_probe(subchannel.index, context_.now);
    view.bytes_queued = subchannel.rail.bytes_queued;
    view.requests_queued = subchannel.outstanding;
  }
  return views_;
}

Subchannel* VirtualChannel::choose_anew(std::int64_t bytes, TrafficClass traffic) {
  lane_.subchannel = nullptr;
  if (ready_ == 0) return nullptr;
  const auto usable = views(1);
  const auto count =
      std::count_if(usable.begin(), usable.end(), [](const SubchannelView& view) { return view.usable; });
  if (count == 0) return nullptr;
  const int chosen = policy_->choose(bytes, traffic, usable);
  if (chosen < 0) return nullptr;
  Subchannel& subchannel = subchannels_[static_cast<std::size_t>(chosen)];
  // Others that have no room now would be the choice as soon as they have.
  if (count == ready_ - (suspected < ready_ ? suspected : 0))
    lane_ = {&subchannel, policy_->hold(chosen, bytes, usable), weights_.changes(),
             static_cast<std::uint16_t>(suspected), traffic};
  --lane_.hold.packets;
  return &subchannel;
}

bool VirtualChannel::send(PacketKind kind, TrafficClass traffic, std::span<const std::byte> head,
                          const ByteSequence& payload) {
  if (!room()) {
    ++context_.counters.no_room;
    return false;
  }
  const std::size_t bytes = sizeof(PacketHeader) + head.size() + static_cast<std::size_t>(payload.size);
  Subchannel* subchannel = choose(static_cast<std::int64_t>(bytes), traffic);
  if (subchannel != nullptr &&
      !subchannel->packet_flow.admits(static_cast<std::int64_t>(bytes), subchannel->packet_bytes))
    subchannel = nullptr;
  const bool small = bytes + context_.trailer() <= resources_.small_packets.buffer_bytes();
  PacketBuffer* const buffer = subchannel != nullptr ? resources_.pool(small).take() : nullptr;
  if (buffer == nullptr) {
    ++context_.counters.no_room;
    return false;
  }
  WorkEntry& entry = *resources_.entries.take();
  entry.kind = WorkEntry::Kind::packet;
  entry.sequenced = true;
  entry.traffic = traffic;
  entry.small = small;
  entry.buffer = buffer;
  entry.bytes = static_cast<std::uint32_t>(bytes);
  entry.packet_kind = kind;
  entry.sequence_number = next_sequence_number_++;
  std::byte* const behind = buffer->data + sizeof(PacketHeader);
  std::memcpy(behind, head.data(), head.size());
  if (!payload.contiguous())
    payload.packer->pack(0, behind + head.size(), payload.size);
  else if (payload.size != 0)
    std::memcpy(behind + head.size(), payload.data, static_cast<std::size_t>(payload.size));
  post_packet(*subchannel, entry);
  return true;
}

bool VirtualChannel::send_on(Subchannel& subchannel, PacketKind kind, std::span<const std::byte> body,
                             std::size_t filling) {
  if (!subchannel.room_for(1, depth_)) return false;
  const std::size_t bytes = sizeof(PacketHeader) + body.size() + filling;
  const bool small = bytes + context_.trailer() <= resources_.small_packets.buffer_bytes();
  HAWSER_ASSERT(bytes + context_.trailer() <= resources_.packets.buffer_bytes());
  PacketBuffer* const buffer = resources_.pool(small).take();
  if (buffer == nullptr) return false;
  WorkEntry& entry = *resources_.entries.take();
  entry.kind = WorkEntry::Kind::packet;
  entry.sequenced = false;
  entry.small = small;
  entry.buffer = buffer;
  entry.bytes = static_cast<std::uint32_t>(bytes);
  entry.packet_kind = kind;
  entry.sequence_number = 0;
  if (!body.empty()) std::memcpy(buffer->data + sizeof(PacketHeader), body.data(), body.size());
  return post_packet(subchannel, entry);
}

rdma::SendRequest VirtualChannel::packet_request(const Subchannel& subchannel, const WorkEntry& entry) const {
  PacketHeader header;
  header.kind = entry.packet_kind;
  header.sequence_number = entry.sequence_number;
  header.subchannel = subchannel.index;
  header.connection_generation = subchannel.connection_generation();
  header.acknowledged = expected_;
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
  // A receiver sleeps until something comes for its software, and packets are all for that. What needs no
  // answer soon (credits, probes) need not wake it; that is decided with the event thread.
  request.solicited = true;
  request.inlined = static_cast<std::int32_t>(bytes) <= resources_.inline_bytes;
  request.segment_count = 1;
  request.segments[0] = {entry.buffer->data, bytes,
                         entry.buffer->local_keys[subchannel.rail.device_number()]};
  return request;
}

bool VirtualChannel::post_packet(Subchannel& subchannel, WorkEntry& entry) {
  const rdma::SendRequest request = packet_request(subchannel, entry);
  entry.posted = context_.now;
  entry.watched = 0;
  entry.delivered_before = subchannel.packet_flow.delivered();
  if (subchannel.queue_pair->post_send({&request, 1}) != 1) [[unlikely]] {
    // The queue is full against our count, or the connection is on its way to failure.
    if (entry.sequenced)
      wait_again(entry);
    else
      resources_.free_entry(&entry);
    return false;
  }
  note_acknowledged_to_peer();
  ++context_.counters.packets_sent;
  subchannel.packet_bytes += entry.bytes;
  entry.ordinal = subchannel.sent++;
  resources_.entries.place(entry, WorkEntry::Place::in_flight);
  entry.subchannel = &subchannel;
  entry.connection_generation = subchannel.connection_generation();
  ++subchannel.outstanding;
  ++subchannel.rail.outstanding;
  subchannel.in_flight.push_back(&entry);
  return true;
}

void VirtualChannel::wait_again(WorkEntry& entry) {
  HAWSER_ASSERT(entry.kind == WorkEntry::Kind::packet && entry.sequenced && !entry.link.linked());
  resources_.entries.place(entry, WorkEntry::Place::waiting);
  entry.subchannel = nullptr;
  // In sequence number order: what failed on several subchannels comes back in several lots.
  WorkEntry* behind = waiting_.front();
  while (behind != nullptr && sequence_distance(behind->sequence_number, entry.sequence_number) < 0)
    behind = waiting_.next(behind);
  waiting_.insert(behind, &entry);
  mark_due();
}

void VirtualChannel::retain(WorkEntry& entry) {
  if (sequence_distance(entry.sequence_number, acknowledged_) < 0) {
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

void VirtualChannel::take_back(const Subchannel& subchannel, std::uint32_t received) {
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

bool VirtualChannel::advance() {
  bool moved = false;
  while (WorkEntry* entry = waiting_.front()) {
    Subchannel* const subchannel = choose(entry->bytes, entry->traffic);
    if (subchannel == nullptr) break;
    waiting_.remove(entry);
    ++context_.counters.packets_reissued;
    context_.counters.bytes_reissued += entry->bytes;
    upward_.subchannels->on_reissued(static_cast<std::int64_t>(entry->bytes));
    if (!post_packet(*subchannel, *entry)) break;
    moved = true;
  }
  if (planted(PlantedBug::lose_credits)) credit_due_ = false;
  if (credit_due_) {
    Subchannel* const subchannel = choose(0, TrafficClass::blocking);
    if (subchannel != nullptr && send_on(*subchannel, PacketKind::credit, {})) {
      ++context_.counters.credit_updates;
      moved = true;
    }
  }
  return moved;
}

// Receiving.

bool VirtualChannel::acknowledge(std::uint32_t sequence_number) {
  const std::int32_t ahead = sequence_distance(sequence_number, acknowledged_);
  if (ahead <= 0) return true;
  if (sequence_distance(sequence_number, next_sequence_number_) > 0) return false;
  acknowledged_ = sequence_number;
  while (WorkEntry* entry = retained_.front()) {
    if (sequence_distance(entry->sequence_number, sequence_number) >= 0) break;
    retained_.remove(entry);
    --retained_count_;
    resources_.free_entry(entry);
  }
  return true;
}

bool VirtualChannel::take_packet(Subchannel& subchannel, PacketBuffer* buffer, const PacketHeader& header) {
  if (!acknowledge(header.acknowledged)) [[unlikely]] {
    context_.report_malformed(process_,
                              fmt::format("an acknowledgement of packet {}, but only {} were sent to it",
                                          header.acknowledged, next_sequence_number_));
    return false;
  }
  if (header.kind == PacketKind::credit) return false;
  PacketHandler* const handler = upward_.handler(header.kind);
  if (handler == nullptr) [[unlikely]] {
    context_.report_malformed(process_,
                              fmt::format("a packet of unknown kind {}", static_cast<int>(header.kind)));
    return false;
  }
  if (!sequenced(header.kind)) {
    handler->on_packet({*this, &subchannel, header.kind, {buffer->data, buffer->bytes}});
    return false;
  }
  const std::int32_t ahead = sequence_distance(header.sequence_number, expected_);
  if (ahead == 0) [[likely]] {
    hand_on(*buffer);
    if (held_count_ != 0) hand_on_held();
    if (expected_ - acknowledged_to_peer_ >= packet_window / 2 || header.wants_credit != 0) note_credit_due();
    return false;
  }
  if (ahead < 0 || held_[header.sequence_number % packet_window] != nullptr) {
    ++context_.counters.dropped_duplicate;
    return false;
  }
  if (ahead >= static_cast<std::int32_t>(packet_window)) [[unlikely]] {
    context_.report_malformed(process_,
                              fmt::format("packet {} when packet {} was next, outside the window of {}",
                                          header.sequence_number, expected_, packet_window));
    return false;
  }
  ++context_.counters.out_of_order;
  PacketBuffer* const held = resources_.packets.hold(buffer);
  held_[header.sequence_number % packet_window] = held;
  ++held_count_;
  return held == buffer;
}

// Whoever takes it may send, expose and fetch in the call.
void VirtualChannel::hand_on(PacketBuffer& buffer) {
  ++expected_;
  ++delivered;
  const std::span<const std::byte> packet(buffer.data, buffer.bytes);
  const auto kind = static_cast<PacketKind>(packet.front());
  upward_.handler(kind)->on_packet({*this, nullptr, kind, packet});
}

void VirtualChannel::hand_on_held() {
  while (PacketBuffer* buffer = held_[expected_ % packet_window]) {
    held_[expected_ % packet_window] = nullptr;
    --held_count_;
    hand_on(*buffer);
    resources_.packets.drop(buffer);
  }
}

// Subchannels that come and go.

void VirtualChannel::on_ready() {
  ++ready_;
  if (ready_ == 1 && rejoins_)
    context_.status.on_event(-1, process_, PathEvent::rejoined, PathReason::none,
                             partitioned_since <= 0 ? 0 : context_.now - partitioned_since, context_.now);
  rejoins_ = true;
  partitioned_since = -1;
  lane_.subchannel = nullptr;
  note_credit_due();
}

void VirtualChannel::on_not_ready() {
  --ready_;
  lane_.subchannel = nullptr;
  if (ready_ == 0) {
    partitioned_since = context_.now;
    ++context_.counters.partitions;
    context_.status.on_event(-1, process_, PathEvent::partitioned, PathReason::none, 0, context_.now);
  }
}

void VirtualChannel::abandon() {
  lost = true;
  credit_due_ = false;
  while (WorkEntry* entry = waiting_.pop_front()) resources_.free_entry(entry);
  while (WorkEntry* entry = retained_.pop_front()) resources_.free_entry(entry);
  retained_count_ = 0;
  for (PacketBuffer*& buffer : held_)
    if (buffer != nullptr) resources_.packets.drop(std::exchange(buffer, nullptr));
  held_count_ = 0;
  if (in_due.linked()) due_.remove(this);
}

bool VirtualChannel::flushed() const {
  return waiting_.empty() && std::all_of(subchannels_.begin(), subchannels_.end(),
                                         [](const Subchannel& s) { return s.in_flight.empty(); });
}

void VirtualChannel::check_invariants() const {
  HAWSER_ASSERT(sequence_distance(next_sequence_number_, acknowledged_) >= 0);
  HAWSER_ASSERT(next_sequence_number_ - acknowledged_ <= packet_window);
  HAWSER_ASSERT(sequence_distance(expected_, acknowledged_to_peer_) >= 0);
  HAWSER_ASSERT(held_[expected_ % packet_window] == nullptr);
  std::uint32_t held = 0;
  for (const PacketBuffer* buffer : held_) held += buffer != nullptr;
  HAWSER_ASSERT(held == held_count_);
  int ready = 0, suspects = 0;
  for (const Subchannel& subchannel : subchannels_) {
    const SubchannelMachine& machine = subchannel.machine();
    machine.check_invariants();
    const bool fenced = machine.state() == SubchannelState::fencing;
    ready += machine.in_service();
    suspects += machine.suspected();
    HAWSER_ASSERT(!subchannel.connected() || subchannel.queue_pair != nullptr);
    std::int32_t outstanding = 0;
    for (WorkEntry* e = subchannel.in_flight.front(); e != nullptr; e = subchannel.in_flight.next(e)) {
      HAWSER_ASSERT(e->place == (fenced ? WorkEntry::Place::fenced : WorkEntry::Place::in_flight) &&
                    e->subchannel == &subchannel);
      outstanding += e->requests();
    }
    // While it is fenced, entries wait for the peer to say what it has; requests there are none.
    HAWSER_ASSERT((fenced ? 0 : outstanding) == subchannel.outstanding);
  }
  HAWSER_ASSERT(ready == ready_ && suspects == suspected);
  const WorkEntry* last = nullptr;
  for (WorkEntry* e = waiting_.front(); e != nullptr; last = e, e = waiting_.next(e)) {
    HAWSER_ASSERT(e->place == WorkEntry::Place::waiting);
    HAWSER_ASSERT(last == nullptr || sequence_distance(e->sequence_number, last->sequence_number) > 0);
  }
}

}  // namespace hawser
